"""Generations: what callers store into them, find in them and are told about them, and what moves a memory up."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.errors import Conflict, InvalidInput, PermissionDenied
from memory_butler.models import (
    BriefRequest,
    Caller,
    MemoryType,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Outcome,
    Permanence,
    Question,
    Stored,
    Tier,
)
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.system.stats import stats
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
Agent = Callable[..., Caller]


def living(resources: Resources, **given: Any) -> Resources:
    """The same butler with other settings of the lifecycle, by the way they come in."""
    found = load_settings(home=resources.settings.home, tenant=resources.settings.tenant, **given)
    return replace(resources, settings=found)


async def note(of: Resources, content: str, caller: Caller | None = None, /, **given: Any) -> Stored:
    return await remember.store(of, NewNote(content=content, **given), caller)


async def found(of: Resources, query: str, /, **given: Any) -> set[str]:
    answer = await search.search(of, Question(**{"query": query, "min_relevance": 0.0, **given}), bump=False)
    return {entry.hit.content for entry in answer.results}


# --- storing --------------------------------------------------------------------------------------


async def test_a_note_is_an_episode_unless_a_tier_is_named(resources: Resources, agent: Agent, rows: Rows) -> None:
    """It belongs to the caller and to its session, and keeps importance and tags."""
    caller = agent("health", session_id="s-9", request_id="r-1")
    done = await note(resources, " Slept well. ", caller, tags=("Sleep",), importance=7)
    assert (done.type, done.outcome) == (MemoryType.EPISODE, "created")
    (row,) = rows("episodes")
    assert (row["butler"], row["session_id"], row["request_id"]) == ("health", "s-9", "r-1")
    assert (row["content"], row["tags"], row["importance"]) == ("Slept well.", ["sleep"], 7)


@pytest.mark.parametrize(
    ("word", "tier", "permanence"),
    [
        ("mid", Tier.MID, "standard"),
        ("Mid-Term", Tier.MID, "standard"),
        ("long", Tier.LONG, "stable"),
        ("long_term", Tier.LONG, "stable"),
    ],
)
async def test_a_note_for_longer_is_a_fact(
    resources: Resources, agent: Agent, rows: Rows, *, word: str, tier: Tier, permanence: str
) -> None:
    """Its subject is the butler, its predicate names the content, and its permanence puts it into the tier."""
    done = await note(
        resources, "The boiler is serviced in May.", agent("home"), tier=word, tags=("house",), importance=3
    )
    (row,) = rows("facts")
    assert (done.type, row["id"], row["source_butler"]) == (MemoryType.FACT, done.id, "home")
    assert (row["subject"], row["predicate"]) == ("home", f"note:{row['content_hash'].hex()[:12]}")
    assert (row["permanence"], row["scope"], row["tags"], row["importance"]) == (permanence, "global", ["house"], 3)
    assert (await get.get(resources, "fact", done.ref, agent("home"))).tier is tier


async def test_the_same_note_again_restates_it_and_another_stands_beside_it(resources: Resources, clock: Any) -> None:
    """Equal content confirms what is there, whatever tier is named; other content never replaces it."""
    first = await note(resources, "Bins go out on Tuesday.", tier="mid")
    clock.move(days=3)
    again = await note(resources, "Bins go out on Tuesday. ", tier="long")
    other = await note(resources, "Bins go out on Wednesday.", tier="mid")
    assert (again.id, again.outcome, other.outcome) == (first.id, "confirmed", "created")
    kept = await get.get(resources, "fact", first.ref)
    assert (kept.tier, getattr(kept.memory, "last_confirmed_at", None)) == (Tier.MID, clock.now)
    assert await found(resources, "bins", tier="mid") == {"Bins go out on Tuesday.", "Bins go out on Wednesday."}


async def test_notes_of_two_butlers_stand_side_by_side(resources: Resources, agent: Agent, rows: Rows) -> None:
    """An administrator may keep a note for another butler, whose note it then is; an agent may not."""
    await note(resources, "The key is under the mat.", agent("home"), tier="mid")
    await note(resources, "The key is under the mat.", butler="garden", tier="mid")
    assert {(row["subject"], row["source_butler"]) for row in rows("facts")} == {("home",) * 2, ("garden",) * 2}
    await note(resources, "Dug up the mat.", butler="garden")
    assert rows("episodes")[0]["butler"] == "garden"
    with pytest.raises(PermissionDenied):
        await note(resources, "x", agent("home"), butler="garden")


async def test_a_key_makes_a_repeated_note_harmless(resources: Resources, agent: Agent, everything: Everything) -> None:
    """The first answer comes back, from another session too; for another note or tier the key is a conflict."""
    for tier in ("eden", "mid"):
        key = f"k-{tier}"
        first = await note(
            resources, "Fed the cat.", agent(session_id="a"), tier=tier, idempotency_key=key, tags=("Cat",)
        )
        before = everything()
        again = await note(
            resources, "Fed the cat.", agent(session_id="b"), tier=tier, idempotency_key=key, tags=("cat",)
        )
        assert (again, everything()) == (first, before)
        with pytest.raises(Conflict):
            await note(resources, "Fed the dog.", agent(), tier=tier, idempotency_key=key)
        with pytest.raises(Conflict):
            await note(resources, "Fed the cat.", agent(), tier="long", idempotency_key=key, tags=("other",))
        assert everything() == before


@pytest.mark.parametrize(
    "given",
    [
        {"content": "x", "tier": "forever"},
        {"content": " "},
        {"content": "x" * 4001, "tier": "mid"},
        {"content": "x" * 20_001},
        {"content": "x", "importance": 11},
        {"content": "x", "butler": "No/Slash"},
        {"content": "x", "tags": ("t",) * 21, "tier": "long"},
    ],
    ids=lambda given: str(given)[:30],
)
async def test_a_note_that_cannot_be_is_refused(
    resources: Resources, everything: Everything, given: dict[str, Any]
) -> None:
    """Bad input is an error and changes nothing."""
    before = everything()
    with pytest.raises(InvalidInput):
        await remember.store(resources, NewNote(**given))
    assert everything() == before


async def test_a_notes_hash_is_in_no_word_and_in_no_briefing(resources: Resources, rows: Rows) -> None:
    """Only its own words and its subject's name are indexed and shown: a hash would make all notes a little alike."""
    await note(resources, "The attic is insulated.", tier="long")
    assert {row["lexeme"] for row in rows("postings")} == {"main", "note", "attic", "insul", "#main"}
    (fact,) = rows("facts")
    block = await brief.brief(resources, BriefRequest(trigger_prompt="Is the attic insulated?", butler="main"))
    assert f"- main · note: The attic is insulated. [fact:{fact['ref']}]" in block.text


# --- finding --------------------------------------------------------------------------------------


async def stock(resources: Resources) -> dict[str, set[str]]:
    """A memory of every kind; returns what is in each tier."""
    held: dict[str, set[str]] = {tier: set() for tier in Tier}
    for permanence in Permanence:
        content = f"tea {permanence}"
        await remember.fact(resources, NewFact(subject="u", predicate=content, content=content, permanence=permanence))
        held[tier_of(MemoryType.FACT, permanence=permanence)].add(content)
    marks = {"candidate": [], "established": ["helpful"] * 5, "anti_pattern": ["harmful"] * 3}
    for maturity, outcomes in marks.items():
        rule = await remember.rule(resources, NewRule(content=f"tea {maturity}"))
        for outcome in outcomes:
            await feedback.mark(resources, rule.ref, Outcome(outcome))
        held[tier_of(MemoryType.RULE, maturity=maturity)].add(f"tea {maturity}")
    await remember.episode(resources, NewEpisode(content="tea spilled", butler="main"))
    held[Tier.EDEN].add("tea spilled")
    return held


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_a_tier_is_searched_alone(resources: Resources, mode: str) -> None:
    """Every mode returns what is in the tier and nothing else, and each result says its tier."""
    held = await stock(resources)
    for tier, contents in held.items():
        answer = await search.search(
            resources, Question(query="tea", tier=tier, mode=mode, limit=50, min_relevance=0), bump=False
        )
        assert {entry.hit.content for entry in answer.results} == contents
    assert await found(resources, "tea", mode=mode, limit=50) == set().union(*held.values())


async def test_a_tier_and_types_narrow_down_together(resources: Resources) -> None:
    """The types asked for, as far as the tier holds them."""
    held = await stock(resources)
    facts = {f"tea {permanence}" for permanence in Permanence}
    assert await found(resources, "tea", tier="long-term", types=("facts", "episode")) == held["long"] & facts
    assert await found(resources, "tea", tier="mid", types=("rule",)) == held["mid"] - facts
    with pytest.raises(InvalidInput, match="eden holds no rules"):
        await search.search(resources, Question(query="tea", tier="short-term", types=("rules",)))
    with pytest.raises(InvalidInput, match="eden holds no facts and no rules"):
        await search.recall(resources, Question(query="tea", tier="eden"))


async def test_the_filter_stands_before_the_limit(resources: Resources) -> None:
    """A few long-term memories are found behind any number of nearer mid-term ones."""
    few = replace(
        resources,
        settings=resources.settings.model_copy(
            update={"retrieval": resources.settings.retrieval.model_copy(update={"candidates": 10})}
        ),
    )
    for n in range(60):
        await remember.fact(few, NewFact(subject="u", predicate=f"p{n}", content="green tea"))
    await remember.fact(few, NewFact(subject="u", predicate="q", content="tea, once", permanence="stable"))
    for mode in ("semantic", "keyword"):
        assert await found(few, "green tea", tier="long", mode=mode) == {"tea, once"}


# --- ranking --------------------------------------------------------------------------------------


async def test_what_a_rule_has_earned_decides_among_equals(resources: Resources, clock: Any) -> None:
    """Of rules in the same words, equally fresh and sure, the proven is first, then warning, established, candidate."""
    marks = {
        "candidate": [],
        "established": [Outcome.HELPFUL] * 5,
        "anti_pattern": [Outcome.HARMFUL] * 3,
        "proven": [Outcome.HELPFUL] * 15,
    }
    done = {
        maturity: await remember.rule(
            resources, NewRule(content="Warm the pot first", scope=maturity.replace("_", "-"))
        )
        for maturity in marks
    }
    clock.move(days=31)
    for maturity, outcomes in marks.items():
        for outcome in outcomes:
            await feedback.mark(resources, done[maturity].ref, outcome)
        await feedback.confirm(resources, "rule", done[maturity].ref)
    answer = await search.search(resources, Question(query="warm the pot", scope="*"), bump=False)
    assert [entry.hit.maturity for entry in answer.results] == ["proven", "anti_pattern", "established", "candidate"]
    assert [entry.parts.importance for entry in answer.results] == [0.9, 0.8, 0.7, 0.4]
    others = {(e.parts.relevance, e.parts.recency, e.parts.effective_confidence) for e in answer.results}
    assert len(others) == 1


# --- references -----------------------------------------------------------------------------------


async def test_a_reference_is_counted_once_a_call_and_with_its_session(
    resources: Resources, agent: Agent, clock: Any, rows: Rows
) -> None:
    """Search, recall and get each count what they return once, and remember in which session that was."""
    fact = await note(resources, "Tea is in the tin.", agent(), tier="mid")
    other = await note(resources, "Tea was drunk.", agent())
    moments = []
    for session in ("monday", "tuesday"):
        clock.move(days=1)
        moments.append(clock.now)
        caller = agent(session_id=session)
        await search.search(resources, Question(query="tea"), caller)
        await search.recall(resources, Question(query="tea"), caller)
        await get.get(resources, "fact", fact.ref, caller)
    listed = [(row["memory_id"], row["session_id"], row["referenced_at"]) for row in rows("memory_references")]
    assert sorted(entry[1:] for entry in listed if entry[0] == fact.id) == sorted(
        (session, moment) for session, moment in zip(("monday", "tuesday"), moments, strict=True) for _ in range(3)
    )
    assert [entry[1] for entry in sorted(listed, key=str) if entry[0] == other.id] == ["monday", "tuesday"]
    assert len({(row["memory_id"], row["seq"]) for row in rows("memory_references")}) == len(listed) == 8
    assert (rows("facts")[0]["reference_count"], rows("episodes")[0]["reference_count"]) == (6, 2)


async def test_reads_that_are_not_an_agents_count_nothing(
    resources: Resources, everything: Everything, rows: Rows
) -> None:
    """Briefings, statistics and an administrator's looks leave no trace at all."""
    fact = await note(resources, "Tea is in the tin.", tier="mid")
    before = everything()
    await brief.brief(resources, BriefRequest(trigger_prompt="Where is the tea?", butler="main"))
    await stats(resources)
    assert (await search.search(resources, Question(query="tea"), bump=False)).results
    assert (await search.recall(resources, Question(query="tea"), bump=False)).results
    assert (await get.get(resources, "fact", fact.ref, bump=False)).memory.id == fact.id
    assert everything() == before
    assert rows("memory_references") == []


# --- statistics -----------------------------------------------------------------------------------


async def test_statistics_say_how_full_and_how_used_each_tier_is(resources: Resources, clock: Any) -> None:
    """Count, capacity, oldest and references, of live memories only."""
    begun = clock.now
    await note(resources, "tea one", tier="mid")
    clock.move(hours=1)
    gone = await note(resources, "tea two", tier="mid")
    await note(resources, "tea three")
    await search.search(resources, Question(query="tea", mode="keyword"))
    await search.search(resources, Question(query="tea", mode="keyword", tier="mid"))
    await forget.forget(resources, "fact", gone.ref)
    tiers = (await stats(resources))["tiers"]
    assert tiers == {
        "eden": {"count": 1, "capacity": 50_000, "oldest": clock.now.isoformat(), "references": 1},
        "mid": {"count": 1, "capacity": 100_000, "oldest": begun.isoformat(), "references": 2},
        "long": {"count": 0, "capacity": 100_000, "oldest": None, "references": 0},
    }


async def test_capacities_are_those_of_the_butlers_in_reach(resources: Resources, agent: Agent) -> None:
    """For one butler its own, for several together, and each apart, the fullest first."""
    small = {"eden": {"capacity": 4}, "mid": {"capacity": 2}, "long": {"capacity": 5}}
    lived = living(resources, butlers={"coder": {"lifecycle": small}}, lifecycle={"mid": {"capacity": 100}})
    await note(lived, "one", agent("coder"), tier="mid")
    await note(lived, "two", agent("health"), tier="mid")
    await note(lived, "three", agent("health"), tier="mid")
    whole = await stats(lived)
    assert (whole["tiers"]["mid"]["count"], whole["tiers"]["mid"]["capacity"]) == (3, 102)
    assert list(whole["tiers_by_butler"]) == ["coder", "health"]
    assert {
        name: (tiers["mid"]["count"], tiers["mid"]["capacity"]) for name, tiers in whole["tiers_by_butler"].items()
    } == {"coder": (1, 2), "health": (2, 100)}
    own = await stats(lived, None, agent("coder"))
    assert list(own["tiers_by_butler"]) == ["coder"]
    assert own["tiers_by_butler"]["coder"]["eden"]["capacity"] == 4
    scoped = await stats(lived, "coder", agent("coder"))
    assert (scoped["tiers"]["long"], "tiers_by_butler" in scoped) == (
        {"count": 0, "capacity": 5, "oldest": None, "references": 0},
        False,
    )


async def test_of_many_butlers_the_fullest_are_shown(resources: Resources) -> None:
    """The list is bounded; the sums are of all."""
    for n in range(23):
        for m in range(1 + (n == 17)):
            await note(resources, f"note {m}", butler=f"b{n}")
    found_ = await stats(resources)
    assert found_["tiers"]["eden"]["count"] == 24
    assert found_["tiers"]["eden"]["capacity"] == 23 * 50_000
    assert (len(found_["tiers_by_butler"]), next(iter(found_["tiers_by_butler"]))) == (20, "b17")


async def test_statistics_say_what_is_first_in_line(resources: Resources, agent: Agent, clock: Any) -> None:
    """What enough sessions referred to and is old enough, by the thresholds of its butler."""
    sooner = {"eden": {"first_after_sessions": 2, "first_after_hours": 1}}
    lived = living(resources, butlers={"coder": {"lifecycle": sooner}})
    for name in ("coder", "health"):
        await note(lived, "tea was made", agent(name))
        for session in ("a", "b", "b"):
            await search.search(lived, Question(query="tea"), agent(name, session_id=session))
    clock.move(hours=1, seconds=-1)
    assert (await stats(lived))["backlog"]["first_in_line"] == 0
    clock.move(seconds=1)
    assert (await stats(lived))["backlog"]["first_in_line"] == 1
    await search.search(lived, Question(query="tea"), agent("health", session_id="c"))
    assert (await stats(lived))["backlog"]["first_in_line"] == 1
    clock.move(hours=5)
    assert (await stats(lived))["backlog"]["first_in_line"] == 2
    assert (await stats(lived, None, agent("health")))["backlog"]["first_in_line"] == 1


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "days"),
    [
        ({}, 7),
        ({"lifecycle": {"eden": {"ttl_days": 2.5}}}, 2.5),
        ({"lifecycle": {"preset": "generational"}}, 1),
        ({"lifecycle": {"preset": "generational"}, "butlers": {"coder": {"lifecycle": {"eden": {"ttl_days": 3}}}}}, 3),
        ({"butlers": {"coder": {"lifecycle": {"preset": "generational"}}}}, 1),
        ({"butlers": {"other": {"lifecycle": {"preset": "generational"}}}}, 7),
    ],
)
async def test_an_episode_lives_as_long_as_its_butlers_settings_say(
    resources: Resources, clock: Any, rows: Rows, given: dict[str, Any], days: float
) -> None:
    """Time to live comes from the general setting, the preset or the butler's own, and reads keep to it."""
    lived = living(resources, **given)
    await note(lived, "Wrote a test.", butler="coder")
    assert rows("episodes")[0]["expires_at"] - clock.now == timedelta(days=days)
    clock.move(days=days, seconds=-1)
    assert await found(lived, "test", tier="eden") == {"Wrote a test."}
    clock.move(seconds=1)
    assert await found(lived, "test", tier="eden") == set()
