"""The maturity of a rule from its feedback, with the limits of what one caller's marks count."""

from dataclasses import dataclass
from uuid import UUID

from memory_butler.models import Maturity
from memory_butler.policy.lifecycle import maturity
from memory_butler.settings import FeedbackLimits, Settings
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories import rules


@dataclass(frozen=True, slots=True)
class FeedbackRules:
    """Thresholds of maturity, and the limits of one caller's marks if there are any."""

    thresholds: maturity.MaturityRules
    limits: FeedbackLimits | None = None


def feedback_rules(settings: Settings, butler: str) -> FeedbackRules:
    """The rules for a memory of a butler."""
    return FeedbackRules(settings.lifecycle_of(butler).maturity, settings.service.feedback_limits)


async def deserved_maturity(
    transaction: Transaction,
    rule_id: UUID,
    current: Maturity,
    evidence: maturity.Evidence,
    given: FeedbackRules,
    *,
    actor: str,
) -> Maturity:
    """Returns the maturity that all feedback supports. `actor` gave the latest, whose event is not written yet."""
    limits = given.limits
    if limits is None:
        return maturity.mature(current, evidence, given.thresholds)
    counted = await rules.counted_evidence(
        transaction, rule_id, per_session=limits.marks_per_session, per_caller=limits.marks_per_caller, actor=actor
    )
    return maturity.mature(current, maturity.Evidence(age_days=evidence.age_days, **counted), given.thresholds, limits)
