"""A store to look around in: eight weeks of a made-up life, lived through by the real thing.

Everything is stored, distilled, swept and judged by the operations that do so every day, with a clock that starts
eight weeks ago; so every page of the dashboard has something to show, and all of it has a history.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_butler.adapters.demo_life import GARBLED, HOME, KNOWN, LESSONS, MISHEARD, PUT_RIGHT, SAID
from memory_butler.ai.distillers.builtin import BuiltInDistiller
from memory_butler.butler import Butler, open_butler
from memory_butler.errors import Conflict, Unprocessable
from memory_butler.jobs.record import run_if_due
from memory_butler.jobs.timetable import TIMETABLE, cadences
from memory_butler.models import Batch, Caller, Distilled, NewEpisode, NewFact, NewRule, Outcome, Question, Stored
from memory_butler.operations import correct, forget, judge, pin, recall, remember
from memory_butler.operations.report import report
from memory_butler.operations.upkeep import shard_of
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded import EmbeddedPostgres

WEEKS = 8
# Lately one butler's proposals wait for a person, so that there is something to decide on.
REVIEWED_DAYS = 5
CONFIG = """# The demo store of Memory Butler. Proposals for this butler wait for your decision.
[butlers.work]
review = true
"""
# What an agent asks again and again is used, and what is used is kept.
ASKED = (
    (20, "travel", "Which seat does Ana like?"),
    (12, "home", "What does the cat need?"),
    (9, "travel", "What must be kept in mind about food?"),
    (6, "work", "Who is the contact at Casa Verde?"),
    (3, "travel", "Plan the trip to Rome"),
)
PINNED = (("Ana", "allergic to"), ("Bruno", "allergic to"))
Progress = Callable[[int, int], None]


@dataclass
class LivedClock:
    """Time as it was, until it is today."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


class Stumbling(BuiltInDistiller):
    """The distiller that needs no model, except that it cannot read one letter: there is something to look into."""

    async def distil(self, batch: Batch) -> Distilled:
        if any(episode.content == GARBLED for episode in batch.episodes):
            raise Unprocessable("The letter has no words that could be read.")
        return await super().distil(batch)


def demo_settings(home: Path) -> Settings:
    return load_settings(home=home, database_url=None, owner_url=None)


async def fill(home: Path, progress: Progress = lambda done, total: None, today: datetime | None = None) -> int:
    """Make a demo store in a folder; how many memories it has. One that has memories already is left as it is."""
    today = (today or datetime.now(UTC)).replace(microsecond=0)
    clock = LivedClock(today - timedelta(weeks=WEEKS))
    async with open_butler(demo_settings(home), clock=clock) as opened:
        if await _count(opened):
            raise Conflict(
                f"There is a store with memories in {home} already.",
                recovery="Look into it, or remove it first with `memory-butler uninstall`; or choose another folder.",
            )
        config = home / "config.toml"
        if not config.exists():
            config.write_text(CONFIG, encoding="utf-8")
        await _live(replace(opened, settings=demo_settings(home), distiller=Stumbling()), clock, today, progress)
        return await _count(opened)


async def _count(butler: Butler) -> int:
    counted = (await report(butler))["memories"]
    return sum(sum(states.values()) for states in counted.values())


async def _live(butler: Butler, clock: LivedClock, today: datetime, progress: Progress) -> None:
    """Day after day, the oldest first."""
    rules: dict[str, Stored] = {}
    facts: dict[tuple[str, str], Stored] = {}
    misheard: Stored | None = None
    last = WEEKS * 7
    careful, trusting = butler, replace(butler, settings=butler.settings.model_copy(update={"butlers": {}}))
    for days in range(last, -1, -1):
        butler = careful if days <= REVIEWED_DAYS else trusting
        morning = today - timedelta(days=days, hours=4)
        if days == 0:
            # Upkeep ran early today; what is said after that waits.
            clock.now = morning - timedelta(hours=1)
            await _night(butler, days)
        for minute, said in enumerate(line for line in SAID if line.days == days):
            clock.now = morning + timedelta(minutes=7 * minute)
            new = NewEpisode(
                content=said.words, butler=said.butler, session_id=f"{said.butler}-{days}", importance=said.importance
            )
            done = await remember.episode(butler, new, _agent(butler, said.butler))
            misheard = done if said.words == MISHEARD else misheard
        clock.now = morning + timedelta(hours=1)
        await _known(butler, days, misheard, facts)
        await _put_right(butler, days, facts)
        await _judged(butler, days, rules)
        await _asked(butler, days)
        if days:
            clock.now = morning + timedelta(hours=2)
            await _night(butler, days)
        progress(last - days + 1, last + 1)
    clock.now = today


async def _known(butler: Butler, days: int, misheard: Stored | None, facts: dict[tuple[str, str], Stored]) -> None:
    for fact in (line for line in KNOWN if line.days == days):
        source = misheard if (fact.subject, fact.predicate) == ("Sofia", "birthday") else None
        new = NewFact(
            subject=fact.subject,
            predicate=fact.predicate,
            content=fact.content,
            importance=fact.importance,
            permanence=fact.permanence,
            tags=(fact.tags,),
            source_episode=f"episode:{source.ref}" if source else None,
        )
        done = facts[fact.subject, fact.predicate] = await remember.fact(butler, new, _agent(butler, fact.butler))
        if (fact.subject, fact.predicate) in PINNED:
            await pin.pin(butler, "fact", done.ref, _agent(butler, fact.butler))


async def _put_right(butler: Butler, days: int, facts: dict[tuple[str, str], Stored]) -> None:
    person = Caller(replace(butler.local_caller().principal, butler=HOME, name="Ana"))
    for _, subject, predicate, right in (line for line in PUT_RIGHT if line[0] == days):
        wrong = facts[subject, predicate].ref
        if right:
            await correct.correct(butler, wrong, right, person, reason="the last digits were swapped")
        else:
            await forget.forget(butler, "fact", wrong, person, reason="they are open again")


async def _judged(butler: Butler, days: int, rules: dict[str, Stored]) -> None:
    for lesson in LESSONS:
        caller = _agent(butler, lesson.butler)
        if lesson.days == days:
            rules[lesson.words] = await remember.rule(butler, NewRule(content=lesson.words), caller)
        for _, reason in (mark for mark in lesson.marks if mark[0] == days):
            outcome = Outcome.HARMFUL if reason else Outcome.HELPFUL
            await judge.mark(butler, f"rule:{rules[lesson.words].ref}", outcome, caller, reason=reason or None)


async def _asked(butler: Butler, days: int) -> None:
    for _, who, words in (line for line in ASKED if line[0] == days):
        await recall.search(butler, Question(query=words, limit=3), _agent(butler, who))


async def _night(butler: Butler, days: int) -> None:
    """What runs by itself: episodes are distilled whenever there are any, the rest is looked after every week."""
    spoke = {line.butler for line in SAID if line.days == days}
    every = cadences(butler.settings, TIMETABLE)
    for entry in TIMETABLE:
        for name in sorted({line.butler for line in SAID}):
            if days == 0 or (name in spoke if entry.job == "consolidation" else days % 7 == 2):
                await run_if_due(butler, entry, shard_of(butler.settings.tenant, name), every[entry.job])


def _agent(butler: Butler, name: str) -> Caller:
    return shard_of(butler.settings.tenant, name)


def filled(home: Path, progress: Progress) -> int:
    """The same for whoever does not run in a loop."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = EmbeddedPostgres(home)
    # It may be somebody's own store, even one that is in use: that is refused, and goes on.
    was_running = server.is_running()
    try:
        return asyncio.run(fill(home, progress))
    finally:
        if not was_running:
            server.stop()
