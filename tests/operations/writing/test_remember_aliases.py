"""Other names of a subject: given with a fact, kept in the log, taken back and forgotten like everything else."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.operations.conftest import second_tenant

from memory_butler.english.text.names import possible_names
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import Caller, Lineage, NewEpisode, NewFact, Principal, Question, Reach, Role, Stored
from memory_butler.operations.history import activity
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.retrieval import explain, get
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import forget, remember
from memory_butler.operations.writing.idempotency import Fingerprint
from memory_butler.policy.memories.validation import ALIASES, NAME_CHARACTERS
from memory_butler.resources import Resources
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.memories import aliases

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]


async def fact(resources: Resources, subject: str, *names: str, content: str = "green", **given: Any) -> Stored:
    new = NewFact(subject=subject, predicate="color", content=content, aliases=names, **given)
    return await remember.fact(resources, new)


def named(rows: Rows) -> set[tuple[str, str]]:
    return {(row["subject"], row["alias"]) for row in rows("aliases") if row["validity"] == "active"}


def log(rows: Rows) -> list[dict[str, Any]]:
    return sorted(rows("memory_events"), key=lambda event: event["seq"])


async def known(resources: Resources, question: str) -> dict[str, list[str]]:
    """The names of a question that the tenant knows, and what to look for."""
    async with resources.database.read(resources.settings.tenant) as transaction:
        found = await aliases.asked(transaction, possible_names(question), Reach(None, None), resources.clock())
    return {
        asked: sorted(f"{name.lexeme}{'!' * name.is_name}" for name in found if name.asked == asked)
        for asked in {name.asked for name in found}
    }


async def test_names_come_with_a_fact(resources: Resources, rows: Rows) -> None:
    """A row and an event each, in one transaction and one group with the fact; their words apart from the event."""
    caller = replace(resources.local_caller(), lineage=Lineage(request_id="r1"))
    new = NewFact(subject="Anna Smith", predicate="color", content="green", aliases=("Annie", "Mum"))
    done = await remember.fact(resources, new, caller)
    assert named(rows) == {("anna_smith", "annie"), ("anna_smith", "mum")}
    assert {(row["alias_label"], row["request_id"]) for row in rows("aliases")} == {("Annie", "r1"), ("Mum", "r1")}
    events = log(rows)
    assert [event["event_type"] for event in events] == ["fact.created", "alias.created", "alias.created"]
    assert {event["group_id"] for event in events} == {events[0]["group_id"]} != {None}
    assert not any("nnie" in str(event["payload"]) for event in events)
    assert (await get.get(resources, "fact", done.ref)).aliases == ("Annie", "Mum")
    assert (await replay(resources)).equal


async def test_a_fact_without_names_is_as_it_always_was(resources: Resources, rows: Rows) -> None:
    """No group, no row, and a request whose key was used before there were names is still the same request."""
    new = NewFact(subject="Anna", predicate="color", content="green", idempotency_key="k")
    await remember.fact(resources, new)
    [event] = log(rows)
    assert event["group_id"] is None
    assert len(rows("idempotency_keys")) == 1
    asked = {
        "subject": "Anna", "predicate": "color", "content": "green", "importance": 5, "permanence": "standard",
        "scope": "global", "tags": (), "valid_at": None, "source_episode": None, "metadata": {},
    }  # fmt: skip
    assert Fingerprint("fact", asked).legacy == Fingerprint("fact", new).legacy


async def test_restating_a_fact_adds_what_is_new(resources: Resources, rows: Rows) -> None:
    """The names it has stay as they are; in another spelling a name is the same."""
    first = await fact(resources, "Anna", "Annie")
    again = await fact(resources, "Anna", "ANNIE", "Mum", "anna", "mum")
    assert (again.ref, again.outcome) == (first.ref, "confirmed")
    assert {row["alias_label"] for row in rows("aliases")} == {"Annie", "Mum"}
    assert [event["event_type"] for event in log(rows)][2:] == ["fact.confirmed", "alias.created"]
    assert (await replay(resources)).equal


async def test_a_name_may_belong_to_two_subjects(resources: Resources, rows: Rows) -> None:
    """Both are meant by it."""
    await fact(resources, "Anna", "Mum")
    await fact(resources, "Berta", "Mum")
    assert named(rows) == {("anna", "mum"), ("berta", "mum")}
    assert (await known(resources, "What did Mum say?"))["mum"] == [
        "#anna!",
        "#berta!",
        "#mum!",
        "@anna!",
        "@berta!",
        "@mum!",
    ]


async def test_a_repeat_with_the_same_key_gives_the_names_once(resources: Resources, everything: Everything) -> None:
    """And another list of names under the key is another request."""
    first = await fact(resources, "Anna", "Annie", idempotency_key="k")
    before = everything()
    assert await fact(resources, "Anna", "Annie", idempotency_key="k") == first
    assert everything() == before
    with pytest.raises(Conflict):
        await fact(resources, "Anna", "Annie", "Mum", idempotency_key="k")


@pytest.mark.parametrize(
    "names",
    [["x"] * (ALIASES + 1), ["x" * (NAME_CHARACTERS + 1)], [" "], ["a\x00b"], [7], "Annie", ["ŉ̈" * 100 + "ΐ" * 100]],
)
async def test_bad_names_are_refused_and_nothing_is_stored(resources: Resources, rows: Rows, names: Any) -> None:
    with pytest.raises(InvalidInput):
        await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green", aliases=names))
    assert not rows("facts")


async def test_undoing_the_group_removes_the_names_and_again_restores_them(resources: Resources, rows: Rows) -> None:
    done = await fact(resources, "Anna", "Annie", "Mum")
    group = log(rows)[0]["group_id"]
    report = await undo(resources, group)
    assert (report.undone, named(rows)) == (3, set())
    assert sorted(line.validity for line in report.taken_back) == ["retracted"] * 3
    assert (await get.get(resources, "fact", done.ref)).aliases == ()
    assert (await replay(resources)).equal
    assert report.undo_id
    await undo(resources, report.undo_id)
    assert named(rows) == {("anna", "annie"), ("anna", "mum")}
    assert (await replay(resources)).equal


async def test_one_name_can_be_taken_back_and_given_again(resources: Resources, rows: Rows) -> None:
    """By its own event; given again it is the same name, with an event that says so."""
    await fact(resources, "Anna", "Annie", "Mum")
    event = next(event for event in log(rows) if event["event_type"] == "alias.created")
    await undo(resources, event["id"])
    assert len(named(rows)) == 1
    await fact(resources, "Anna", "Annie", "Mum")
    assert len(named(rows)) == len(rows("aliases")) == 2
    last = log(rows)[-1]
    assert (last["event_type"], last["entity_id"]) == ("alias.restored", event["entity_id"])
    with pytest.raises(Conflict, match="already undone"):
        await undo(resources, event["id"])
    assert (await replay(resources)).equal


async def test_names_stay_when_a_fact_is_forgotten(resources: Resources, rows: Rows) -> None:
    """They are the subject's, not the fact's."""
    done = await fact(resources, "Anna", "Annie")
    await forget.forget(resources, "fact", done.ref)
    assert named(rows) == {("anna", "annie")}


async def test_forgetting_somebody_takes_the_names_along(resources: Resources, rows: Rows) -> None:
    """By the subject or by any of its names; audited, in the same group, and to be taken back with it."""
    await fact(resources, "Anna", "Annie", "Mum")
    await fact(resources, "Berta", "Mum")
    shown = await forget_about.forget_about(resources, subject="Annie")
    assert (len(shown.aliases), len(named(rows))) == (2, 3)
    done = await forget_about.forget_about(resources, subject="Annie", dry_run=False, reason="she asked")
    assert (sorted(done.aliases), named(rows)) == (sorted(shown.aliases), {("berta", "mum")})
    gone = [event for event in log(rows) if event["group_id"] == done.group_id]
    assert sorted(event["event_type"] for event in gone) == ["alias.retracted", "alias.retracted", "fact.retracted"]
    assert (await replay(resources)).equal
    assert done.group_id
    await undo(resources, done.group_id)
    assert named(rows) == {("anna", "annie"), ("anna", "mum"), ("berta", "mum")}


async def test_forgetting_an_identifier_takes_the_names_that_hold_it(resources: Resources, rows: Rows) -> None:
    """As a whole, in the name or in the subject; also where no memory holds it, and once under its key."""
    await fact(resources, "Anna", "anna.k@x.org", "Annie K")
    await fact(resources, "Berta", "Annieke")
    first = await forget_about.forget_about(resources, text="annie", dry_run=False, idempotency_key="k")
    assert (first.touched, len(first.aliases)) == ((), 1)
    assert named(rows) == {("anna", "anna.k@x.org"), ("berta", "annieke")}
    again = await forget_about.forget_about(resources, text="annie", dry_run=False, idempotency_key="k")
    assert (again.aliases, again.group_id) == (first.aliases, first.group_id)
    await forget_about.forget_about(resources, text="anna", dry_run=False)
    assert named(rows) == {("berta", "annieke")}


async def test_which_names_of_a_question_are_known(resources: Resources) -> None:
    """A name that memories stand under, the part of one, a subject, another name that leads to all; nothing else."""
    await remember.episode(resources, NewEpisode(content="Bob Jones: I planted roses.", butler="main"))
    await fact(resources, "billing service", "Payments", "the ledger")
    await fact(resources, "user", "Tom")
    assert await known(resources, "Did Bob Jones plant roses?") == {
        "bob_jones": ["@bob_jones!"],
        "bob": ["#bob"],
        "jones": ["#jones"],
    }
    assert await known(resources, "which port has the billing service?") == {
        "billing_service": ["#billing_service", "#payments", "#the_ledger", "@payments", "@the_ledger"]
    }
    assert (await known(resources, "ask the ledger"))["the_ledger"] == [
        "#billing_service", "#payments", "#the_ledger", "@billing_service", "@payments", "@the_ledger"
    ]  # fmt: skip
    assert (await known(resources, "What does Tom like?"))["tom"] == ["#tom!", "#user!", "@tom!", "@user!"]
    assert await known(resources, "Did Caroline plant tulips for the user?") == {}


async def test_names_are_the_tenants_own(resources: Resources) -> None:
    """Another tenant's names mean nothing."""
    await fact(resources, "Anna", "Annie")
    other = second_tenant(resources)
    assert await known(other, "What does Annie like? And Anna?") == {}


async def test_withdrawn_names_are_not_known(resources: Resources, rows: Rows) -> None:
    await fact(resources, "Anna", "Annie")
    await undo(resources, log(rows)[0]["group_id"])
    assert "annie" not in await known(resources, "What does Annie like?")


async def test_a_name_is_never_reworded(resources: Resources, owner: psycopg.Connection[Any], tenant: str) -> None:
    """The database refuses it, whoever asks."""
    await fact(resources, "Anna", "Annie")
    for change in ("alias = 'x'", "alias_label = 'x'", "subject = 'x'", "created_at = now()"):
        with pytest.raises(psycopg.Error, match="never rewritten"):
            owner.execute(f"UPDATE memory.aliases SET {change} WHERE tenant_id = %s", [tenant])  # noqa: S608


async def test_names_are_looked_up_by_index(resources: Resources, owner: psycopg.Connection[Any], tenant: str) -> None:
    """Under row-level security, too: every table is reached by the key and the tenant, none is read through."""
    for number in range(20):
        await remember.fact(
            resources, NewFact(subject=f"Person {number}", predicate="color", content=f"the {number}th blue")
        )
    crowds = (
        """INSERT INTO memory.aliases (tenant_id, id, subject, alias, alias_label, created_at)
        SELECT %s, gen_random_uuid(), 's' || n, 'a' || n, 'a' || n, now() FROM generate_series(1, 2000) n""",
        """INSERT INTO memory.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)
        SELECT %s, 'fact', gen_random_uuid(), 'w' || n, 1, 3 FROM generate_series(1, 5000) n""",
    )
    query = load_queries(resources.database.names)["aliases.asked"].decode()
    asked = {"tenant": tenant, "names": ["anna", "bob"], "scopes": None, "butlers": None, "now": resources.clock()}
    with owner.transaction(force_rollback=True):
        # A table of one page is read the same way by any of its indexes.
        for crowd in crowds:
            owner.execute(crowd, [tenant])
        owner.execute("ANALYZE memory.postings, memory.aliases")
        owner.execute("SET LOCAL ROLE memory_app")
        owner.execute("SET LOCAL enable_seqscan = off")
        owner.execute("SELECT set_config('memory_butler.tenant', %s, true)", [tenant])
        plan = owner.execute(f"EXPLAIN {query}", asked).fetchall()
    lines = "\n".join(str(line) for (line,) in plan)
    assert len(re.findall(r"Scan using \w+ on (?:aliases|postings)", lines)) == 5, lines
    assert len(re.findall(r"Index Cond: .*tenant_id = .* AND .*(?:lexeme|alias|subject) = ", lines)) == 5, lines
    assert not re.search(r"(?:Seq|Bitmap Heap) Scan on (?:aliases|postings)|Hash Join|Merge Join", lines), lines


async def test_what_was_forgotten_or_is_hidden_makes_no_name_known(resources: Resources) -> None:
    """Nobody learns from a question whom the store has known, or knows where the asker may not look."""
    gone = await fact(resources, "Zebulon", "Zeb")
    await fact(resources, "Wilma", scope="hr")
    assert "zebulon" in await known(resources, "Zebulon?")
    assert "zeb" in await known(resources, "Zeb?")
    await forget.forget(resources, "fact", gone.ref)
    assert await known(resources, "Zebulon? Zeb?") == {}
    async with resources.database.read(resources.settings.tenant) as transaction:
        seen = await aliases.asked(transaction, ["wilma"], Reach(("global",), ("main",)), resources.clock())
        of_hr = await aliases.asked(transaction, ["wilma"], Reach(("global", "hr"), None), resources.clock())
    assert not seen and of_hr


@pytest.mark.parametrize("alias", ["the", "I", "user", "My", "🎉", "you know"])
async def test_a_word_like_any_other_is_nobodys_name(resources: Resources, rows: Rows, alias: str) -> None:
    """Refused with the whole fact, which changes nothing."""
    with pytest.raises(InvalidInput, match="cannot be an alias"):
        await fact(resources, "Bo", "Bobo", alias)
    assert rows("aliases") == rows("facts") == []


# --- whose names they are -------------------------------------------------------------------------

ANNA = NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea.")
PRIVATE = NewFact(
    subject="Anna", predicate="illness", content="Anna has diabetes.", scope="nurse", aliases=("Sugarplum",)
)
ASKED = Question(query="What does Sugarplum drink?")


async def test_a_name_is_known_where_the_fact_is_that_it_came_with(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """A name that a butler gave with a fact of its own scope is understood and shown to it and to who governs; to other
    butlers it is a word like any other, in a look, a question, an explanation and before forgetting."""
    tea = await remember.fact(resources, ANNA, agent("chef"))
    await remember.fact(resources, PRIVATE, agent("nurse"))
    for caller, knows in ((agent("nurse"), True), (resources.local_caller(), True), (agent("chef"), False)):
        seen = await get.get(resources, "fact", tea.ref, caller, bump=False)
        assert (seen.aliases == ("Sugarplum",)) is knows
        names = (await forget_about.forget_about(resources, subject="Anna", caller=caller)).names
        assert ("sugarplum" in names) is knows
    chef = await explain.explain(resources, ASKED, f"fact:{tea.ref}", agent("chef"))
    nurse = await explain.explain(resources, ASKED, f"fact:{tea.ref}", agent("nurse"))
    assert (bool(nurse.matched_names), bool(chef.matched_names)) == (True, False)


async def test_forgetting_leaves_names_alone_that_the_caller_does_not_know(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """What an agent forgets about somebody is what it reaches: another butler's own name for them stays in use."""
    await remember.fact(resources, ANNA, agent("chef"))
    kept = await remember.fact(resources, PRIVATE, agent("nurse"))
    for wanted in ({"subject": "Anna"}, {"text": "Sugarplum"}):
        done = await forget_about.forget_about(resources, **wanted, caller=agent("chef"), dry_run=False)
        assert done.aliases == ()
    assert (await get.get(resources, "fact", kept.ref, agent("nurse"), bump=False)).aliases == ("Sugarplum",)


async def test_a_private_name_that_is_given_to_all_is_known_to_all(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """The same name given again with a global fact becomes everybody's, once; and replay rebuilds what there is."""
    await remember.fact(resources, PRIVATE, agent("nurse"))
    tea = await remember.fact(resources, replace(ANNA, aliases=("Sugarplum",)), agent("chef"))
    await remember.fact(resources, replace(ANNA, aliases=("Sugarplum",)), agent("chef"))
    seen = await get.get(resources, "fact", tea.ref, agent("coder"), bump=False)
    assert seen.aliases == ("Sugarplum",)
    told = (await activity.activity(resources, since="start")).items
    assert [item.event.event_type for item in told if item.event.entity_type == "alias"] == [
        "alias.created",
        "alias.named",
    ]
    assert (await explain.explain(resources, ASKED, f"fact:{tea.ref}", agent("coder"))).matched_names
    assert (await replay(resources)).equal


async def knowing(resources: Resources, *names: str) -> dict[str, bool]:
    """Which of these butlers know that Anna is called Sugarplum: in a look, in a question, and before forgetting."""
    tenant, found = resources.settings.tenant, {}
    for name in names:
        caller = Caller(Principal(tenant, name, Role.AGENT))
        async with resources.database.read(tenant) as transaction:
            scopes = ("global", name)
            shown = "Sugarplum" in await aliases.of_subject(transaction, "anna", scopes)
            asked = await aliases.asked(transaction, ["sugarplum"], Reach(scopes, (name,)), resources.clock())
        told = (await forget_about.forget_about(resources, subject="Anna", caller=caller)).names
        assert shown is bool(asked) is ("sugarplum" in told)
        found[name] = shown
    return found


async def test_a_name_that_was_given_to_all_by_mistake_can_be_taken_back(
    resources: Resources, agent: Callable[..., Caller], rows: Rows
) -> None:
    """Once that giving is undone, the name is its first giver's own again; and everybody's if the undoing is undone."""
    await remember.fact(resources, ANNA, agent("chef"))
    await remember.fact(resources, PRIVATE, agent("nurse"))
    await remember.fact(resources, replace(ANNA, predicate="cup", aliases=("Sugarplum",)), agent("chef"))
    assert await knowing(resources, "nurse", "chef") == {"nurse": True, "chef": True}
    undone = await undo(resources, log(rows)[-1]["group_id"])
    assert await knowing(resources, "nurse", "chef") == {"nurse": True, "chef": False}
    assert undone.undo_id
    await undo(resources, undone.undo_id)
    assert await knowing(resources, "nurse", "chef") == {"nurse": True, "chef": True}


async def test_a_forgotten_name_that_is_given_again_is_the_givers(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """Whoever knew it before it was withdrawn does not know it again: it was given to somebody else."""
    await remember.fact(resources, replace(ANNA, aliases=("Sugarplum",)), agent("chef"))
    await forget_about.forget_about(resources, text="Sugarplum", dry_run=False)
    assert await knowing(resources, "nurse", "chef") == {"nurse": False, "chef": False}
    await remember.fact(resources, PRIVATE, agent("nurse"))
    assert await knowing(resources, "nurse", "chef") == {"nurse": True, "chef": False}


async def test_a_name_that_came_without_its_history_stays_private(
    resources: Resources, agent: Callable[..., Caller], tmp_path: Path
) -> None:
    """Nobody can tell what it was given with: it is known to who sees all that is known of the subject. Given again
    with a fact, it is known where that is."""
    tea = replace(ANNA, aliases=("Annie",))
    await remember.fact(resources, tea, agent("chef"))
    await remember.fact(resources, PRIVATE, agent("nurse"))
    await export(resources, tmp_path / "memory.jsonl", events=False)
    other = second_tenant(resources)
    await import_(other, tmp_path / "memory.jsonl")
    assert await knowing(other, "nurse", "chef") == {"nurse": True, "chef": False}
    chef = Caller(Principal(other.settings.tenant, "chef", Role.AGENT))
    seen = await remember.fact(other, replace(tea, aliases=("Sugarplum",)), chef)
    assert (await get.get(other, "fact", seen.ref, chef, bump=False)).aliases == ("Sugarplum",)
    assert (await replay(other)).equal
