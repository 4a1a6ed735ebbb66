"""Remembering: what a write does, to itself and to what is known."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memory_butler.errors import InvalidInput, MemoryButlerError, NotFound, PermissionDenied
from memory_butler.models import Caller, Lineage, NewEpisode, NewFact, NewRule, Outcome, Question, Stored, Validity
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.memory_writer import content_hash
from memory_butler.resources import Resources
from memory_butler.settings import EdenTier, Lifecycle

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
AT = datetime(2026, 2, 1, 8, tzinfo=UTC)


def city(content: str = "Lisbon", **given: Any) -> NewFact:
    return NewFact(**{"subject": "User", "predicate": "home city", "content": content, **given})


async def test_a_new_fact_is_stored_whole(resources: Resources, rows: Rows, tenant: str) -> None:
    """Everything that was said is in the row, with the defaults of the contract beside it."""
    new = city(tags=("Travel",), metadata={"a": [1]}, importance=8, permanence="stable")
    caller = replace(resources.local_caller(), lineage=Lineage(request_id="r1"))
    done = await remember.fact(resources, new, caller)
    (row,) = rows("facts")
    assert (done.outcome, done.id, done.ref) == ("created", row["id"], row["ref"])
    assert {key: row[key] for key in ("subject", "subject_label", "predicate", "predicate_label", "content")} == {
        "subject": "user",
        "subject_label": "User",
        "predicate": "home_city",
        "predicate_label": "home city",
        "content": "Lisbon",
    }
    assert (row["tenant_id"], row["scope"], row["importance"], row["permanence"]) == (tenant, "global", 8, "stable")
    assert (row["confidence"], row["decay_rate"], row["validity"]) == (1.0, 0.002, "active")
    assert (row["valid_at"], row["last_confirmed_at"], row["reference_count"]) == (None, None, 0)
    assert (row["tags"], row["metadata"], row["request_id"]) == (["travel"], {"a": [1]}, "r1")
    assert row["created_at"] == resources.clock()
    assert done.id.version == 7


async def test_a_new_rule_is_an_unproven_candidate(resources: Resources, rows: Rows) -> None:
    """Confidence 0.5, maturity candidate, no effectiveness before any evidence."""
    await remember.rule(resources, NewRule(content="Ask before deleting."))
    (row,) = rows("rules")
    assert (row["confidence"], row["maturity"], row["effectiveness_score"]) == (0.5, "candidate", None)
    assert (row["scope"], row["decay_rate"], row["validity"]) == ("global", 0.008, "active")


async def test_an_episode_has_two_times(resources: Resources, rows: Rows) -> None:
    """When it happened is the caller's, when it was stored is the clock's, and its end follows from the latter."""
    await remember.episode(resources, NewEpisode(content="They met.", butler="health", observed_at=AT))
    await remember.episode(resources, NewEpisode(content="They met again.", butler="health", session_id="s1"))
    first, second = sorted(rows("episodes"), key=lambda row: row["content"], reverse=True)
    assert (first["observed_at"], first["created_at"]) == (AT, resources.clock())
    assert second["observed_at"] == resources.clock()
    assert first["expires_at"] == resources.clock() + timedelta(days=7)
    assert (second["session_id"], second["consolidation_status"], second["butler"]) == ("s1", "pending", "health")


async def test_the_time_an_episode_is_kept_is_a_setting(resources: Resources, rows: Rows) -> None:
    """Two days instead of seven when the settings say so."""
    shorter = replace(
        resources, settings=resources.settings.model_copy(update={"lifecycle": Lifecycle(eden=EdenTier(ttl_days=2))})
    )
    await remember.episode(shorter, NewEpisode(content="They met.", butler="health"))
    assert rows("episodes")[0]["expires_at"] == resources.clock() + timedelta(days=2)


async def test_the_same_value_confirms(resources: Resources, clock: Any, rows: Rows) -> None:
    """An equal property makes no twin: the known fact is confirmed now."""
    first = await remember.fact(resources, city())
    clock.move(days=10)
    again = await remember.fact(resources, city(" Lisbon "))
    (row,) = rows("facts")
    assert (again.outcome, again.id) == ("confirmed", first.id)
    assert row["last_confirmed_at"] == clock.now
    assert [event["event_type"] for event in sorted(rows("memory_events"), key=lambda e: e["seq"])] == [
        "fact.created",
        "fact.confirmed",
    ]


async def test_another_value_supersedes(resources: Resources, rows: Rows) -> None:
    """Old superseded, new points to it, a link joins them, one event each in one group."""
    old = await remember.fact(resources, city("Lisbon"))
    new = await remember.fact(resources, city("Porto"))
    found = {row["content"]: row for row in rows("facts")}
    assert (new.outcome, new.superseded_ref) == ("superseded", old.ref)
    assert (found["Lisbon"]["validity"], found["Porto"]["validity"]) == ("superseded", "active")
    assert found["Porto"]["supersedes_id"] == old.id
    (link,) = rows("memory_links")
    assert (link["source_id"], link["relation"], link["target_id"]) == (new.id, "supersedes", old.id)
    events = sorted(rows("memory_events"), key=lambda event: event["seq"])
    assert [event["event_type"] for event in events] == ["fact.created", "fact.superseded", "fact.created"]
    assert events[1]["group_id"] == events[2]["group_id"] is not None
    assert [event["seq"] for event in events] == [1, 2, 3]


async def test_a_fading_fact_is_superseded_and_restated_too(resources: Resources, owner: Any, rows: Rows) -> None:
    """Live means active or fading: uniqueness covers both, and a restated one is active again."""
    old = await remember.fact(resources, city("Lisbon"))
    owner.execute("UPDATE memory.facts SET validity = 'fading' WHERE id = %s", [old.id])
    assert (await remember.fact(resources, city("Lisbon"))).outcome == "confirmed"
    assert rows("facts")[0]["validity"] == "active"
    owner.execute("UPDATE memory.facts SET validity = 'fading' WHERE id = %s", [old.id])
    assert (await remember.fact(resources, city("Porto"))).outcome == "superseded"


async def test_a_value_that_was_left_behind_can_come_back(resources: Resources, rows: Rows) -> None:
    """Lisbon, Porto, Lisbon: a line of three, the last one live."""
    for name in ("Lisbon", "Porto", "Lisbon"):
        done = await remember.fact(resources, city(name))
    seen = await get.get(resources, "fact", done.ref)
    assert [(fact.content, fact.validity) for fact in seen.chain] == [
        ("Lisbon", Validity.SUPERSEDED),
        ("Porto", Validity.SUPERSEDED),
        ("Lisbon", Validity.ACTIVE),
    ]


async def test_a_retracted_fact_is_not_revived_by_saying_it_again(resources: Resources, rows: Rows) -> None:
    """What a person withdrew stays withdrawn; saying it again is a new fact."""
    first = await remember.fact(resources, city())
    await forget.forget(resources, "fact", first.ref)
    again = await remember.fact(resources, city())
    assert (again.outcome, again.id != first.id) == ("created", True)


async def test_events_coexist(resources: Resources, rows: Rows) -> None:
    """Meals and weights never supersede one another, nor the property of the same name."""
    property_fact = await remember.fact(resources, city("the usual place"))
    for day, content in ((1, "72 kg"), (2, "71 kg"), (2, "71.5 kg")):
        done = await remember.fact(resources, city(content, valid_at=AT + timedelta(days=day)))
        assert done.outcome == "created"
    assert {row["validity"] for row in rows("facts")} == {"active"}
    assert len(rows("facts")) == 4
    assert (await get.get(resources, "fact", property_fact.ref)).memory.validity == "active"


async def test_the_same_event_restates(resources: Resources, rows: Rows) -> None:
    """Equal in content and time, in whatever zone it is written, is the same occurrence."""
    first = await remember.fact(resources, city("72 kg", valid_at=AT))
    again = await remember.fact(resources, city("72 kg", valid_at=AT.astimezone(UTC).replace(tzinfo=UTC)))
    assert (again.outcome, again.id, len(rows("facts"))) == ("confirmed", first.id, 1)


async def test_scopes_keep_properties_apart(resources: Resources, rows: Rows) -> None:
    """The same property in two scopes is two facts."""
    await remember.fact(resources, city("Lisbon"))
    done = await remember.fact(resources, city("Porto", scope="health"))
    assert done.outcome == "created"
    assert {row["scope"]: row["validity"] for row in rows("facts")} == {"global": "active", "health": "active"}


async def test_spellings_of_a_name_meet_and_are_kept(resources: Resources, rows: Rows) -> None:
    """Favorite Color, favorite-color and a decomposed form are one property; the label is as it was written."""
    await remember.fact(resources, NewFact(subject="Zoë", predicate="Favorite Color", content="green"))
    done = await remember.fact(resources, NewFact(subject="ZOE\u0308", predicate="favorite-color", content="blue"))
    assert done.outcome == "superseded"
    labels = {row["content"]: (row["subject_label"], row["predicate_label"]) for row in rows("facts")}
    assert labels == {"green": ("Zoë", "Favorite Color"), "blue": ("ZOË", "favorite-color")}


async def test_several_values_hold_together_when_the_predicate_names_them(resources: Resources, rows: Rows) -> None:
    """allergic_to:peanuts does not wipe out allergic_to:shellfish."""
    for what in ("peanuts", "shellfish"):
        await remember.fact(
            resources, NewFact(subject="User", predicate=f"allergic_to:{what}", content=f"Allergic: {what}")
        )
    assert [row["validity"] for row in rows("facts")] == ["active", "active"]


async def test_the_same_rule_again_confirms(resources: Resources, clock: Any, rows: Rows) -> None:
    """A rule has no twin in its scope; in another scope it is another rule."""
    first = await remember.rule(resources, NewRule(content="Ask first."))
    clock.move(days=1)
    again = await remember.rule(resources, NewRule(content="Ask first."))
    other = await remember.rule(resources, NewRule(content="Ask first.", scope="health"))
    assert (again.outcome, again.id, other.outcome) == ("confirmed", first.id, "created")
    confirmed = next(row for row in rows("rules") if row["id"] == first.id)
    assert confirmed["last_confirmed_at"] == clock.now


async def test_twenty_writers_at_once_leave_one_live_fact(resources: Resources, rows: Rows) -> None:
    """No raw error, one live fact, and a chain that holds every value once."""
    done = await asyncio.gather(*(remember.fact(resources, city(f"city {n}")) for n in range(20)))
    found = rows("facts")
    assert [row["validity"] for row in found].count("active") == 1
    assert [row["validity"] for row in found].count("superseded") == 19
    assert sorted(one.outcome for one in done) == ["created", *["superseded"] * 19]
    successors = {row["supersedes_id"]: row["id"] for row in found}
    place, line = successors[None], []
    while place:
        line.append(place)
        place = successors.get(place)
    assert len(line) == len(set(line)) == 20
    assert len({row["ref"] for row in found}) == 20
    assert sorted(event["seq"] for event in rows("memory_events")) == list(range(1, 40))


async def test_twenty_writers_of_the_same_value_make_one_fact(resources: Resources, rows: Rows) -> None:
    """One stores, nineteen confirm."""
    done = await asyncio.gather(*(remember.fact(resources, city()) for _ in range(20)))
    assert sorted(one.outcome for one in done) == [*["confirmed"] * 19, "created"]
    assert len(rows("facts")) == 1


async def test_evidence_is_linked(resources: Resources, rows: Rows) -> None:
    """A fact and a rule point to the episode they came from, by reference or id, also when they restate."""
    seen = await remember.episode(resources, NewEpisode(content="She said Lisbon.", butler="main"))
    made = await remember.fact(resources, city(source_episode=f"episode:{seen.ref}"))
    await remember.rule(resources, NewRule(content="Ask first.", source_episode=str(seen.id)))
    later = await remember.episode(resources, NewEpisode(content="She said Lisbon again.", butler="main"))
    await remember.fact(resources, city(source_episode=later.ref))
    links = {(row["source_id"], row["target_id"]) for row in rows("memory_links") if row["relation"] == "derived_from"}
    assert {(made.id, seen.id), (made.id, later.id)} < links
    assert len(links) == 3
    assert rows("facts")[0]["source_episode_id"] == seen.id


async def test_evidence_that_is_not_there_is_refused(
    resources: Resources, agent: Callable[..., Caller], everything: Everything
) -> None:
    """An unknown episode, or one of another butler, is no evidence, and nothing is stored."""
    hidden = await remember.episode(resources, NewEpisode(content="Secret.", butler="finance"))
    before = everything()
    for given in ("zzzz", f"episode:{hidden.ref}", str(hidden.id)):
        with pytest.raises(NotFound):
            await remember.fact(resources, city(source_episode=given), agent("health"))
    assert everything() == before


@pytest.mark.parametrize("scope", ["finance", "main"])
async def test_an_agent_writes_global_and_its_own_scope_only(
    resources: Resources, agent: Callable[..., Caller], scope: str, everything: Everything
) -> None:
    """Another's scope is denied, and nothing is stored."""
    for allowed in ("global", "health"):
        await remember.fact(resources, city(scope=allowed), agent("health"))
    before = everything()
    with pytest.raises(PermissionDenied):
        await remember.fact(resources, city("Porto", scope=scope), agent("health"))
    with pytest.raises(PermissionDenied):
        await remember.rule(resources, NewRule(content="x", scope=scope), agent("health"))
    with pytest.raises(PermissionDenied):
        await remember.episode(resources, NewEpisode(content="x", butler=scope), agent("health"))
    assert everything() == before


BAD: dict[str, Any] = {
    "an empty fact": lambda b: remember.fact(b, city("")),
    "a fact with a NUL": lambda b: remember.fact(b, city("a\x00b")),
    "a lone surrogate": lambda b: remember.fact(b, city("\udc80")),
    "an unknown permanence": lambda b: remember.fact(b, city(permanence="eternal")),
    "importance out of range": lambda b: remember.fact(b, city(importance=11)),
    "a naive time": lambda b: remember.fact(b, city(valid_at=datetime(2026, 1, 1))),  # noqa: DTZ001
    "too many tags": lambda b: remember.rule(b, NewRule(content="x", tags=tuple(map(str, range(21))))),
    "a malformed scope": lambda b: remember.rule(b, NewRule(content="x", scope="a/b")),
    "NaN in metadata": lambda b: remember.episode(
        b, NewEpisode(content="x", butler="main", metadata={"x": float("nan")})
    ),
    "a malformed episode id": lambda b: remember.fact(b, city(source_episode="the last one")),
    "a broken request id": lambda b: remember.fact(
        b, city(), replace(b.local_caller(), lineage=Lineage(request_id="\x00"))
    ),
    "a broken session id with a mark": lambda b: feedback.mark(
        b, "zzzz", Outcome.HELPFUL, replace(b.local_caller(), lineage=Lineage(session_id="\x00"))
    ),
    "an episode confirmed": lambda b: feedback.confirm(b, "episode", "k3f7"),
    "a question that is empty": lambda b: search.search(b, Question(query=" ")),
    "an unknown type": lambda b: search.search(b, Question(query="x", types=("memory",))),
    "an unknown mode": lambda b: search.search(b, Question(query="x", mode="psychic")),
    "a malformed id": lambda b: get.get(b, "fact", "not-an-id"),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
async def test_bad_input_changes_nothing(resources: Resources, call: Any, everything: Everything) -> None:
    """It is an error that says what to do, and every row and the log stay as they were."""
    await remember.fact(resources, city("Faro"))
    before = everything()
    with pytest.raises(MemoryButlerError) as caught:
        await call(resources)
    assert caught.value.error_class in ("validation_error", "not_found")
    assert everything() == before


async def test_a_broken_lineage_is_bad_input_with_a_mark_too(resources: Resources) -> None:
    """The session of a mark is checked before it reaches the database."""
    done = await remember.rule(resources, NewRule(content="Ask first."))
    caller = replace(resources.local_caller(), lineage=Lineage(session_id="a\x00"))
    with pytest.raises(InvalidInput, match="session_id"):
        await feedback.mark(resources, done.ref, Outcome.HELPFUL, caller)


LANGUAGES = {
    "Chinese": ("喜欢的颜色是蓝色", "蓝色"),
    "Japanese": ("好きな食べ物はラーメンです", "ラーメン"),
    "Arabic": ("اللون المفضل هو الأزرق", "الأزرق"),
    "German": ("Die Lieblingsfarbe ist Grün", "Lieblingsfarbe"),
    "Russian": ("Любимый цвет синий", "синий"),
    "emoji": ("party 🎉🎂 tonight", "party 🎉"),
}


@pytest.mark.parametrize(("content", "query"), LANGUAGES.values(), ids=LANGUAGES)
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
async def test_any_language_is_stored_and_found(real_resources: Resources, content: str, query: str, mode: str) -> None:
    """A memory in any language comes back whole, by each mode, before an unrelated one."""
    wanted = await remember.fact(real_resources, NewFact(subject="用户", predicate="Größe", content=content))
    await remember.fact(
        real_resources, NewFact(subject="car", predicate="engine", content="needs more oil every winter")
    )
    answer = await search.search(real_resources, Question(query=query, mode=mode))
    assert answer.results[0].hit.id == wanted.id
    assert answer.results[0].hit.content == content


async def test_references_are_given_once_and_differ(resources: Resources, rows: Rows) -> None:
    """Memories of all types share one sequence of references."""
    done: list[Stored] = []
    for n in range(10):
        done.append(await remember.fact(resources, city(f"{n}", valid_at=AT)))
        done.append(await remember.rule(resources, NewRule(content=f"rule {n}")))
        done.append(await remember.episode(resources, NewEpisode(content=f"episode {n}", butler="main")))
    assert len({one.ref for one in done}) == 30
    assert all(len(one.ref) == 4 for one in done)
    assert all(isinstance(one.id, UUID) for one in done)


def test_content_is_known_by_its_hash() -> None:
    """Equal texts have equal hashes, others not."""
    assert content_hash("a") == content_hash("a") != content_hash("b")
    assert len(content_hash("a")) == 32
