"""The demo store: eight invented weeks, written by the operations that an agent's calls and the schedule use.

The clock starts eight weeks ago, so every page of the dashboard has something to show and every memory has a history.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_butler.adapters.demo.script import DemoClock, EightWeeks, read_eight_weeks
from memory_butler.ai.distillers.builtin import BuiltInDistiller
from memory_butler.errors import Conflict, Unprocessable
from memory_butler.jobs.job_run import run_if_due
from memory_butler.jobs.schedule import SCHEDULE, intervals
from memory_butler.models import (
    Batch,
    BriefRequest,
    Caller,
    DistillerResult,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Question,
    Stored,
)
from memory_butler.operations.briefing import brief
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import search
from memory_butler.operations.system import call_log
from memory_butler.operations.system.stats import stats
from memory_butler.operations.writing import correct, feedback, forget, pin, remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

WEEKS = 8
# In the last days one butler's proposals wait for review, so that the review page is not empty.
REVIEWED_DAYS = 5
CONFIG = """# The demo store of Memory Butler. Proposals for this butler wait for your decision.
[butlers.work]
review = true
"""
CALLED_DAYS = 27
EDITOR, CLIENT = "Ana", "claude-code"
Progress = Callable[[int, int], None]


class DemoDistiller(BuiltInDistiller):
    """The built-in distiller, except that it rejects one episode: the demo needs a dead letter."""

    def __init__(self, unreadable: str) -> None:
        super().__init__()
        self._unreadable = unreadable

    async def distil(self, batch: Batch) -> DistillerResult:
        if any(episode.content == self._unreadable for episode in batch.episodes):
            raise Unprocessable("The letter has no words that could be read.")
        return await super().distil(batch)


def demo_settings(home: Path) -> Settings:
    return load_settings(home=home, database_url=None, owner_url=None)


def create_demo_store(home: Path, progress: Progress) -> int:
    """Create a demo store in a folder and return its number of memories. An existing store is refused and stays as
    it is, running if it ran before."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = EmbeddedPostgres(home)
    was_running = server.is_running()
    try:
        return asyncio.run(_fill(home, progress))
    finally:
        if not was_running:
            server.stop()


async def _fill(home: Path, progress: Progress) -> int:
    today = datetime.now(UTC).replace(microsecond=0)
    clock = DemoClock(today - timedelta(weeks=WEEKS))
    script = read_eight_weeks()
    async with open_resources(demo_settings(home), clock=clock) as opened:
        if await _count(opened):
            raise Conflict(
                f"{home} already holds a store with memories.",
                recovery="Use it, remove it with `memory-butler uninstall`, or choose another folder.",
            )
        config = home / "config.toml"
        if not config.exists():
            config.write_text(CONFIG, encoding="utf-8")
        distiller = DemoDistiller(script.episode("unreadable").content)
        resources = replace(opened, settings=demo_settings(home), distiller=distiller)
        await _Replay(script, clock, today).run(resources, progress)
        return await _count(opened)


async def _count(resources: Resources) -> int:
    memories = (await stats(resources))["memories"]
    return sum(sum(states.values()) for states in memories.values())


@dataclass
class _Replay:
    """The script's progress, with the memories that later lines refer to."""

    script: EightWeeks
    clock: DemoClock
    today: datetime
    episodes: dict[str, Stored] = field(default_factory=dict)
    facts: dict[tuple[str, str], Stored] = field(default_factory=dict)
    rules: dict[str, Stored] = field(default_factory=dict)

    async def run(self, resources: Resources, progress: Progress) -> None:
        """Write the script day by day, the oldest first."""
        last = WEEKS * 7
        without_review = replace(resources, settings=resources.settings.model_copy(update={"butlers": {}}))
        for days in range(last, -1, -1):
            current = resources if days <= REVIEWED_DAYS else without_review
            morning = self._morning(days)
            if days == 0:
                # Today's jobs run before today's episodes, so those are still pending.
                self.clock.now = morning - timedelta(hours=1)
                await self._run_jobs(current, days)
            await self._write_episodes(current, days)
            self.clock.now = morning + timedelta(hours=1)
            await self._write_facts(current, days)
            await self._correct_facts(current, days)
            await self._write_rules(current, days)
            for line in (line for line in self.script.searches if line.days == days):
                await search.search(current, Question(query=line.query, limit=3), _caller(current, line.butler))
            if days:
                self.clock.now = morning + timedelta(hours=2)
                await self._run_jobs(current, days)
            if days <= CALLED_DAYS:
                await self._ask(current, days)
            progress(last - days + 1, last + 1)
        self.clock.now = self.today

    async def _write_episodes(self, resources: Resources, days: int) -> None:
        morning = self._morning(days)
        for number, line in enumerate(line for line in self.script.episodes if line.days == days):
            self.clock.now = morning + timedelta(minutes=7 * number)
            new = NewEpisode(
                content=line.content, butler=line.butler, session_id=f"{line.butler}-{days}", importance=line.importance
            )
            stored = await remember.episode(resources, new, _caller(resources, line.butler))
            if line.key:
                self.episodes[line.key] = stored

    async def _write_facts(self, resources: Resources, days: int) -> None:
        for line in (line for line in self.script.facts if line.days == days):
            new = NewFact(
                subject=line.subject,
                predicate=line.predicate,
                content=line.content,
                importance=line.importance,
                permanence=line.permanence,
                tags=(line.tag,),
                source_episode=f"episode:{self.episodes[line.source].ref}" if line.source else None,
            )
            caller = _caller(resources, line.butler)
            stored = self.facts[line.subject, line.predicate] = await remember.fact(resources, new, caller)
            if line.pinned:
                await pin.pin(resources, "fact", stored.ref, caller)

    async def _correct_facts(self, resources: Resources, days: int) -> None:
        person = Caller(replace(resources.local_caller().principal, butler="home", name=EDITOR))
        for line in (line for line in self.script.corrections if line.days == days):
            ref = self.facts[line.subject, line.predicate].ref
            if line.content:
                await correct.correct(resources, ref, line.content, person, reason=line.reason)
            else:
                await forget.forget(resources, "fact", ref, person, reason=line.reason)

    async def _write_rules(self, resources: Resources, days: int) -> None:
        for line in self.script.rules:
            caller = _caller(resources, line.butler)
            if line.days == days:
                self.rules[line.content] = await remember.rule(resources, NewRule(content=line.content), caller)
            for mark in (mark for mark in line.feedback if mark.days == days):
                outcome = Outcome.HARMFUL if mark.reason else Outcome.HELPFUL
                ref = f"rule:{self.rules[line.content].ref}"
                await feedback.mark(resources, ref, outcome, caller, reason=mark.reason or None)

    async def _ask(self, resources: Resources, days: int) -> None:
        """Briefings and searches of agents, so that the log of calls is not empty."""
        calls = self.script.calls
        for number in range(2 + days * 3 % 4):
            self.clock.now = self._morning(days) + timedelta(hours=3, minutes=11 * number)
            line = calls[(days * 5 + number) % len(calls)]
            caller = replace(_caller(resources, line.butler), client=CLIENT)
            if line.search:
                await search.search(resources, Question(query=line.prompt, limit=3), caller)
            else:
                await brief.brief(resources, BriefRequest(trigger_prompt=line.prompt, butler=line.butler), caller)
        await call_log.store_waiting(resources)

    async def _run_jobs(self, resources: Resources, days: int) -> None:
        """Run consolidation for butlers with new episodes, and the other jobs once a week."""
        active = {line.butler for line in self.script.episodes if line.days == days}
        every = intervals(resources.settings, SCHEDULE)
        for job in SCHEDULE:
            for butler in sorted({line.butler for line in self.script.episodes}):
                if days == 0 or (butler in active if job.job == "consolidation" else days % 7 == 2):
                    await run_if_due(resources, job, _caller(resources, butler), every[job.job])

    def _morning(self, days: int) -> datetime:
        return self.today - timedelta(days=days, hours=4)


def _caller(resources: Resources, butler: str) -> Caller:
    return shard_of(resources.settings.tenant, butler)
