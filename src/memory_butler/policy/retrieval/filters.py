"""The filters of a search, checked for one memory and described in words.

The database applies them inside its lists (`fact`, `rule` and `episode` in visible.sql). These checks tell which
of them a memory does not pass.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_butler.models import LIVE, Episode, Fact, Maturity, Memory, MemoryType, Reach, Rule, Tier, Validity
from memory_butler.models.explanation import Check
from memory_butler.policy.lifecycle.confidence import anchor, effective_confidence
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.lifecycle.transitions import is_exempt

_STATES = {
    Validity.SUPERSEDED: "it was superseded by a newer fact",
    Validity.RETRACTED: "it was forgotten",
    Validity.EXPIRED: "it has expired",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The filters of one search."""

    types: Sequence[MemoryType]
    tier: Tier | None
    tags: Sequence[str]
    reach: Reach
    min_confidence: float
    time_from: datetime | None
    time_to: datetime | None
    asked_at: datetime


def checks_of(memory: Memory, bounds: Bounds) -> Iterator[Check]:
    """Every filter that applies to the memory, in the order in which they are easiest to understand."""
    wanted = memory.type in bounds.types
    yield _check("type", wanted, f"it is of the type {memory.type}", f"and only {_listed(bounds.types)} asked for")
    if bounds.tier:
        permanence, maturity = getattr(memory, "permanence", None), getattr(memory, "maturity", None)
        tier = tier_of(memory.type, permanence=permanence, maturity=maturity)
        yield _check("tier", tier is bounds.tier, f"it is in the tier {tier}", f"and only {bounds.tier} is asked for")
    if bounds.tags:
        wanted = set(bounds.tags) <= set(memory.tags)
        own = f"its tags are {' and '.join(_quoted(memory.tags))}" if memory.tags else "it has no tags"
        yield _check("tags", wanted, own, f"and only {_listed(_quoted(bounds.tags))} asked for")
    live = memory.validity in LIVE
    state = _STATES.get(memory.validity, f"it is {memory.validity}")
    if memory.quarantine_reason:
        state = "it is quarantined and waits for a person"
    yield Check(name="validity", passed=live, why=state)
    if isinstance(memory, Episode):
        yield from _of_episode(memory, bounds)
    else:
        yield from _of_lesson(memory, bounds)
    if bounds.time_from or bounds.time_to:
        yield _in_time(memory, bounds)


def _of_episode(episode: Episode, bounds: Bounds) -> Iterator[Check]:
    butlers = bounds.reach.butlers
    seen = butlers is None or episode.butler in butlers
    whose = f"it is an episode of the butler '{episode.butler}'"
    yield _check("butler", seen, whose, f"and only those of {' and '.join(_quoted(butlers)) or 'nobody'} are read")
    if episode.pinned:
        yield Check(name="expiry", passed=True, why="it is pinned")
    else:
        until = f"{episode.expires_at:%Y-%m-%d %H:%M}"
        kept = episode.expires_at > bounds.asked_at
        yield Check(name="expiry", passed=kept, why=f"it is kept until {until}" if kept else f"its time ended {until}")


def _of_lesson(memory: Fact | Rule, bounds: Bounds) -> Iterator[Check]:
    scopes = bounds.reach.scopes
    seen = scopes is None or memory.scope in scopes
    yield _check("scope", seen, f"it is in the scope '{memory.scope}'", f"and only {_listed(_quoted(scopes))} read")
    if isinstance(memory, Rule) and memory.maturity is Maturity.ANTI_PATTERN:
        yield Check(name="confidence", passed=True, why="it is a warning, which does not fade")
        return
    decay_rate = 0.0 if is_exempt(memory) else memory.decay_rate
    anchored_at = anchor(memory.created_at, memory.last_confirmed_at)
    worth = effective_confidence(memory.confidence, decay_rate, anchored_at, bounds.asked_at)
    passed, least = worth >= bounds.min_confidence, bounds.min_confidence
    state = f"its current confidence is {apart(worth, least)}"
    yield _check("confidence", passed, state, f"and at least {least:g} is asked for")


def _in_time(memory: Memory, bounds: Bounds) -> Check:
    moment = memory.observed_at if isinstance(memory, Episode) else memory.created_at
    if isinstance(memory, Fact):
        moment = memory.valid_at or moment
    early = bounds.time_from is not None and moment < bounds.time_from
    late = bounds.time_to is not None and moment >= bounds.time_to
    asked = " ".join(
        f"{word} {limit:%Y-%m-%d %H:%M}"
        for word, limit in (("from", bounds.time_from), ("to", bounds.time_to))
        if limit
    )
    return _check("time", not (early or late), f"it is of {moment:%Y-%m-%d %H:%M}", f"and only {asked} is asked for")


def apart(value: float, limit: float) -> str:
    """The number with as few digits as tell it from the limit, three at least."""
    for digits in range(3, 10):
        text = f"{value:.{digits}g}"
        if text != f"{limit:.{digits}g}":
            return text
    return f"{value:g}"


def _check(name: str, passed: bool, state: str, condition: str) -> Check:
    return Check(name=name, passed=passed, why=state if passed else f"{state}, {condition}")


def _listed(names: Sequence[str]) -> str:
    """Names with what is done to them: fact is …, 'global' and 'main' are …"""
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _quoted(names: Sequence[str] | None) -> list[str]:
    return [f"'{name}'" for name in names or ()]
