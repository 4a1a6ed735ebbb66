"""Random operations for tests of reads as of a past time: every answer on the way is recorded."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_butler.errors import Conflict
from memory_butler.models import (
    BriefRequest,
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
    Stored,
)
from memory_butler.operations.briefing import brief
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.trust.forget_about import forget_about
from memory_butler.operations.writing import correct, feedback, forget, pin, remember, restore
from memory_butler.resources import Resources

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
TICK = timedelta(microseconds=1)
Rows = Callable[[str], list[dict[str, Any]]]

SUBJECTS = ("user", "the garden", "Anna")
PREDICATES = ("color", "city", "dinner")
CONTENTS = ("blue and green", "green tea", "a small house near the harbour", "71.5 kg", "naïve 🌱 größe")
ADVICE = ("Ask before ordering tea", "Answer in German", "Water the garden at night")
QUERIES = (
    "which color does Annie like?",
    "green",
    "the garden at night",
    "which color does Anna like?",
    "harbour house",
    "ordering 🌱",
)


@dataclass
class TickingClock:
    """A clock that never returns the same time twice."""

    now: datetime = START
    told: list[datetime] = field(default_factory=list)

    def __call__(self) -> datetime:
        self.now += TICK
        self.told.append(self.now)
        return self.now


@dataclass(frozen=True)
class Recorded:
    """An answer and its time; `again` repeats the request as of a past time."""

    at: datetime
    said: str
    again: Callable[[datetime | None], Awaitable[Any]]


class History:
    """Random writes of every kind, with reads in between whose answers are recorded."""

    def __init__(self, resources: Resources, clock: TickingClock, rows: Rows, seed: int) -> None:
        self.butler, self.clock, self.rows = resources, clock, rows
        self.source = random.Random(seed)
        self.stored: list[Stored] = []
        self.recorded: list[Recorded] = []
        self.refused = 0

    def caller(self, name: str | None = None, role: Role = Role.ADMIN) -> Caller:
        name = name or self.source.choice(["main", "health"])
        lineage = Lineage(request_id=f"r{self.source.randrange(9)}", session_id=f"s{self.source.randrange(5)}")
        return Caller(Principal(self.butler.settings.tenant, name, role), lineage)

    async def live(self, steps: int) -> None:
        writes = (
            [self.fact] * 5 + [self.rule] * 2 + [self.episode] * 2 + [self.confirm] * 2 + [self.mark] * 4
            + [self.forget, self.restore, self.restore, self.correct, self.pin, self.unpin, self.look, self.sweep]
            + [self.undo] * 3 + [self.reverse, self.forget_about]
        )  # fmt: skip
        for begin in (self.fact, self.rule, self.episode):
            await begin()
        for number in range(steps):
            if number == steps // 2:
                await self.fall_and_rise()
            self.clock.now += timedelta(minutes=self.source.choice([0, 1, 90, 60 * 24 * 2, 60 * 24 * 9]))
            try:
                await self.source.choice(writes)()
            except Conflict:
                self.refused += 1
            if number % 2:
                await self.source.choice([self.search, self.search, self.context])()

    async def fall_and_rise(self) -> None:
        """Operations that chance may omit: a fact that expires, is restored, corrected, forgotten and restored."""
        new = NewFact(subject="Anna", predicate="mood", content="glad of the green tea", permanence="ephemeral")
        fallen = await remember.fact(self.butler, new, self.caller())
        await feedback.confirm(self.butler, "fact", fallen.ref, self.caller())
        await self.search()
        self.clock.now += timedelta(days=40)
        await sweep.sweep(self.butler, self.caller())
        await self.search()
        await restore.restore(self.butler, "fact", fallen.ref, self.caller())
        right = await correct.correct(self.butler, fallen.ref, "glad of the black tea", self.caller())
        await get.get(self.butler, "fact", right.ref, self.caller())
        await self.context()
        await forget.forget(self.butler, "fact", right.ref, self.caller())
        await self.context()
        last = max(self.rows("memory_events"), key=lambda event: event["seq"])
        await undo.undo(self.butler, str(last["id"]), self.caller())

    def one(self, *types: str) -> Stored:
        return self.source.choice([one for one in self.stored if one.type in types])

    async def fact(self) -> None:
        pick = self.source.choice
        new = NewFact(
            subject=pick(SUBJECTS),
            predicate=pick(PREDICATES),
            content=pick(CONTENTS),
            importance=self.source.randint(1, 10),
            permanence=pick(["ephemeral", "volatile", "standard", "permanent"]),
            scope=pick(["global", "global", "health"]),
            tags=pick([(), ("home",)]),
            valid_at=pick([None, None, START]),
            aliases=pick([(), (), ("Annie",), ("the plot", "Annie")]),
        )
        self.stored.append(await remember.fact(self.butler, new, self.caller()))

    async def rule(self) -> None:
        self.stored.append(await remember.rule(self.butler, NewRule(content=self.source.choice(ADVICE)), self.caller()))

    async def episode(self) -> None:
        said = " ".join(self.source.sample(CONTENTS, 2))
        name = self.source.choice(["main", "health"])
        new = NewEpisode(content=said, butler=name, importance=self.source.randint(1, 10))
        self.stored.append(await remember.episode(self.butler, new, self.caller()))

    async def confirm(self) -> None:
        one = self.one("fact", "rule")
        await feedback.confirm(self.butler, one.type, one.ref, self.caller())

    async def mark(self) -> None:
        one = self.one("rule")
        outcome = self.source.choice(list(Outcome))
        why = self.source.choice([None, "it was late", "nobody asked"])
        await feedback.mark(self.butler, one.ref, outcome, self.caller(), reason=why)

    async def forget(self) -> None:
        one = self.one("fact", "rule", "episode")
        await forget.forget(self.butler, one.type, one.ref, self.caller())

    async def restore(self) -> None:
        one = self.one("fact", "rule", "episode")
        anyway = self.source.random() < 0.5
        await restore.restore(self.butler, one.type, one.ref, self.caller(), supersede=anyway)

    async def correct(self) -> None:
        one = self.one("fact")
        right = f"{self.source.choice(CONTENTS)}, corrected"
        self.stored.append(await correct.correct(self.butler, one.ref, right, self.caller()))

    async def pin(self) -> None:
        one = self.one("fact", "rule", "episode")
        await pin.pin(self.butler, one.type, one.ref, self.caller())

    async def unpin(self) -> None:
        one = self.one("fact", "rule", "episode")
        await pin.unpin(self.butler, one.type, one.ref, self.caller())

    async def look(self) -> None:
        one = self.one("fact", "rule", "episode")
        await get.get(self.butler, one.type, one.ref, self.caller())

    async def reverse(self) -> None:
        one = self.one("rule")
        await restore.reverse(self.butler, one.ref, self.caller())

    async def sweep(self) -> None:
        await sweep.sweep(self.butler, self.caller())

    async def undo(self) -> None:
        changes = [event for event in self.rows("memory_events") if event["entity_type"] != "reference"]
        event = self.source.choice(sorted(changes, key=lambda event: event["seq"])[-20:])
        named = self.source.choice([event["id"], event["group_id"] or event["id"]])
        await undo.undo(self.butler, str(named), self.caller(), skip_changed=True)

    async def forget_about(self) -> None:
        if self.source.random() < 0.3:
            await forget_about(self.butler, self.caller(), subject=self.source.choice(SUBJECTS), dry_run=False)

    async def search(self) -> None:
        """As an administrator or as an agent; an agent's answer is asked for again by an administrator in its place."""
        pick = self.source.choice
        role, name, bump = pick(list(Role)), pick(["main", "health"]), self.source.random() < 0.6
        question = Question(
            query=pick(QUERIES),
            types=pick([(), (), ("fact",), ("rule", "episode")]),
            tier=pick([None, None, None, "long"]),
            scope=pick([None, None, "*"]) if role.governs else None,
            butler=None if role.governs else name,
            mode=pick(["hybrid", "hybrid", "keyword", "semantic"]),
            limit=pick([None, 3]),
            min_confidence=pick([None, None, 0.0, 0.6]),
        )
        if question.tier:
            question = replace(question, types=())
        await self.record(
            search.search(self.butler, question, self.caller(name, role), bump=bump),
            lambda then: search.search(
                self.butler, replace(question, as_of=then), self.caller(name), bump=then is not None
            ),
        )

    async def context(self) -> None:
        caller, pick = self.caller(), self.source.choice
        request = BriefRequest(
            trigger_prompt=pick(QUERIES), butler=caller.principal.butler, token_budget=pick([None, 120, 60])
        )
        await self.record(
            brief.brief(self.butler, request, caller),
            lambda then: brief.brief(self.butler, replace(request, as_of=then), caller),
        )

    async def record(self, asked: Awaitable[Any], again: Callable[[datetime | None], Awaitable[Any]]) -> None:
        before = len(self.clock.told)
        said = repr(await asked)
        self.recorded.append(Recorded(self.clock.told[before], said, again))
