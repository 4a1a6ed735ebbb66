"""As-of reads: asked about a moment, the store answers as it answered then, to the byte."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from tests.support.history import TICK, History, Rows, TickingClock

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import InvalidInput, PermissionDenied, TargetUnavailable
from memory_butler.models import BriefRequest, Caller, NewEpisode, NewFact, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import pin, remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Lifecycle, Settings
from memory_butler.store.embedded.server import EmbeddedPostgres

Everything = Callable[[], dict[str, list[str]]]


@pytest.fixture
def ticking() -> TickingClock:
    return TickingClock()


@pytest.fixture
def lasting(resources: Resources, ticking: TickingClock) -> Resources:
    """A butler whose clock ticks, whose memories of a day soon crowd each other out, and who deletes no episode."""
    lifecycle = Lifecycle.model_validate(
        {
            "eden": {"ttl_days": 900},
            "mid": {"capacity": 6, "promote_after_references": 3, "promote_after_days": 1},
            "long": {"capacity": 3},
        }
    )
    return replace(resources, clock=ticking, settings=resources.settings.model_copy(update={"lifecycle": lifecycle}))


@pytest.mark.parametrize("seed", range(3))
async def test_every_answer_is_given_again_byte_for_byte(
    lasting: Resources, ticking: TickingClock, rows: Rows, everything: Everything, seed: int
) -> None:
    """Search results with all parts of their scores, and contexts with their receipts, after all that came later."""
    history = History(lasting, ticking, rows, seed)
    await history.live(60)
    assert len(history.recorded) >= 30
    kinds = {event["event_type"].partition(".")[2] for event in rows("memory_events")}
    assert kinds >= {"created", "superseded", "confirmed", "retracted", "restored", "undone", "expired", "referenced"}
    ticking.now += timedelta(days=3)
    before = everything()

    for kept in history.recorded:
        assert repr(await kept.again(kept.at)) == kept.said

    assert everything() == before, "looking into the past left a trace"
    changed = sum([repr(await kept.again(None)) != kept.said for kept in history.recorded])
    assert changed > len(history.recorded) / 2, "answers of now hardly differ: the history proves nothing"
    assert (await replay(lasting)).equal


async def test_a_memory_is_as_it_was(resources: Resources, clock: Any) -> None:
    """State, confidence and recency are those of the moment; a later value of a property was not there yet."""
    start = clock.now
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue", permanence="volatile"))
    clock.move(days=10)
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="green", permanence="volatile"))
    clock.move(days=30)

    async def asked(days: float) -> Any:
        question = Question(query="color", as_of=start + timedelta(days=days), min_confidence=0.0)
        answer = await search.search(resources, question)
        return [
            (one.hit.content, one.parts.effective_confidence, one.parts.recency, one.hit.validity)
            for one in answer.results
        ]

    assert await asked(0) == [("blue", 1.0, 1.0, "active")]
    assert await asked(9.9) == [("blue", 0.743044, 0.795536, "active")]
    assert await asked(10) == [("green", 1.0, 1.0, "active")]
    assert await asked(40) == [("green", 0.40657, 0.5, "active")]


async def test_a_word_weighs_as_it_did(resources: Resources, clock: Any) -> None:
    """What was stored later does not count among the texts that a word's rarity is judged by."""
    await remember.fact(resources, NewFact(subject="user", predicate="tea", content="green"))
    await remember.fact(resources, NewFact(subject="user", predicate="wine", content="red"))
    then = clock.now
    question = Question(query="green", mode="keyword")
    first = await search.search(resources, question, bump=False)
    clock.move(minutes=1)
    for number in range(5):
        await remember.fact(resources, NewFact(subject=f"s{number}", predicate="color", content="green and more green"))
    now = await search.search(resources, question, bump=False)
    again = await search.search(resources, replace(question, as_of=then))
    assert again.results == first.results
    assert [one.parts.keyword_score for one in now.results if one.hit.id == first.results[0].hit.id] != [
        first.results[0].parts.keyword_score
    ]


async def test_what_has_been_deleted_since_is_said(resources: Resources, clock: Any) -> None:
    """An episode whose words are gone is missing and counted; before it was stored, and once it is gone, it is not."""
    before = clock.now
    clock.move(minutes=1)
    for words in ("We met at the harbour", "The harbour was closed"):
        await remember.episode(resources, NewEpisode(content=words, butler="main"))
    await remember.fact(resources, NewFact(subject="user", predicate="boat", content="lies in the harbour"))
    one = await remember.episode(resources, NewEpisode(content="Harbour at night", butler="main"))
    await pin.pin(resources, "episode", one.ref)
    clock.move(days=3)
    then = clock.now
    question = Question(query="harbour", mode="semantic", min_confidence=0.0, min_relevance=0.0)
    request = BriefRequest(trigger_prompt="harbour", butler="main")
    assert len((await search.search(resources, question, bump=False)).results) == 4
    clock.move(days=7)
    await sweep.sweep(resources)

    answer = await search.search(resources, replace(question, as_of=then))
    assert {entry.hit.content for entry in answer.results} == {"lies in the harbour", "Harbour at night"}
    assert answer.degraded == ("2 episodes of that time have been deleted since; keyword scores may differ",)
    briefing = await brief.brief(resources, replace(request, as_of=then))
    assert briefing.receipt.degraded == answer.degraded
    assert "lies in the harbour" in briefing.text
    for moment in (before, clock.now):
        assert (await search.search(resources, replace(question, as_of=moment))).degraded == ()
        assert (await brief.brief(resources, replace(request, as_of=moment))).receipt.degraded == ()


async def test_before_the_first_memory_there_was_nothing(resources: Resources, clock: Any) -> None:
    """An empty answer and an empty briefing, as on the first day; also for a tenant that has no log at all."""
    request = BriefRequest(trigger_prompt="tea", butler="main")
    empty = await brief.brief(resources, request)
    for _ in range(2):
        answer = await search.search(resources, Question(query="tea", as_of=clock.now))
        assert (answer.results, answer.degraded) == ((), ())
        assert await brief.brief(resources, replace(request, as_of=clock.now)) == empty
        clock.move(days=1)
        await remember.fact(resources, NewFact(subject="user", predicate="tea", content="green"))
        clock.move(days=-1)


@pytest.mark.parametrize("ask", ["search", "recall", "brief"])
async def test_the_past_is_for_administrators_and_the_future_for_nobody(
    resources: Resources, clock: Any, agent: Callable[..., Caller], everything: Everything, ask: str
) -> None:
    """An agent is refused, and so is a moment that has not come or has no zone; nothing is changed."""
    await remember.fact(resources, NewFact(subject="user", predicate="tea", content="green"))
    before = everything()

    async def asked(moment: datetime, caller: Caller | None = None) -> Any:
        if ask == "brief":
            request = BriefRequest(trigger_prompt="tea", butler="health", as_of=moment)
            return await brief.brief(resources, request, caller)
        return await getattr(search, ask)(resources, Question(query="tea", as_of=moment), caller)

    with pytest.raises(PermissionDenied) as refused:
        await asked(clock.now, agent("health"))
    assert "as_of" in refused.value.recovery
    with pytest.raises(InvalidInput, match="in the future: it is 2026-03-01T09:00:00"):
        await asked(clock.now + TICK)
    with pytest.raises(InvalidInput, match="as_of has no time zone"):
        await asked(clock.now.replace(tzinfo=None))
    await asked(clock.now)
    assert everything() == before


async def test_a_database_without_temporary_tables_is_named(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """Where the right was taken away, the error says what to grant; with the grant it works."""
    urls = {
        "database_url": SecretStr(server.dsn("memory_app", fresh_database)),
        "owner_url": SecretStr(server.dsn("memory_owner", fresh_database)),
    }
    async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as resources:
        await remember.fact(resources, NewFact(subject="user", predicate="tea", content="green"))
        question = Question(query="tea", as_of=resources.clock())
        with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
            superuser.execute(f"REVOKE TEMPORARY ON DATABASE {fresh_database} FROM PUBLIC")
            with pytest.raises(TargetUnavailable, match="temporary tables") as refused:
                await search.search(resources, question)
            grant = refused.value.recovery.partition(": ")[2]
            assert grant == f'GRANT TEMPORARY ON DATABASE "{fresh_database}" TO "memory_app"'
            superuser.execute(grant.encode())
        assert [one.hit.content for one in (await search.search(resources, question)).results] == ["green"]
