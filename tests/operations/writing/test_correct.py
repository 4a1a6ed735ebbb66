"""Correcting: the right fact takes the wrong one's place, with everything else as it was."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Caller, NewFact, NewNote, NewRule, Question, Stored
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import forget, remember
from memory_butler.operations.writing.correct import correct
from memory_butler.operations.writing.pin import pin
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
LUNCH = datetime(2026, 2, 1, 12, tzinfo=UTC)
KEPT = ("subject", "subject_label", "predicate", "predicate_label", "scope", "importance", "permanence", "decay_rate",
        "tags", "valid_at", "metadata", "pinned")  # fmt: skip


async def store(resources: Resources, content: str = "Anna likes green tea.", **given: Any) -> Stored:
    details: dict[str, Any] = {"subject": "Anna Smith", "predicate": "Favorite Tea", **given}
    return await remember.fact(resources, NewFact(content=content, **details))


@pytest.mark.parametrize("valid_at", [None, LUNCH])
async def test_the_right_fact_is_the_wrong_one_but_for_its_words(
    resources: Resources, valid_at: datetime | None, rows: Rows, agent: Callable[..., Caller], clock: Any
) -> None:
    """Labels, scope, weight, permanence, tags, time, metadata and pin are kept; source and age are the correction's."""
    given: dict[str, Any] = {
        "importance": 8,
        "permanence": "stable",
        "scope": "health",
        "tags": ("tea",),
        "metadata": {"n": [1]},
    }
    wrong = await store(resources, valid_at=valid_at, **given)
    await pin(resources, "fact", wrong.ref)
    clock.move(days=3)
    done = await correct(resources, f"fact:{wrong.ref}", "  Anna likes black tea. ", agent("health", request_id="r1"))
    assert (done.outcome, done.superseded_ref) == ("corrected", wrong.ref)
    facts = {row["ref"]: row for row in rows("facts")}
    old, new = facts[wrong.ref], facts[done.ref]
    assert {name: new[name] for name in KEPT} == {name: old[name] for name in KEPT}
    assert new["valid_at"] == valid_at and new["pinned"] is True
    assert (new["content"], new["validity"], old["validity"]) == ("Anna likes black tea.", "active", "superseded")
    assert (new["supersedes_id"], new["source_butler"], new["created_at"]) == (wrong.id, "health", clock.now)
    assert (new["confidence"], new["request_id"], new["reference_count"]) == (1.0, "r1", 0)


async def test_both_histories_say_who_corrected_what_and_why(
    resources: Resources, rows: Rows, agent: Callable[..., Caller]
) -> None:
    """Two events in one group that name each other, a link that says supersedes, and the reason kept with both."""
    wrong = await store(resources)
    done = await correct(resources, wrong.ref, "Anna likes black tea.", agent("health"), reason="She told me.")
    old, new = sorted(rows("memory_events"), key=lambda event: event["seq"])[-2:]
    assert [(event["event_type"], event["entity_id"]) for event in (old, new)] == [
        ("fact.superseded", wrong.id),
        ("fact.created", done.id),
    ]
    assert old["group_id"] == new["group_id"] is not None
    by, of = old["payload"]["correction"], new["payload"]["correction"]
    assert (by["by"], by["actor"], of["of"], of["actor"]) == (str(done.id), "health", str(wrong.id), "health")
    kept = {(text["memory_id"], bytes(text["hash"]).hex()): text["body"] for text in rows("texts")}
    assert "She told me." in kept[wrong.id, by["reason_hash"]] and "She told me." in kept[done.id, of["reason_hash"]]
    assert "told" not in str(old["payload"]) + str(new["payload"])
    (link,) = rows("memory_links")
    assert (link["source_id"], link["relation"], link["target_id"]) == (done.id, "supersedes", wrong.id)
    assert [fact.ref for fact in (await get.get(resources, "fact", done.ref)).chain] == [wrong.ref, done.ref]


async def test_the_right_words_are_found_and_the_wrong_ones_are_not(resources: Resources) -> None:
    """The correction is embedded and indexed like any fact; the wrong fact is out of every read."""
    wrong = await store(resources)
    done = await correct(resources, wrong.ref, "Anna likes rooibos.")
    for mode in ("keyword", "semantic", "hybrid"):
        answer = await search.search(resources, Question(query="Anna rooibos", mode=mode, min_confidence=0.0))
        assert [entry.hit.ref for entry in answer.results] == [done.ref]


async def test_correcting_to_the_same_words_changes_nothing(resources: Resources, everything: Everything) -> None:
    """It says so; white space around the words does not make them others."""
    fact = await store(resources)
    before = everything()
    done = await correct(resources, fact.ref, " Anna likes green tea.\n")
    assert (done.outcome, done.ref, done.superseded_ref) == ("unchanged", fact.ref, None)
    # A short reference was reserved; nothing else is there.
    assert everything() == before


async def test_a_fading_fact_can_be_corrected(resources: Resources, owner: Any) -> None:
    """Live is live."""
    fact = await store(resources)
    owner.execute("UPDATE memory.facts SET validity = 'fading' WHERE id = %s", [fact.id])
    assert (await correct(resources, fact.ref, "Anna likes black tea.")).outcome == "corrected"


async def test_an_occurrence_is_not_corrected_into_a_second_record_of_another(
    resources: Resources, everything: Everything
) -> None:
    """If the right words are on record for that time already, the error names that record."""
    wrong = await store(resources, "soup", valid_at=LUNCH)
    right = await store(resources, "bread", valid_at=LUNCH)
    before = everything()
    with pytest.raises(Conflict, match=f"fact:{right.ref} says so already") as problem:
        await correct(resources, wrong.ref, "bread")
    assert f"Forget fact:{wrong.ref}" in problem.value.recovery
    assert everything() == before
    assert (await correct(resources, wrong.ref, "stew")).outcome == "corrected"


async def test_a_corrected_note_goes_by_its_new_words(resources: Resources) -> None:
    """A note's predicate names its content: storing the right words again confirms the correction."""
    wrong = await remember.store(resources, NewNote(content="The key is under the mat.", tier="mid"))
    other = await remember.store(resources, NewNote(content="The spare key is at Ben's.", tier="mid"))
    done = await correct(resources, wrong.ref, "The key is under the stone.")
    again = await remember.store(resources, NewNote(content="The key is under the stone.", tier="mid"))
    assert (again.outcome, again.ref) == ("confirmed", done.ref)
    with pytest.raises(Conflict, match=f"fact:{other.ref} says so already"):
        await correct(resources, done.ref, "The spare key is at Ben's.")


async def test_what_is_out_of_use_cannot_be_corrected(resources: Resources, everything: Everything) -> None:
    """A forgotten fact has to be restored first; a superseded one names the fact that stands in its place."""
    old = await store(resources)
    new = await store(resources, "Anna likes white tea.")
    gone = await store(resources, "born in May", predicate="birthday")
    await forget.forget(resources, "fact", gone.ref)
    before = everything()
    with pytest.raises(Conflict, match=f"is superseded .* fact:{new.ref} has replaced it"):
        await correct(resources, old.ref, "Anna likes black tea.")
    with pytest.raises(Conflict, match="is retracted") as problem:
        await correct(resources, gone.ref, "born in June")
    assert "Restore it first" in problem.value.recovery
    assert everything() == before


async def test_a_repeat_with_the_same_key_corrects_once(resources: Resources, rows: Rows) -> None:
    """The first answer comes back although the fact is superseded by now; another request is a conflict."""
    wrong = await store(resources)
    first = await correct(resources, wrong.ref, "Anna likes black tea.", idempotency_key="k")
    assert await correct(resources, wrong.ref, "Anna likes black tea.", idempotency_key="k") == first
    assert len(rows("facts")) == 2
    with pytest.raises(Conflict, match="another request"):
        await correct(resources, wrong.ref, "Anna likes white tea.", idempotency_key="k")


async def test_bad_requests_change_nothing(
    resources: Resources, agent: Callable[..., Caller], everything: Everything
) -> None:
    """Bad words, unknown or foreign facts, other types: each its own error, and every table as before."""
    fact = await store(resources, scope="finance")
    rule = await remember.rule(resources, NewRule(content="offer tea"))
    before = everything()
    for ref, content, caller, error, words in [
        (fact.ref, "", None, InvalidInput, "content is empty"),
        (fact.ref, "x" * 4001, None, InvalidInput, "the limit is 4000"),
        (fact.ref, "a\x00b", None, InvalidInput, "NUL"),
        ("zzzz", "x", None, NotFound, "There is no fact:zzzz"),
        (rule.ref, "x", None, InvalidInput, "is a rule, not a fact"),
        (f"rule:{rule.ref}", "x", None, InvalidInput, "is of type rule"),
        (fact.ref, "x", agent("health"), NotFound, "There is no"),
    ]:
        with pytest.raises(error, match=words):
            await correct(resources, ref, content, caller)
    with pytest.raises(InvalidInput, match="reason"):
        await correct(resources, fact.ref, "x", reason=" ")
    assert everything() == before
