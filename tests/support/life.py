"""Random operations of agents, a simple model beside them, and in the end the whole store rebuilt from its log.

To add an operation: write a rule that calls it through `self.write` (or `self.world.run`), and say in the model what it
changes. The invariants and the replay at the end then hold for it too.
"""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import Conflict
from memory_butler.models import (
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
from memory_butler.operations.history.replay import replay_into_scratch
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.policy.lifecycle import maturity
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import id_maker
from memory_butler.store.history.replay import scratch_schema

BEGIN = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)
KEY_DAYS = 7

# Few of each, so that they meet.
CLOCKS = st.integers(0, 1)
BUTLERS = st.sampled_from(["main", "health"])
SCOPES = st.sampled_from(["global", "health"])
SUBJECTS = st.sampled_from(["user", "User", "the-garden"])
PREDICATES = st.sampled_from(["Favorite Color", "favorite_color", "weight"])
WORDS = st.sampled_from(["blue", "green and blue", "71.5 kg", "Ⅷ — ‘naïve’ 🌱"])
ADVICE = st.sampled_from(["Ask before ordering", "Answer in German"])
REASONS = st.none() | st.sampled_from(["it was late", 'he said "no"', "naïve 🌱"])
KEYS = st.none() | st.sampled_from(["k1", "k2"])
TAGS = st.lists(st.sampled_from(["home", "größe"]), max_size=2, unique=True).map(tuple)
ALIASES = st.lists(st.sampled_from(["Annie", "the yard", "Ⅷ größe"]), max_size=2, unique=True).map(tuple)
METADATA = st.sampled_from([{}, {"n": 1.10, "deep": {"list": [None, True, "x"]}}])
PERMANENCES = st.sampled_from(["standard", "ephemeral", "permanent"])
REQUESTS = st.none() | st.sampled_from(["r1", "r2"])

FACTS = st.builds(
    NewFact,
    subject=SUBJECTS,
    predicate=PREDICATES,
    content=WORDS,
    scope=SCOPES,
    permanence=PERMANENCES,
    tags=TAGS,
    metadata=METADATA,
    aliases=ALIASES,
    valid_at=st.none() | st.sampled_from([BEGIN, BEGIN - timedelta(days=400)]),
)


@dataclass
class Clock:
    now: datetime = BEGIN

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Call:
    """Caller, process, request and idempotency key of a call."""

    process: int
    name: str
    key: str | None
    request: str | None


CALLS = st.builds(Call, process=CLOCKS, name=BUTLERS, key=KEYS, request=REQUESTS)


@dataclass
class World:
    """Shared by all examples: event loop, resources, scratch schema, and a connection without row-level security."""

    runner: asyncio.Runner
    resources: Resources
    owner: psycopg.Connection[Any]

    def run(self, work: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await work

        return self.runner.run(wait())


@pytest.fixture(scope="module")
def world(settings: Settings, server: EmbeddedPostgres) -> Iterator[World]:
    # A loop of its own: hypothesis is synchronous, so each step runs the loop for as long as it takes.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        stack = AsyncExitStack()

        async def enter() -> Resources:
            resources = await stack.enter_async_context(open_resources(settings, embedder=FakeEmbedder()))
            await stack.enter_async_context(scratch_schema(resources.database))
            return resources

        resources = runner.run(enter())
        with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as owner:
            yield World(runner, resources, owner)
        runner.run(stack.aclose())


@dataclass
class Model:
    """A simple model of the expected state. Memories are keyed by short reference."""

    validity: dict[str, str] = field(default_factory=dict)
    properties: dict[tuple[str, str, str], str] = field(default_factory=dict)
    events: dict[tuple[str, str, str, datetime, str], str] = field(default_factory=dict)
    advice: dict[tuple[str, str], str] = field(default_factory=dict)
    marks: dict[str, Counter[str]] = field(default_factory=dict)
    references: Counter[str] = field(default_factory=Counter)
    keys: dict[tuple[str, str], tuple[datetime, object, Stored]] = field(default_factory=dict)
    content: dict[str, str] = field(default_factory=dict)
    warnings: set[str] = field(default_factory=set)
    aliases: set[tuple[str, str]] = field(default_factory=set)

    def is_live(self, ref: str) -> bool:
        return self.validity[ref] in ("active", "fading")

    def is_gone(self, ref: str | None) -> bool:
        return ref is not None and ref not in self.validity

    def withdraw(self, ref: str) -> None:
        self.validity[ref] = "retracted"
        by_key: tuple[dict[Any, str], ...] = (self.properties, self.events, self.advice)
        for known in by_key:
            for key in [key for key, holder in known.items() if holder == ref]:
                del known[key]


class Handle(NamedTuple):
    type: str
    ref: str


def _fact(ref: str) -> Handle:
    return Handle("fact", ref)


def _rule(ref: str) -> Handle:
    return Handle("rule", ref)


def _episode(ref: str) -> Handle:
    return Handle("episode", ref)


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


class Life(RuleBasedStateMachine):
    """One tenant, two processes with different clocks, and every operation of an agent."""

    world: World

    facts = Bundle("facts")
    known_rules = Bundle("rules")
    episodes = Bundle("episodes")

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.tenant = f"t{uuid.uuid4().hex[:16]}"
        own = self.world.resources.settings.model_copy(update={"tenant": self.tenant})
        self.clocks = [Clock(), Clock(BEGIN - timedelta(seconds=90))]
        self.butlers = [
            replace(self.world.resources, settings=own, clock=clock, make_id=id_maker(random.Random(seed + n)))
            for n, clock in enumerate(self.clocks)
        ]
        self.model = Model()

    # --- how a step is taken ------------------------------------------------------------------------

    def caller(self, call: Call) -> Caller:
        lineage = Lineage(request_id=call.request, session_id="s1" if call.request else None)
        return Caller(Principal(self.tenant, call.name, Role.ADMIN), lineage)

    def write(
        self,
        call: Call,
        request: object,
        operation: Callable[[Resources, Caller], Awaitable[Stored]],
        *,
        refused: bool = False,
    ) -> Stored | None:
        """Do a write and check its idempotency key; returns the result, or None if nothing changed."""
        now = self.clocks[call.process].now

        def attempt() -> Stored:
            stored: Stored = self.world.run(operation(self.butlers[call.process], self.caller(call)))
            return stored

        used = self.model.keys.get((call.name, call.key)) if call.key else None
        if used and used[0] > now:
            _, first_request, first = used
            if first_request == request:
                assert attempt() == first
            else:
                with pytest.raises(Conflict):
                    attempt()
            return None
        if refused:
            with pytest.raises(Conflict):
                attempt()
            return None
        stored = attempt()
        if call.key:
            self.model.keys[call.name, call.key] = (now + timedelta(days=KEY_DAYS), request, stored)
        return stored

    def created(self, stored: Stored, content: str) -> str:
        assert stored.ref not in self.model.validity, "a short reference was given twice"
        self.model.validity[stored.ref] = "active"
        self.model.content[stored.ref] = content
        return stored.ref

    # --- what an agent can do -------------------------------------------------------------------------

    @rule(process=CLOCKS, minutes=st.sampled_from([-3, -0.01, 0.5, 60, 60 * 24 * 3, 60 * 24 * 40]))
    def clock_moves(self, process: int, minutes: float) -> None:
        self.clocks[process].now += timedelta(minutes=minutes)

    @rule(target=episodes, call=CALLS, words=WORDS, tags=TAGS)
    def remember_episode(self, call: Call, words: str, tags: tuple[str, ...]) -> Any:
        new = NewEpisode(content=words, butler=call.name, tags=tags, idempotency_key=call.key)
        stored = self.write(call, new, lambda resources, caller: remember.episode(resources, new, caller))
        return self.created(stored, words) if stored else multiple()

    @rule(target=facts, call=CALLS, new=FACTS, source=st.none() | episodes)
    def remember_fact(self, call: Call, new: NewFact, source: str | None) -> Any:
        source = None if self.model.is_gone(source) else source
        new = replace(new, source_episode=source, idempotency_key=call.key)
        model = self.model
        stored = self.write(call, new, lambda resources, caller: remember.fact(resources, new, caller))
        if stored is None:
            return multiple()
        model.aliases |= {(_normal(new.subject), alias) for alias in new.aliases}
        place = (new.scope, _normal(new.subject), _normal(new.predicate))
        if new.valid_at is None:
            known = model.properties.get(place)
            restates = known is not None and model.content[known] == new.content
        else:
            known = model.events.get((*place, new.valid_at, new.content))
            restates = known is not None
        if restates:
            # Another importance, permanence or other tags update it.
            assert (stored.ref, stored.outcome in ("confirmed", "updated")) == (known, True)
            model.validity[stored.ref] = "active"
            return multiple()
        ref = self.created(stored, new.content)
        assert (stored.outcome, stored.superseded_ref) == ("superseded" if known else "created", known)
        if known:
            model.validity[known] = "superseded"
        if new.valid_at is None:
            model.properties[place] = ref
        else:
            model.events[(*place, new.valid_at, new.content)] = ref
        return ref

    @rule(target=known_rules, call=CALLS, words=ADVICE, scope=SCOPES, source=st.none() | episodes)
    def remember_rule(self, call: Call, words: str, scope: str, source: str | None) -> Any:
        source = None if self.model.is_gone(source) else source
        new = NewRule(content=words, scope=scope, source_episode=source, idempotency_key=call.key)
        known = self.model.advice.get((scope, words))
        stored = self.write(
            call,
            new,
            lambda resources, caller: remember.rule(resources, new, caller),
            refused=known in self.model.warnings,
        )
        if stored is None:
            return multiple()
        if known:
            assert (stored.ref, stored.outcome) == (known, "confirmed")
            self.model.validity[known] = "active"
            return multiple()
        assert stored.outcome == "created"
        self.model.advice[scope, words] = stored.ref
        self.model.marks[stored.ref] = Counter()
        return self.created(stored, words)

    @rule(call=CALLS, of=facts.map(_fact) | known_rules.map(_rule))
    def confirm(self, call: Call, of: Handle) -> None:
        stored = self.write(
            call,
            ("confirm", of),
            lambda resources, caller: feedback.confirm(resources, *of, caller, idempotency_key=call.key),
            refused=not self.model.is_live(of.ref),
        )
        if stored:
            self.model.validity[of.ref] = "active"

    @rule(call=CALLS, ref=known_rules, outcome=st.sampled_from(Outcome), reason=REASONS)
    def mark(self, call: Call, ref: str, outcome: Outcome, reason: str | None) -> None:
        stored = self.write(
            call,
            ("mark", ref, outcome, reason),
            lambda resources, caller: feedback.mark(
                resources, ref, outcome, caller, reason=reason, idempotency_key=call.key
            ),
            refused=not self.model.is_live(ref),
        )
        if stored:
            marks = self.model.marks[ref]
            marks[outcome] += 1
            if outcome is Outcome.HELPFUL:
                self.model.validity[ref] = "active"
            worth = maturity.effectiveness(marks[Outcome.HELPFUL], marks[Outcome.HARMFUL])
            if marks[Outcome.HARMFUL] >= 3 and worth is not None and worth < 0.3:
                self.model.warnings.add(ref)

    @rule(call=CALLS, reason=REASONS, of=facts.map(_fact) | known_rules.map(_rule) | episodes.map(_episode))
    def forget(self, call: Call, reason: str | None, of: Handle) -> None:
        if self.model.is_gone(of.ref):
            return
        stored = self.write(
            call,
            ("forget", of, reason),
            lambda resources, caller: forget.forget(resources, *of, caller, reason=reason, idempotency_key=call.key),
            refused=self.model.validity[of.ref] in ("superseded", "expired"),
        )
        if stored:
            self.model.withdraw(of.ref)

    @rule(call=CALLS, query=WORDS | ADVICE, limit=st.integers(1, 5))
    def search(self, call: Call, query: str, limit: int) -> None:
        question = Question(query=query, limit=limit, min_confidence=0)
        answer = self.world.run(search.search(self.butlers[call.process], question, self.caller(call)))
        assert len(answer.results) <= limit
        for entry in answer.results:
            assert self.model.is_live(entry.hit.ref)
            self.model.references[entry.hit.ref] += 1

    @rule(call=CALLS, of=facts.map(_fact) | known_rules.map(_rule) | episodes.map(_episode))
    def look(self, call: Call, of: Handle) -> None:
        if self.model.is_gone(of.ref):
            return
        portrait = self.world.run(get.get(self.butlers[call.process], *of, self.caller(call)))
        assert portrait.memory.content == self.model.content[of.ref]
        subject = getattr(portrait.memory, "subject", None)
        assert set(portrait.aliases) == {alias for of_subject, alias in self.model.aliases if of_subject == subject}
        self.model.references[of.ref] += 1

    # --- what must hold after every step ----------------------------------------------------------------

    def rows(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        return self.world.owner.execute(query, {"tenant": self.tenant, **given}).fetchall()

    @invariant()
    def one_live_fact_per_property(self) -> None:
        assert not self.rows(
            "SELECT scope, subject, predicate FROM memory.facts WHERE tenant_id = %(tenant)s AND valid_at IS NULL"
            " AND validity IN ('active', 'fading') GROUP BY 1, 2, 3 HAVING count(*) > 1"
        )

    @invariant()
    def log_has_no_gap(self) -> None:
        [(count, distinct, highest)] = self.rows(
            "SELECT count(*), count(DISTINCT seq), coalesce(max(seq), 0) FROM memory.memory_events"
            " WHERE tenant_id = %(tenant)s"
        )
        counter = self.rows("SELECT last_seq FROM memory.tenants WHERE tenant_id = %(tenant)s")
        assert count == distinct == highest == (counter[0][0] if counter else 0)

    @invariant()
    def model_agrees(self) -> None:
        rows = self.rows(
            "SELECT ref, validity, content, reference_count FROM memory.facts WHERE tenant_id = %(tenant)s"
            " UNION ALL SELECT ref, validity, content, reference_count FROM memory.rules WHERE tenant_id = %(tenant)s"
            " UNION ALL SELECT ref, validity, content, reference_count FROM memory.episodes"
            " WHERE tenant_id = %(tenant)s"
        )
        model = self.model
        assert {ref: tuple(rest) for ref, *rest in rows} == {
            ref: (validity, model.content[ref], model.references[ref]) for ref, validity in model.validity.items()
        }
        counters = self.rows("SELECT ref, success_count, harmful_count FROM memory.rules WHERE tenant_id = %(tenant)s")
        assert {ref: tuple(rest) for ref, *rest in counters} == {
            ref: (marks[Outcome.HELPFUL], marks[Outcome.HARMFUL]) for ref, marks in model.marks.items()
        }

        named = self.rows(
            "SELECT subject, alias_label FROM memory.aliases WHERE tenant_id = %(tenant)s AND validity = 'active'"
        )
        assert set(named) == model.aliases

    @invariant()
    def every_row_is_in_the_log(self) -> None:
        """The last event of a memory holds its row as it is, but for the words (kept apart) and later references."""
        assert not self.rows(
            """
            WITH rows AS (
                SELECT id, to_jsonb(f) AS row FROM memory.facts f WHERE tenant_id = %(tenant)s
                UNION ALL SELECT id, to_jsonb(r) FROM memory.rules r WHERE tenant_id = %(tenant)s
                UNION ALL SELECT id, to_jsonb(e) FROM memory.episodes e WHERE tenant_id = %(tenant)s
                UNION ALL SELECT id, to_jsonb(a) FROM memory.aliases a WHERE tenant_id = %(tenant)s
            )
            SELECT id FROM rows LEFT JOIN LATERAL (
                SELECT payload -> 'state' AS state, body::jsonb AS words
                FROM memory.memory_events e LEFT JOIN memory.texts t
                    ON t.tenant_id = e.tenant_id AND t.memory_id = e.entity_id AND t.hash = e.text_hash
                WHERE e.tenant_id = %(tenant)s AND e.entity_id = rows.id ORDER BY seq DESC LIMIT 1
            ) last ON true
            WHERE (row - '{consolidated,reference_count,last_referenced_at}'::text[])
                IS DISTINCT FROM (state || words) - '{salt,reference_count,last_referenced_at}'::text[]
            """
        )

    def teardown(self) -> None:
        """The store rebuilt from the log alone equals the store."""
        report = self.world.run(replay_into_scratch(self.butlers[0], self.caller(Call(0, "main", None, None))))
        assert report.equal, report
        assert report.removed_texts == ()
        counts = {name: table.rebuilt for name, table in report.tables.items()}
        assert counts["facts"] + counts["rules"] + counts["episodes"] == len(self.model.validity)
