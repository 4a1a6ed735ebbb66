"""Maturity of rules: promotion, demotion and inversion by feedback."""

from dataclasses import dataclass
from typing import Protocol

from memory_butler.models import Maturity

HARM_WEIGHT = 4

# A rule has no importance of its own, so ranking derives one from its maturity, on the same scale of ten. A candidate
# weighs less than a fact of middling importance, a proven rule most; a warning comes second, so that it is shown.
IMPORTANCE_OF_MATURITY: dict[str, int] = {
    Maturity.CANDIDATE: 4,
    Maturity.ESTABLISHED: 7,
    Maturity.PROVEN: 9,
    Maturity.ANTI_PATTERN: 8,
}


class MaturityRules(Protocol):
    """Evidence that each maturity needs: the settings under `lifecycle.maturity`."""

    @property
    def established_successes(self) -> int: ...
    @property
    def established_effectiveness(self) -> float: ...
    @property
    def proven_successes(self) -> int: ...
    @property
    def proven_effectiveness(self) -> float: ...
    @property
    def proven_age_days(self) -> float: ...
    @property
    def inverted_harmful(self) -> int: ...
    @property
    def inverted_below(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """Marks that count, and from how many agent sessions and callers they are. None: these are not counted."""

    successes: int
    harmful: int
    age_days: float
    successful_sessions: int | None = None
    harmful_sessions: int | None = None
    successful_callers: int | None = None
    harmful_callers: int | None = None


def effectiveness(successes: int, harmful: int) -> float | None:
    """Share of successes, with harmful marks weighted by `HARM_WEIGHT`; None without evidence."""
    weight = successes + HARM_WEIGHT * harmful
    return successes / weight if weight else None


class SessionRules(Protocol):
    """Agent sessions and callers that a change of maturity needs: the settings under `service.feedback`."""

    @property
    def sessions_to_mature(self) -> int: ...
    @property
    def sessions_to_invert(self) -> int: ...
    @property
    def callers_to_mature(self) -> int: ...
    @property
    def callers_to_invert(self) -> int: ...


def mature(
    current: Maturity, evidence: Evidence, rules: MaturityRules, sessions: SessionRules | None = None
) -> Maturity:
    """The maturity that the evidence supports. An anti-pattern stays one: only an administrator reverses it."""
    if current is Maturity.ANTI_PATTERN:
        return current
    score = effectiveness(evidence.successes, evidence.harmful)
    if score is None:
        return Maturity.CANDIDATE
    may_invert = sessions is None or (
        (evidence.harmful_sessions or 0) >= sessions.sessions_to_invert
        and (evidence.harmful_callers or 0) >= sessions.callers_to_invert
    )
    if evidence.harmful >= rules.inverted_harmful and score < rules.inverted_below and may_invert:
        return Maturity.ANTI_PATTERN
    if sessions is not None and (
        (evidence.successful_sessions or 0) < sessions.sessions_to_mature
        or (evidence.successful_callers or 0) < sessions.callers_to_mature
    ):
        return Maturity.CANDIDATE
    if evidence.successes < rules.established_successes or score < rules.established_effectiveness:
        return Maturity.CANDIDATE
    proven = (
        evidence.successes >= rules.proven_successes
        and score >= rules.proven_effectiveness
        and evidence.age_days >= rules.proven_age_days
    )
    # One step at a time: a candidate becomes established before it can be proven.
    return Maturity.PROVEN if proven and current is not Maturity.CANDIDATE else Maturity.ESTABLISHED
