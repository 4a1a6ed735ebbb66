"""Everything that can happen to memories, in any order: the invariants hold, and the log alone gives the same rows."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.stateful import multiple, rule, run_state_machine_as_test
from tests.support.life import (
    CALLS,
    REASONS,
    WORDS,
    Call,
    Handle,
    Life,
    World,
    _episode,
    _fact,
    _normal,
    _rule,
    world,
)

from memory_butler.errors import Conflict
from memory_butler.models import NewNote, Outcome
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import correct, pin, remember, restore
from memory_butler.settings import EdenTier, Lifecycle, LongTier, MidTier

__all__ = ["world"]

# Small enough to be reached within one history.
TINY = Lifecycle(
    eden=EdenTier(ttl_days=3, capacity=2, protected_from=2, first_after_hours=1),
    mid=MidTier(capacity=3, promote_after_references=3, promote_after_days=1),
    long=LongTier(capacity=2, stale_after_days=60),
)
TABLES = ("facts", "rules", "episodes", "episode_tombstones", "rule_applications", "memory_links", "memory_events",
          "aliases")  # fmt: skip
# What an undo leaves alone (counted references), and what it may have to set anew, or the memory would be gone again.
NOT_UNDONE = {"reference_count", "last_referenced_at"}
SET_ANEW = {"last_confirmed_at", "validity", "maturity", "expires_at"}


class FullLife(Life):
    """The life of memories with all that keeps and changes them: tiers, sweeps, corrections, second thoughts."""

    facts, known_rules, episodes = Life.facts, Life.known_rules, Life.episodes

    def snapshot(self) -> dict[str, list[Any]]:
        return {
            name: sorted(repr(row) for row in self.rows(f"SELECT t FROM memory.{name} t WHERE tenant_id = %(tenant)s"))  # noqa: S608
            for name in TABLES
        }

    def adopt(self) -> None:
        """Take over what the store says after a step whose effect the model does not foretell."""
        model = self.model
        facts = self.rows(
            "SELECT ref, validity, content, scope, subject, predicate, valid_at FROM memory.facts"
            " WHERE tenant_id = %(tenant)s"
        )
        rules = self.rows(
            "SELECT ref, validity, content, scope, success_count, harmful_count, maturity FROM memory.rules"
            " WHERE tenant_id = %(tenant)s"
        )
        episodes = self.rows("SELECT ref, validity, content FROM memory.episodes WHERE tenant_id = %(tenant)s")
        every = [row[:3] for row in (*facts, *rules, *episodes)]
        model.validity = {ref: validity for ref, validity, _ in every}
        model.content = {ref: content for ref, _, content in every}
        model.references = Counter({ref: n for ref, n in model.references.items() if ref in model.validity})
        live = [row for row in facts if row[1] in ("active", "fading")]
        model.properties = {row[3:6]: row[0] for row in live if row[6] is None}
        model.events = {(*row[3:6], row[6], row[2]): row[0] for row in live if row[6] is not None}
        model.advice = {(row[3], row[2]): row[0] for row in rules if row[1] in ("active", "fading")}
        model.marks = {row[0]: Counter({Outcome.HELPFUL: row[4], Outcome.HARMFUL: row[5]}) for row in rules}
        model.aliases = set(
            self.rows(
                "SELECT subject, alias_label FROM memory.aliases WHERE tenant_id = %(tenant)s AND validity = 'active'"
            )
        )
        model.warnings = {row[0] for row in rules if row[6] == "anti_pattern"}

    @rule(target=episodes, call=CALLS, words=WORDS)
    def note_in_eden(self, call: Call, words: str) -> Any:
        new = NewNote(content=words, tier="eden", butler=call.name, idempotency_key=call.key)
        stored = self.write(call, ("note", new), lambda resources, caller: remember.store(resources, new, caller))
        return self.created(stored, words) if stored else multiple()

    @rule(target=facts, call=CALLS, words=WORDS, tier=st.sampled_from(["mid", "long"]))
    def note_that_lasts(self, call: Call, words: str, tier: str) -> Any:
        new = NewNote(content=words, tier=tier, butler=call.name, idempotency_key=call.key)
        stored = self.write(call, ("note", new), lambda resources, caller: remember.store(resources, new, caller))
        if stored is None:
            return multiple()
        self.adopt()
        return stored.ref if stored.outcome == "created" else multiple()

    @rule(call=CALLS, of=facts.map(_fact) | known_rules.map(_rule) | episodes.map(_episode), really=st.booleans())
    def restore(self, call: Call, of: Handle, really: bool) -> None:
        if self.model.is_gone(of.ref):
            return
        was_active = self.model.validity[of.ref] == "active"
        before = self.snapshot()
        try:
            stored = self.world.run(
                restore.restore(self.butlers[call.process], *of, self.caller(call), supersede=really)
            )
        except Conflict:
            assert not self.model.is_live(of.ref), "what is in use has a place"
            assert self.snapshot() == before
            return
        assert stored.outcome == ("already_active" if was_active else "restored")
        self.adopt()
        assert self.model.validity[of.ref] == "active"

    @rule(target=facts, call=CALLS, ref=facts, words=WORDS, reason=REASONS)
    def correct(self, call: Call, ref: str, words: str, reason: str | None) -> Any:
        before, was_live = self.snapshot(), self.model.is_live(ref)
        try:
            stored = self.world.run(
                correct.correct(self.butlers[call.process], ref, words, self.caller(call), reason=reason)
            )
        except Conflict:
            assert self.snapshot() == before
            return multiple()
        assert was_live
        self.adopt()
        if stored.outcome == "unchanged":
            assert self.snapshot() == before
            return multiple()
        assert (self.model.validity[ref], self.model.content[stored.ref]) == ("superseded", words)
        return stored.ref

    @rule(call=CALLS, of=facts.map(_fact) | known_rules.map(_rule) | episodes.map(_episode), up=st.booleans())
    def pin(self, call: Call, of: Handle, up: bool) -> None:
        if self.model.is_gone(of.ref):
            return
        stored = self.write(
            call,
            ("pin", of, up),
            lambda resources, caller: (pin.pin if up else pin.unpin)(resources, *of, caller, idempotency_key=call.key),
            refused=not self.model.is_live(of.ref),
        )
        if stored:
            self.adopt()

    @rule(call=CALLS, ref=known_rules)
    def reverse(self, call: Call, ref: str) -> None:
        stored = self.write(
            call,
            ("reverse", ref),
            lambda resources, caller: restore.reverse(resources, ref, caller, idempotency_key=call.key),
            refused=ref not in self.model.warnings or not self.model.is_live(ref),
        )
        if stored:
            self.adopt()
            assert self.model.marks[ref].total() == 0

    @rule(
        call=CALLS,
        about=st.sampled_from(
            [{"subject": "User"}, {"text": "green and blue"}, {"text": "in German"}, {"text": "Annie"}]
        ),
    )
    def forget_about(self, call: Call, about: dict[str, Any]) -> None:
        butler, caller = self.butlers[call.process], self.caller(call)
        foretold = self.world.run(forget_about.forget_about(butler, caller, **about))
        done = self.world.run(forget_about.forget_about(butler, caller, dry_run=False, **about))
        assert [one.ref for one in done.touched] == [one.ref for one in foretold.touched]
        assert sorted(done.aliases) == sorted(foretold.aliases)
        self.adopt()
        assert all(self.model.validity[one.ref] == "retracted" for one in done.touched)
        if "subject" in about:
            assert not [key for key in self.model.properties if key[1] == _normal(about["subject"])]
            assert not [named for named in self.model.aliases if named[0] == _normal(about["subject"])]

    @rule(process=st.integers(0, 1))
    def sweep(self, process: int) -> None:
        butler, caller = self.butlers[process], self.caller(Call(process, "main", None, None))
        before = self.snapshot()
        foretold = self.world.run(sweep.sweep(butler, caller, dry_run=True))
        assert self.snapshot() == before
        self.world.run(sweep.sweep(butler, caller))
        self.adopt()
        now = self.clocks[process].now
        self.model.keys = {key: kept for key, kept in self.model.keys.items() if kept[0] > now}
        settled = self.snapshot()
        again = self.world.run(sweep.sweep(butler, caller))
        assert again.changed <= foretold.changed
        if again.changed == 0:
            assert self.snapshot() == settled
        self.adopt()

    @rule(call=CALLS, place=st.floats(0, 1, exclude_max=True), whole=st.booleans())
    def undo(self, call: Call, place: float, whole: bool) -> None:
        log = self.rows(
            "SELECT id, group_id, entity_id, payload -> 'state', seq FROM memory.memory_events"
            " WHERE tenant_id = %(tenant)s AND entity_type <> 'reference' ORDER BY seq"
        )
        if not log:
            return
        event_id, group_id, entity_id, _, seq = log[int(place * len(log))]
        before = self.snapshot()
        wanted = group_id if whole and group_id else event_id
        try:
            report = self.world.run(undo.undo(self.butlers[call.process], wanted, self.caller(call)))
        except Conflict:
            assert self.snapshot() == before
            return
        if wanted == event_id and report.undone:
            earlier = [state for _, _, entity, state, number in log if entity == entity_id and number < seq]
            self.is_as_it_was(entity_id, earlier[-1] if earlier else None)
        self.adopt()

    def is_as_it_was(self, entity_id: Any, earlier: dict[str, Any] | None) -> None:
        [(now,)] = self.rows(
            "SELECT payload -> 'state' FROM memory.memory_events WHERE tenant_id = %(tenant)s"
            " AND entity_id = %(entity)s ORDER BY seq DESC LIMIT 1",
            entity=entity_id,
        )
        if earlier is None:
            assert now["validity"] == "retracted"
            return
        # A name is in use or withdrawn, and nothing else.
        exempt = NOT_UNDONE | SET_ANEW if "ref" in now else set()
        pins = {"pinned": False} if "ref" in now else {}
        assert {key: value for key, value in now.items() if key not in exempt} == {
            **pins,
            **{key: value for key, value in earlier.items() if key not in exempt},
        }


@pytest.fixture
def tiny(world: World) -> Iterator[World]:
    """The same world with tiers so small that they overflow."""
    usual = world.resources.settings
    object.__setattr__(world.resources, "settings", usual.model_copy(update={"lifecycle": TINY}))
    yield world
    object.__setattr__(world.resources, "settings", usual)


def test_any_history_can_be_rebuilt_from_the_log(tiny: World) -> None:
    """Whatever happens, on two clocks that disagree: the invariants hold, and the log alone gives the same rows."""
    FullLife.world = tiny
    run_state_machine_as_test(
        FullLife,
        settings=examples(
            max_examples=16,
            stateful_step_count=40,
            deadline=None,
            # Shrinking a history takes far longer than reading it.
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
