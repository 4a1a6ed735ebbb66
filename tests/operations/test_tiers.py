"""Generations: what callers store into them, find in them and are told about them, and what moves a memory up."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput, PermissionDenied
from memory_butler.models import (
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
from memory_butler.operations import brief, forget, judge, look, recall, remember
from memory_butler.operations.report import report
from memory_butler.policy.tiers import tier_of
from memory_butler.settings import load_settings

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
Agent = Callable[..., Caller]


def living(butler: Butler, **given: Any) -> Butler:
    """The same butler with other settings of the lifecycle, by the way they come in."""
    found = load_settings(home=butler.settings.home, tenant=butler.settings.tenant, **given)
    return replace(butler, settings=found)


async def note(of: Butler, content: str, caller: Caller | None = None, /, **given: Any) -> Stored:
    return await remember.store(of, NewNote(content=content, **given), caller)


async def found(of: Butler, query: str, /, **given: Any) -> set[str]:
    answer = await recall.search(of, Question(**{"query": query, "min_relevance": 0.0, **given}), bump=False)
    return {entry.hit.content for entry in answer.results}


# --- storing --------------------------------------------------------------------------------------


async def test_a_note_is_an_episode_unless_a_tier_is_named(butler: Butler, agent: Agent, rows: Rows) -> None:
    """It belongs to the caller and to its session, and keeps importance and tags."""
    caller = agent("health", session_id="s-9", request_id="r-1")
    done = await note(butler, " Slept well. ", caller, tags=("Sleep",), importance=7)
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
    butler: Butler, agent: Agent, rows: Rows, *, word: str, tier: Tier, permanence: str
) -> None:
    """Its subject is the butler, its predicate names the content, and its permanence puts it into the tier."""
    done = await note(butler, "The boiler is serviced in May.", agent("home"), tier=word, tags=("house",), importance=3)
    (row,) = rows("facts")
    assert (done.type, row["id"], row["source_butler"]) == (MemoryType.FACT, done.id, "home")
    assert (row["subject"], row["predicate"]) == ("home", f"note:{row['content_hash'].hex()[:12]}")
    assert (row["permanence"], row["scope"], row["tags"], row["importance"]) == (permanence, "global", ["house"], 3)
    assert (await look.look(butler, "fact", done.ref, agent("home"))).tier is tier


async def test_the_same_note_again_restates_it_and_another_stands_beside_it(butler: Butler, clock: Any) -> None:
    """Equal content confirms what is there, whatever tier is named; other content never replaces it."""
    first = await note(butler, "Bins go out on Tuesday.", tier="mid")
    clock.move(days=3)
    again = await note(butler, "Bins go out on Tuesday. ", tier="long")
    other = await note(butler, "Bins go out on Wednesday.", tier="mid")
    assert (again.id, again.outcome, other.outcome) == (first.id, "confirmed", "created")
    kept = await look.look(butler, "fact", first.ref)
    assert (kept.tier, getattr(kept.memory, "last_confirmed_at", None)) == (Tier.MID, clock.now)
    assert await found(butler, "bins", tier="mid") == {"Bins go out on Tuesday.", "Bins go out on Wednesday."}


async def test_notes_of_two_butlers_stand_side_by_side(butler: Butler, agent: Agent, rows: Rows) -> None:
    """An administrator may keep a note for another butler, whose note it then is; an agent may not."""
    await note(butler, "The key is under the mat.", agent("home"), tier="mid")
    await note(butler, "The key is under the mat.", butler="garden", tier="mid")
    assert {(row["subject"], row["source_butler"]) for row in rows("facts")} == {("home",) * 2, ("garden",) * 2}
    await note(butler, "Dug up the mat.", butler="garden")
    assert rows("episodes")[0]["butler"] == "garden"
    with pytest.raises(PermissionDenied):
        await note(butler, "x", agent("home"), butler="garden")


async def test_a_key_makes_a_repeated_note_harmless(butler: Butler, agent: Agent, everything: Everything) -> None:
    """The first answer comes back, from another session too; for another note or tier the key is a conflict."""
    for tier in ("eden", "mid"):
        key = f"k-{tier}"
        first = await note(butler, "Fed the cat.", agent(session_id="a"), tier=tier, idempotency_key=key, tags=("Cat",))
        before = everything()
        again = await note(butler, "Fed the cat.", agent(session_id="b"), tier=tier, idempotency_key=key, tags=("cat",))
        assert (again, everything()) == (first, before)
        with pytest.raises(Conflict):
            await note(butler, "Fed the dog.", agent(), tier=tier, idempotency_key=key)
        with pytest.raises(Conflict):
            await note(butler, "Fed the cat.", agent(), tier="long", idempotency_key=key, tags=("other",))
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
async def test_a_note_that_cannot_be_is_refused(butler: Butler, everything: Everything, given: dict[str, Any]) -> None:
    """Bad input is an error and changes nothing."""
    before = everything()
    with pytest.raises(InvalidInput):
        await remember.store(butler, NewNote(**given))
    assert everything() == before


async def test_a_notes_hash_is_in_no_word_and_in_no_briefing(butler: Butler, rows: Rows) -> None:
    """Only its own words and its subject's name are indexed and shown: a hash would make all notes a little alike."""
    await note(butler, "The attic is insulated.", tier="long")
    assert {row["lexeme"] for row in rows("postings")} == {"main", "note", "attic", "insul", "#main"}
    (fact,) = rows("facts")
    block = await brief.brief(butler, brief.BriefRequest(trigger_prompt="Is the attic insulated?", butler="main"))
    assert f"- main · note: The attic is insulated. [fact:{fact['ref']}]" in block.text


# --- finding --------------------------------------------------------------------------------------


async def stock(butler: Butler) -> dict[str, set[str]]:
    """A memory of every kind; returns what is in each tier."""
    held: dict[str, set[str]] = {tier: set() for tier in Tier}
    for permanence in Permanence:
        content = f"tea {permanence}"
        await remember.fact(butler, NewFact(subject="u", predicate=content, content=content, permanence=permanence))
        held[tier_of(MemoryType.FACT, permanence=permanence)].add(content)
    marks = {"candidate": [], "established": ["helpful"] * 5, "anti_pattern": ["harmful"] * 3}
    for maturity, outcomes in marks.items():
        rule = await remember.rule(butler, NewRule(content=f"tea {maturity}"))
        for outcome in outcomes:
            await judge.mark(butler, rule.ref, Outcome(outcome))
        held[tier_of(MemoryType.RULE, maturity=maturity)].add(f"tea {maturity}")
    await remember.episode(butler, NewEpisode(content="tea spilled", butler="main"))
    held[Tier.EDEN].add("tea spilled")
    return held


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_a_tier_is_searched_alone(butler: Butler, mode: str) -> None:
    """Every mode returns what is in the tier and nothing else, and each result says its tier."""
    held = await stock(butler)
    for tier, contents in held.items():
        answer = await recall.search(
            butler, Question(query="tea", tier=tier, mode=mode, limit=50, min_relevance=0), bump=False
        )
        assert {entry.hit.content for entry in answer.results} == contents
    assert await found(butler, "tea", mode=mode, limit=50) == set().union(*held.values())


async def test_a_tier_and_types_narrow_down_together(butler: Butler) -> None:
    """The types asked for, as far as the tier holds them."""
    held = await stock(butler)
    facts = {f"tea {permanence}" for permanence in Permanence}
    assert await found(butler, "tea", tier="long-term", types=("facts", "episode")) == held["long"] & facts
    assert await found(butler, "tea", tier="mid", types=("rule",)) == held["mid"] - facts
    with pytest.raises(InvalidInput, match="eden holds no rules"):
        await recall.search(butler, Question(query="tea", tier="short-term", types=("rules",)))
    with pytest.raises(InvalidInput, match="eden holds no facts and no rules"):
        await recall.recall(butler, Question(query="tea", tier="eden"))


async def test_the_filter_stands_before_the_limit(butler: Butler) -> None:
    """A few long-term memories are found behind any number of nearer mid-term ones."""
    few = replace(
        butler,
        settings=butler.settings.model_copy(
            update={"retrieval": butler.settings.retrieval.model_copy(update={"candidates": 10})}
        ),
    )
    for n in range(60):
        await remember.fact(few, NewFact(subject="u", predicate=f"p{n}", content="green tea"))
    await remember.fact(few, NewFact(subject="u", predicate="q", content="tea, once", permanence="stable"))
    for mode in ("semantic", "keyword"):
        assert await found(few, "green tea", tier="long", mode=mode) == {"tea, once"}


# --- ranking --------------------------------------------------------------------------------------


async def test_what_a_rule_has_earned_decides_among_equals(butler: Butler, clock: Any) -> None:
    """Of rules in the same words, equally fresh and sure, the proven is first, then warning, established, candidate."""
    marks = {
        "candidate": [],
        "established": [Outcome.HELPFUL] * 5,
        "anti_pattern": [Outcome.HARMFUL] * 3,
        "proven": [Outcome.HELPFUL] * 15,
    }
    done = {
        maturity: await remember.rule(butler, NewRule(content="Warm the pot first", scope=maturity.replace("_", "-")))
        for maturity in marks
    }
    clock.move(days=31)
    for maturity, outcomes in marks.items():
        for outcome in outcomes:
            await judge.mark(butler, done[maturity].ref, outcome)
        await judge.confirm(butler, "rule", done[maturity].ref)
    answer = await recall.search(butler, Question(query="warm the pot", scope="*"), bump=False)
    assert [entry.hit.maturity for entry in answer.results] == ["proven", "anti_pattern", "established", "candidate"]
    assert [entry.parts.importance for entry in answer.results] == [0.9, 0.8, 0.7, 0.4]
    others = {(e.parts.relevance, e.parts.recency, e.parts.effective_confidence) for e in answer.results}
    assert len(others) == 1


# --- references -----------------------------------------------------------------------------------


async def test_a_reference_is_counted_once_a_call_and_with_its_session(
    butler: Butler, agent: Agent, clock: Any, rows: Rows
) -> None:
    """Search, recall and get each count what they return once, and remember in which session that was."""
    fact = await note(butler, "Tea is in the tin.", agent(), tier="mid")
    other = await note(butler, "Tea was drunk.", agent())
    moments = []
    for session in ("monday", "tuesday"):
        clock.move(days=1)
        moments.append(clock.now)
        caller = agent(session_id=session)
        await recall.search(butler, Question(query="tea"), caller)
        await recall.recall(butler, Question(query="tea"), caller)
        await look.look(butler, "fact", fact.ref, caller)
    listed = [(row["memory_id"], row["session_id"], row["referenced_at"]) for row in rows("memory_references")]
    assert sorted(entry[1:] for entry in listed if entry[0] == fact.id) == sorted(
        (session, moment) for session, moment in zip(("monday", "tuesday"), moments, strict=True) for _ in range(3)
    )
    assert [entry[1] for entry in sorted(listed, key=str) if entry[0] == other.id] == ["monday", "tuesday"]
    assert len({(row["memory_id"], row["seq"]) for row in rows("memory_references")}) == len(listed) == 8
    assert (rows("facts")[0]["reference_count"], rows("episodes")[0]["reference_count"]) == (6, 2)


async def test_reads_that_are_not_an_agents_count_nothing(butler: Butler, everything: Everything, rows: Rows) -> None:
    """Briefings, statistics and an administrator's looks leave no trace at all."""
    fact = await note(butler, "Tea is in the tin.", tier="mid")
    before = everything()
    await brief.brief(butler, brief.BriefRequest(trigger_prompt="Where is the tea?", butler="main"))
    await report(butler)
    assert (await recall.search(butler, Question(query="tea"), bump=False)).results
    assert (await recall.recall(butler, Question(query="tea"), bump=False)).results
    assert (await look.look(butler, "fact", fact.ref, bump=False)).memory.id == fact.id
    assert everything() == before
    assert rows("memory_references") == []


# --- statistics -----------------------------------------------------------------------------------


async def test_statistics_say_how_full_and_how_used_each_tier_is(butler: Butler, clock: Any) -> None:
    """Count, capacity, oldest and references, of live memories only."""
    begun = clock.now
    await note(butler, "tea one", tier="mid")
    clock.move(hours=1)
    gone = await note(butler, "tea two", tier="mid")
    await note(butler, "tea three")
    await recall.search(butler, Question(query="tea", mode="keyword"))
    await recall.search(butler, Question(query="tea", mode="keyword", tier="mid"))
    await forget.forget(butler, "fact", gone.ref)
    tiers = (await report(butler))["tiers"]
    assert tiers == {
        "eden": {"count": 1, "capacity": 50_000, "oldest": clock.now.isoformat(), "references": 1},
        "mid": {"count": 1, "capacity": 100_000, "oldest": begun.isoformat(), "references": 2},
        "long": {"count": 0, "capacity": 100_000, "oldest": None, "references": 0},
    }


async def test_capacities_are_those_of_the_butlers_in_reach(butler: Butler, agent: Agent) -> None:
    """For one butler its own, for several together, and each apart, the fullest first."""
    small = {"eden": {"capacity": 4}, "mid": {"capacity": 2}, "long": {"capacity": 5}}
    lived = living(butler, butlers={"coder": {"lifecycle": small}}, lifecycle={"mid": {"capacity": 100}})
    await note(lived, "one", agent("coder"), tier="mid")
    await note(lived, "two", agent("health"), tier="mid")
    await note(lived, "three", agent("health"), tier="mid")
    whole = await report(lived)
    assert (whole["tiers"]["mid"]["count"], whole["tiers"]["mid"]["capacity"]) == (3, 102)
    assert list(whole["tiers_by_butler"]) == ["coder", "health"]
    assert {
        name: (tiers["mid"]["count"], tiers["mid"]["capacity"]) for name, tiers in whole["tiers_by_butler"].items()
    } == {"coder": (1, 2), "health": (2, 100)}
    own = await report(lived, None, agent("coder"))
    assert list(own["tiers_by_butler"]) == ["coder"]
    assert own["tiers_by_butler"]["coder"]["eden"]["capacity"] == 4
    scoped = await report(lived, "coder", agent("coder"))
    assert (scoped["tiers"]["long"], "tiers_by_butler" in scoped) == (
        {"count": 0, "capacity": 5, "oldest": None, "references": 0},
        False,
    )


async def test_of_many_butlers_the_fullest_are_shown(butler: Butler) -> None:
    """The list is bounded; the sums are of all."""
    for n in range(23):
        for m in range(1 + (n == 17)):
            await note(butler, f"note {m}", butler=f"b{n}")
    found_ = await report(butler)
    assert found_["tiers"]["eden"]["count"] == 24
    assert found_["tiers"]["eden"]["capacity"] == 23 * 50_000
    assert (len(found_["tiers_by_butler"]), next(iter(found_["tiers_by_butler"]))) == (20, "b17")


async def test_statistics_say_what_is_first_in_line(butler: Butler, agent: Agent, clock: Any) -> None:
    """What enough sessions referred to and is old enough, by the thresholds of its butler."""
    sooner = {"eden": {"first_after_sessions": 2, "first_after_hours": 1}}
    lived = living(butler, butlers={"coder": {"lifecycle": sooner}})
    for name in ("coder", "health"):
        await note(lived, "tea was made", agent(name))
        for session in ("a", "b", "b"):
            await recall.search(lived, Question(query="tea"), agent(name, session_id=session))
    clock.move(hours=1, seconds=-1)
    assert (await report(lived))["backlog"]["first_in_line"] == 0
    clock.move(seconds=1)
    assert (await report(lived))["backlog"]["first_in_line"] == 1
    await recall.search(lived, Question(query="tea"), agent("health", session_id="c"))
    assert (await report(lived))["backlog"]["first_in_line"] == 1
    clock.move(hours=5)
    assert (await report(lived))["backlog"]["first_in_line"] == 2
    assert (await report(lived, None, agent("health")))["backlog"]["first_in_line"] == 1


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
    butler: Butler, clock: Any, rows: Rows, given: dict[str, Any], days: float
) -> None:
    """Time to live comes from the general setting, the preset or the butler's own, and reads keep to it."""
    lived = living(butler, **given)
    await note(lived, "Wrote a test.", butler="coder")
    assert rows("episodes")[0]["expires_at"] - clock.now == timedelta(days=days)
    clock.move(days=days, seconds=-1)
    assert await found(lived, "test", tier="eden") == {"Wrote a test."}
    clock.move(seconds=1)
    assert await found(lived, "test", tier="eden") == set()
