"""How a rule earns trust and loses it: one pure function over the evidence."""

from dataclasses import dataclass

from memory_butler.models import Maturity

HARM_WEIGHT = 4
ESTABLISHED_SUCCESSES = 5
ESTABLISHED_EFFECTIVENESS = 0.6
PROVEN_SUCCESSES = 15
PROVEN_EFFECTIVENESS = 0.8
PROVEN_AGE_DAYS = 30
INVERT_HARMFUL = 3
INVERT_BELOW = 0.3

# A rule has no importance of its own: what it has earned stands in for it, on the same scale of ten. A candidate
# weighs less than a fact of middling importance, a proven rule most; a warning comes next to it, so that it is seen.
IMPORTANCE_OF_MATURITY: dict[str, int] = {
    Maturity.CANDIDATE: 4,
    Maturity.ESTABLISHED: 7,
    Maturity.PROVEN: 9,
    Maturity.ANTI_PATTERN: 8,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    successes: int
    harmful: int
    age_days: float


def effectiveness(successes: int, harmful: int) -> float | None:
    """Share of success with harm counted fourfold; undefined before any evidence."""
    weight = successes + HARM_WEIGHT * harmful
    return successes / weight if weight else None


def mature(current: Maturity, evidence: Evidence) -> Maturity:
    """The maturity the evidence supports. An anti-pattern stays one: only an administrator reverses it."""
    if current is Maturity.ANTI_PATTERN:
        return current
    score = effectiveness(evidence.successes, evidence.harmful)
    if score is None:
        return Maturity.CANDIDATE
    if evidence.harmful >= INVERT_HARMFUL and score < INVERT_BELOW:
        return Maturity.ANTI_PATTERN
    if evidence.successes < ESTABLISHED_SUCCESSES or score < ESTABLISHED_EFFECTIVENESS:
        return Maturity.CANDIDATE
    proven = (
        evidence.successes >= PROVEN_SUCCESSES
        and score >= PROVEN_EFFECTIVENESS
        and evidence.age_days >= PROVEN_AGE_DAYS
    )
    # Trust is earned a step at a time: a candidate becomes established before it can be proven.
    return Maturity.PROVEN if proven and current is not Maturity.CANDIDATE else Maturity.ESTABLISHED


def warning(content: str, reasons: list[str]) -> str:
    """How a rule that did harm is shown."""
    because = "; ".join(reasons) if reasons else "it was reported as harmful"
    return f"ANTI-PATTERN: Do NOT {content.rstrip('.')}. This caused problems because: {because.rstrip('.')}."
