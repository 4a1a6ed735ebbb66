"""Recalling: what is found, in which order, by whom, and what it leaves behind."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.ai.batching import Vectors
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import PermissionDenied, TargetUnavailable
from memory_butler.models import Answer, Caller, MemoryType, NewEpisode, NewFact, NewRule, Question, Stored
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Database

Rows = Callable[[str], list[dict[str, Any]]]
Agent = Callable[..., Caller]


def configured(resources: Resources, **retrieval: Any) -> Resources:
    """The same butler with other settings for retrieval."""
    changed = resources.settings.retrieval.model_copy(update=retrieval)
    return replace(resources, settings=resources.settings.model_copy(update={"retrieval": changed}))


async def know(resources: Resources, content: str, caller: Caller | None = None, **given: Any) -> Stored:
    """A fact whose predicate is its own, so that it stands beside all others."""
    return await remember.fact(
        resources, NewFact(**{"subject": "u", "predicate": f"p:{content}"[:200], "content": content, **given}), caller
    )


async def contents(of: Resources, query: str, caller: Caller | None = None, /, **given: Any) -> list[str]:
    """What is found, however little it bears on the question, unless a limit is given."""
    answer = await search.search(of, Question(**{"query": query, "min_relevance": 0.0, **given}), caller)
    return [entry.hit.content for entry in answer.results]


async def test_all_types_are_found_in_one_answer(resources: Resources) -> None:
    """Facts, rules and episodes come back together, or only the types asked for."""
    await know(resources, "tea is green")
    await remember.rule(resources, NewRule(content="serve tea at four"))
    await remember.episode(resources, NewEpisode(content="tea was spilled", butler="main"))
    answer = await search.search(resources, Question(query="tea"))
    assert {entry.hit.type for entry in answer.results} == set(MemoryType)
    assert await contents(resources, "tea", types=("rules",)) == ["serve tea at four"]
    topical = await search.recall(resources, Question(query="tea"))
    assert {entry.hit.type for entry in topical.results} == {MemoryType.FACT, MemoryType.RULE}


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_each_mode_finds_the_best_match_first(real_resources: Resources, mode: str) -> None:
    """The memory that the question is about leads in every mode."""
    await know(real_resources, "The dentist appointment is on Tuesday at nine.")
    await know(real_resources, "The car needs winter tyres before November.")
    await know(real_resources, "Anna prefers jasmine tea in the afternoon.")
    found = await contents(real_resources, "When is the dentist appointment?", mode=mode, min_relevance=None)
    assert found[0].startswith("The dentist")


async def test_meaning_is_found_without_a_shared_word(real_resources: Resources) -> None:
    """A question in other words finds the fact by meaning, and by words finds nothing."""
    await know(real_resources, "The physician wants to see him after lunch.")
    await know(real_resources, "The lawn mower is broken.")
    found = await contents(real_resources, "doctor visit", mode="semantic", min_relevance=None)
    assert found[0].startswith("The physician")
    assert await contents(real_resources, "doctor visit", mode="keyword") == []


async def test_words_are_joined_by_or_and_the_rare_one_counts(resources: Resources) -> None:
    """A long question finds what shares any word of it, the rarest first."""
    for n in range(12):
        await know(resources, f"common word note {n}")
    await know(resources, "zanzibar note")
    found = await contents(resources, "tell me about the common word and also about zanzibar please", mode="keyword")
    assert found[0] == "zanzibar note"
    assert len(found) == 10


async def test_a_result_shows_its_parts(resources: Resources) -> None:
    """Score parts, ranks of both lists, reference, times: why it is where it is."""
    done = await know(resources, "tea is green", importance=8)
    (entry,) = (await search.search(resources, Question(query="green tea"))).results
    parts = entry.parts
    assert (parts.fit, parts.importance, parts.recency, parts.effective_confidence) == (1.0, 0.8, 1.0, 1.0)
    assert parts.score == pytest.approx(0.4 + 0.24 + 0.2 + 0.1)
    assert (parts.semantic_rank, parts.keyword_rank) == (1, 1)
    assert (entry.hit.ref, entry.hit.scope, entry.hit.created_at) == (done.ref, "global", resources.clock())


async def test_tags_are_found_as_words(resources: Resources) -> None:
    """A tag finds its memory by words."""
    await know(resources, "no sugar", tags=("diet",))
    assert await contents(resources, "diet", mode="keyword") == ["no sugar"]


async def test_what_is_returned_is_referenced_and_nothing_else(resources: Resources, clock: Any, rows: Rows) -> None:
    """One event per call with the ids; count and time move for what came back only."""
    await know(resources, "tea is green")
    await know(resources, "coffee is black")
    clock.move(days=1)
    answer = await search.search(resources, Question(query="tea", mode="keyword"))
    await search.recall(resources, Question(query="tea", mode="keyword"))
    found = {row["content"]: (row["reference_count"], row["last_referenced_at"]) for row in rows("facts")}
    assert found == {"tea is green": (2, clock.now), "coffee is black": (0, None)}
    bumps = [event for event in rows("memory_events") if event["event_type"] == "memory.referenced"]
    assert [event["payload"]["ids"] for event in bumps] == [[str(answer.results[0].hit.id)]] * 2


async def test_an_empty_answer_and_an_administrators_look_leave_no_trace(resources: Resources, rows: Rows) -> None:
    """Nothing found writes nothing, and a search that is asked not to count does not."""
    await know(resources, "tea is green")
    assert await contents(resources, "zebra", mode="keyword") == []
    await search.search(resources, Question(query="tea"), bump=False)
    assert rows("facts")[0]["reference_count"] == 0
    assert len(rows("memory_events")) == 1


async def test_a_reference_makes_a_memory_more_recent(resources: Resources, clock: Any) -> None:
    """Of two equal memories the one that was used is first afterwards."""
    await know(resources, "tea tin one", importance=5)
    used = await know(resources, "tea tin two", importance=5)
    clock.move(days=40)
    await search.search(resources, Question(query="two", mode="keyword"))
    answer = await search.search(resources, Question(query="tea tin", mode="keyword"), bump=False)
    assert len({entry.parts.relevance for entry in answer.results}) == 1
    assert answer.results[0].hit.id == used.id


async def test_only_live_facts_are_found(resources: Resources) -> None:
    """A superseded fact is out of the answers at once."""
    for city in ("Lisbon", "Porto"):
        await remember.fact(resources, NewFact(subject="u", predicate="home city", content=city))
    assert await contents(resources, "home city Lisbon Porto") == ["Porto"]


async def test_a_fading_memory_is_returned_only_when_asked_for(resources: Resources, clock: Any) -> None:
    """Effective confidence is what the gate compares: gone by itself after 17 days, there on request, revived."""
    done = await know(resources, "tea is green", permanence="ephemeral")
    clock.move(days=16)
    assert await contents(resources, "tea") == ["tea is green"]
    clock.move(days=1)
    assert await contents(resources, "tea") == []
    assert await contents(resources, "tea", min_confidence=0.0) == ["tea is green"]
    assert await contents(resources, "tea", min_confidence=0.18) == ["tea is green"]
    assert await contents(resources, "tea", min_confidence=0.19) == []
    await feedback.confirm(resources, "fact", done.ref)
    assert await contents(resources, "tea", min_confidence=1.0) == ["tea is green"]


async def test_a_new_rule_is_found_and_fades_like_a_fact(resources: Resources, clock: Any) -> None:
    """Never confirmed is not confidence zero; at the standard rate 0.5 falls below 0.2 after 114 days."""
    await remember.rule(resources, NewRule(content="serve tea"))
    assert await contents(resources, "tea") == ["serve tea"]
    clock.move(days=114)
    assert await contents(resources, "tea") == ["serve tea"]
    clock.move(days=1)
    assert await contents(resources, "tea") == []


async def test_an_episode_past_its_time_is_not_returned(resources: Resources, clock: Any) -> None:
    """From the moment its time is over, although its row is still there."""
    await remember.episode(resources, NewEpisode(content="tea was spilled", butler="main"))
    clock.move(days=7, seconds=-1)
    assert await contents(resources, "tea") == ["tea was spilled"]
    clock.move(seconds=1)
    assert await contents(resources, "tea", min_confidence=0.0) == []


async def stock(resources: Resources) -> None:
    for scope in ("global", "health", "finance", "main"):
        await know(resources, f"tea fact {scope}", scope=scope)
        await remember.rule(resources, NewRule(content=f"tea rule {scope}", scope=scope))
    for name in ("health", "finance", "main", "global"):
        await remember.episode(resources, NewEpisode(content=f"tea episode {name}", butler=name))


HEALTH = {"tea fact global", "tea rule global", "tea fact health", "tea rule health", "tea episode health"}


async def test_an_agent_sees_global_and_its_own(resources: Resources, agent: Agent) -> None:
    """Facts and rules of global and its own scope, its own episodes; less if it names one, never more."""
    await stock(resources)
    caller = agent("health")
    assert set(await contents(resources, "tea", caller)) == HEALTH
    assert set(await contents(resources, "tea", caller, scope="health")) == {one for one in HEALTH if "health" in one}
    assert set(await contents(resources, "tea", caller, scope="global")) == {"tea fact global", "tea rule global"}
    for denied in ({"scope": "finance"}, {"scope": "*"}, {"butler": "finance"}):
        with pytest.raises(PermissionDenied):
            await contents(resources, "tea", caller, **denied)


async def test_the_local_administrator_sees_every_episode_and_every_scope_on_request(resources: Resources) -> None:
    """By default global and main with all episodes; a named scope or butler; everything when asked."""
    await stock(resources)
    own = {f"tea {kind} {scope}" for kind in ("fact", "rule") for scope in ("global", "main")}
    episodes = {f"tea episode {name}" for name in ("health", "finance", "main", "global")}
    assert set(await contents(resources, "tea", limit=50)) == own | episodes
    assert set(await contents(resources, "tea", butler="health")) == HEALTH
    assert set(await contents(resources, "tea", scope="finance")) == {
        "tea fact finance",
        "tea rule finance",
        "tea episode finance",
    }
    assert len(await contents(resources, "tea", scope="*", limit=50)) == 12


async def test_tenants_do_not_see_one_another(resources: Resources) -> None:
    """The same butler in another tenant finds nothing, whatever it asks for."""
    await stock(resources)
    other = replace(resources, settings=resources.settings.model_copy(update={"tenant": "someone-else"}))
    assert await contents(other, "tea", scope="*", limit=100, min_confidence=0.0) == []


async def test_no_limit_cuts_what_a_filter_would_let_through(resources: Resources, agent: Agent) -> None:
    """With 150 nearer memories out of scope, the one in scope is still found, by meaning and by words."""
    for n in range(150):
        await know(resources, f"green tea leaf {n}", scope="finance")
    await know(resources, "some green thing far away from everything else in this store", scope="health")
    for mode in ("semantic", "keyword", "hybrid"):
        found = await contents(resources, "green tea leaf", agent("health"), mode=mode, limit=1)
        assert found == ["some green thing far away from everything else in this store"]


async def test_a_forgotten_memory_is_out_of_every_search(resources: Resources) -> None:
    """Each type is gone at once, whatever confidence is asked for."""
    done = [
        await know(resources, "tea fact"),
        await remember.rule(resources, NewRule(content="tea rule")),
        await remember.episode(resources, NewEpisode(content="tea episode", butler="main")),
    ]
    for one in done:
        await forget.forget(resources, one.type, one.ref)
    for mode in ("semantic", "keyword", "hybrid"):
        assert await contents(resources, "tea", mode=mode, min_confidence=0.0, scope="*") == []


class Broken(FakeEmbedder):
    """An embedder whose model is not available."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise TargetUnavailable("The model is not there.")

    async def embed_query(self, text: str) -> Vectors:
        raise TargetUnavailable("The model is not there.")


async def test_without_the_model_a_search_goes_on_by_words_and_says_so(resources: Resources) -> None:
    """Degraded, not empty; by meaning alone it is an error."""
    await know(resources, "tea is green")
    broken = replace(resources, embedder=Broken())
    answer: Answer = await search.search(broken, Question(query="tea"))
    assert [entry.hit.content for entry in answer.results] == ["tea is green"]
    assert answer.degraded == ("searched by words only: The model is not there.",)
    with pytest.raises(TargetUnavailable):
        await search.search(broken, Question(query="tea", mode="semantic"))


async def test_a_very_long_question_is_searched_by_its_beginning_and_end(resources: Resources) -> None:
    """What is asked at the end of a pasted document is found."""
    await know(resources, "tea is green")
    assert await contents(resources, "x " * 20_000 + "tea?", mode="keyword") == ["tea is green"]


@pytest.mark.parametrize(
    "query", ["???", "🎉", "the of and", "'; DROP TABLE facts; --", "a & b | !c:*", "\\", "%s %(x)s"]
)
async def test_an_odd_question_is_answered(resources: Resources, query: str) -> None:
    """Punctuation, stop words and query operators are no errors."""
    await know(resources, "tea is green")
    for mode in ("keyword", "semantic", "hybrid"):
        await search.search(resources, Question(query=query, mode=mode))


async def test_the_text_search_configuration_decides_what_a_word_is(resources: Resources) -> None:
    """English knows that running is run; simple takes words as they are, stop words too."""
    simple = configured(resources, text_search="simple")
    await know(resources, "they were running")
    await know(simple, "the swimmers")
    assert await contents(resources, "runs", mode="keyword") == ["they were running"]
    assert await contents(resources, "the", mode="keyword") == []
    assert await contents(simple, "swimmer", mode="keyword") == []
    assert await contents(simple, "the", mode="keyword") == ["the swimmers"]


async def test_score_weights_change_the_order(resources: Resources) -> None:
    """By importance alone the important one leads, by relevance alone the matching one."""
    await know(resources, "green tea leaf", importance=1)
    await know(resources, "some tea", importance=10)
    weights = resources.settings.retrieval.weights
    only = {"fit": 0.0, "importance": 0.0, "recency": 0.0, "confidence": 0.0}
    by_importance = configured(resources, weights=weights.model_copy(update={**only, "importance": 1.0}))
    by_fit = configured(resources, weights=weights.model_copy(update={**only, "fit": 1.0}))
    assert (await contents(by_importance, "green tea leaf"))[0] == "some tea"
    assert (await contents(by_fit, "green tea leaf"))[0] == "green tea leaf"


async def test_recency_weight_and_half_life_change_the_score(resources: Resources, clock: Any) -> None:
    """A longer half-life keeps an old memory's recency up."""
    await know(resources, "tea is green")
    clock.move(days=30)
    for half_life, recency in ((30, 0.5), (60, 0.707107), (10, 0.125)):
        found = configured(resources, recency_half_life_days=half_life)
        (entry,) = (await search.search(found, Question(query="tea"), bump=False)).results
        assert entry.parts.recency == pytest.approx(recency, abs=1e-6)


async def test_the_votes_of_the_lists_change_the_fused_order(resources: Resources) -> None:
    """Where nobody takes a second look, a list without a vote has no part in the order."""
    await know(resources, "tea tea pot of the old kind with many other words in it")
    await know(resources, "tea")

    only = {"fit": 1.0, "importance": 0.0, "recency": 0.0, "confidence": 0.0}
    weights = resources.settings.retrieval.weights.model_copy(update=only)
    off = resources.settings.retrieval.rerank.model_copy(update={"method": "off"})

    async def leader(**votes: float) -> str:
        return (await contents(configured(resources, weights=weights, rerank=off, bm25_b=0.0, **votes), "tea"))[0]

    assert await leader(semantic_weight=1.0, keyword_weight=0.0) == "tea"
    assert (await leader(semantic_weight=0.0, keyword_weight=1.0)).startswith("tea tea")


async def test_the_length_of_the_candidate_lists_bounds_the_answer(resources: Resources) -> None:
    """Ten candidates by meaning are ten results, however many memories there are."""
    for n in range(15):
        await know(resources, f"tea {n}")
    assert len(await contents(configured(resources, candidates=10), "tea", mode="semantic", limit=50)) == 10
    assert len(await contents(configured(resources, candidates=20), "tea", mode="semantic", limit=50)) == 15


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
async def test_what_a_reader_may_see_is_found_behind_any_number_of_better_matches(
    resources: Resources, agent: Agent, mode: str
) -> None:
    """Fifty facts of another butler's stand before three of its own: the three are found, from lists of ten."""
    for n in range(50):
        await know(resources, f"tea {n}", scope="kitchen")
    for n in range(3):
        await know(resources, f"tea with biscuits, cake and many other words besides {n}")
    found = await contents(configured(resources, candidates=10), "tea", agent("main"), mode=mode, limit=50)
    assert len(found) == 3


async def test_bm25_settings_change_keyword_scores(resources: Resources) -> None:
    """k1 decides how much repetition counts, b how much length does."""
    await know(resources, "tea tea tea", predicate="a")
    await know(resources, "tea and a lot of other words that make this one longer", predicate="b")

    async def scores(**numbers: float) -> list[float]:
        answer = await search.search(
            configured(resources, **numbers), Question(query="tea", mode="keyword"), bump=False
        )
        return [entry.parts.keyword_score or 0 for entry in answer.results]

    flat = await scores(bm25_k1=0.0)
    assert flat[0] == flat[1]
    more = await scores(bm25_k1=2.0, bm25_b=0.0)
    assert max(more) > max(await scores(bm25_k1=0.5, bm25_b=0.0)) > max(flat)
    assert min(await scores(bm25_k1=1.0, bm25_b=1.0)) < min(await scores(bm25_k1=1.0, bm25_b=0.0))


async def test_default_limit_and_gate_are_settings(resources: Resources, clock: Any) -> None:
    """A search that names neither uses the configured limit and confidence; one that does is not bound by them."""
    for n in range(12):
        await know(resources, f"tea {n}", permanence="ephemeral")
    assert len(await contents(resources, "tea")) == 10
    assert len(await contents(configured(resources, limit=3), "tea")) == 3
    assert len(await contents(configured(resources, limit=3), "tea", limit=12)) == 12
    clock.move(days=5)
    assert await contents(configured(resources, min_confidence=0.7), "tea") == []
    assert len(await contents(configured(resources, min_confidence=0.6), "tea")) == 10


async def test_an_answer_that_cannot_be_counted_is_given_all_the_same(resources: Resources) -> None:
    """Another writer holds the tenant until the deadline: the results come back and say that they were not counted."""
    await remember.fact(resources, NewFact(subject="user", predicate="tea", content="green tea"))
    impatient = Database(resources.settings.model_copy(update={"deadline_seconds": 0.5}), resources.database.embedded)
    await impatient.open()
    try:
        assert impatient._pool
        await impatient._pool.wait()
        async with resources.database.write(resources.settings.tenant, resources.clock()):
            answer = await search.search(replace(resources, database=impatient), Question(query="green tea"))
    finally:
        await impatient.close()
    assert [entry.hit.content for entry in answer.results] == ["green tea"]
    assert "references were not counted" in answer.degraded[0]
    seen = await search.search(resources, Question(query="green tea"), bump=False)
    assert seen.results[0].hit.last_referenced_at is None
