"""The call log: the briefings and searches of agents, written beside the reads and bounded."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import MovingClock
from tests.operations.conftest import second_tenant
from tests.support.leaks import traces

from memory_butler.errors import InvalidInput, NotFound, TargetUnavailable
from memory_butler.metrics.call_log import WaitingCalls
from memory_butler.models import BriefRequest, Caller, NewFact, Question, Stored
from memory_butler.models.calls import CallFilter, CallKind, LoggedCall
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.system import call_log
from memory_butler.operations.trust import encryption_keys
from memory_butler.operations.trust.purge import PurgeRequest, purge
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

ALL = CallFilter()


@pytest.fixture
def resources(resources: Resources) -> Resources:
    return replace(resources, waiting_calls=WaitingCalls())


async def peanuts(resources: Resources) -> Stored:
    new = NewFact(subject="Ana", predicate="allergic_to:peanuts", content="Ana is allergic to peanuts", importance=10)
    return await remember.fact(resources, new)


async def asked(resources: Resources, prompt: str, caller: Caller, *, briefing: bool = False) -> None:
    """An agent's call, which is in the log then."""
    caller = replace(caller, client="claude-code")
    if briefing:
        await brief(resources, BriefRequest(trigger_prompt=prompt, butler=caller.principal.butler), caller)
    else:
        await search(resources, Question(query=prompt), caller)
    await call_log.store_waiting(resources)


async def logged(resources: Resources, wanted: CallFilter = ALL, caller: Caller | None = None) -> list[LoggedCall]:
    return list((await call_log.logged_calls(resources, wanted, caller)).items)


async def test_what_agents_ask_is_logged_with_what_they_got(
    resources: Resources, agent: Callable[..., Caller], clock: MovingClock
) -> None:
    stored = await peanuts(resources)
    await asked(resources, "allergic to peanuts", agent(session_id="s1"))
    clock.move(minutes=1)
    await asked(resources, "Dinner for Ana: is she allergic to peanuts?", agent(), briefing=True)
    briefing, found = await logged(resources)
    assert (found.kind, found.client, found.butler, found.session_id) == ("search", "claude-code", "health", "s1")
    assert found.refs == (f"fact:{stored.ref}",) and found.memory_ids == (stored.id,)
    assert (found.tokens, found.token_budget) == (None, None)
    assert briefing.kind is CallKind.BRIEFING and briefing.refs == (f"fact:{stored.ref}",)
    assert briefing.token_budget == 3000 and 0 < (briefing.tokens or 0) < 200 and briefing.milliseconds > 0
    assert await call_log.logged_call(resources, briefing.id) == briefing


async def test_reads_of_people_and_of_the_past_are_not_logged(resources: Resources, clock: MovingClock) -> None:
    """The dashboard and the command line have no client; a look at the past is no use of the memory."""
    await peanuts(resources)
    clock.move(hours=1)
    person = resources.local_caller()
    await search(resources, Question(query="peanuts"), person)
    await brief(resources, BriefRequest(trigger_prompt="peanuts", butler="main"), person)
    past = clock.now - timedelta(minutes=1)
    await brief(
        resources, BriefRequest(trigger_prompt="peanuts", butler="main", as_of=past), replace(person, client="mcp")
    )
    assert not resources.waiting_calls and not await logged(resources)


@pytest.mark.parametrize(("enabled", "count"), [(None, 0), (True, 1), (False, 0)])
async def test_a_service_logs_calls_only_if_it_is_switched_on(
    alone: Resources, agent: Callable[..., Caller], enabled: bool | None, count: int
) -> None:
    """This store has a `database_url`; the others of these tests are local."""
    settings = alone.settings.model_copy(
        update={"call_log": alone.settings.call_log.model_copy(update={"enabled": enabled})}
    )
    service = replace(alone, settings=settings, waiting_calls=WaitingCalls())
    await peanuts(service)
    await search(service, Question(query="peanuts"), replace(service.local_caller(), client="mcp"))
    await call_log.store_waiting(service)
    assert len(await logged(service)) == count


async def test_an_answer_is_the_same_with_and_without_the_log(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    await peanuts(resources)
    request = BriefRequest(trigger_prompt="Cook dinner for Ana", butler="health")
    silent = await brief(resources, request, agent())
    assert await brief(resources, request, replace(agent(), client="mcp")) == silent


async def test_an_agent_sees_its_own_calls_and_a_tenant_its_own(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    await peanuts(resources)
    await asked(resources, "peanuts", agent("health"))
    await asked(resources, "peanuts at work", agent("work"))
    assert [call.butler for call in await logged(resources, caller=agent("work"))] == ["work"]
    assert len(await logged(resources)) == 2
    other = second_tenant(resources)
    assert not await logged(other)
    of_health = (await logged(resources, CallFilter(butler="health")))[0]
    for stranger in (agent("work"), other.local_caller()):
        with pytest.raises(NotFound):
            await call_log.logged_call(resources, of_health.id, stranger)


async def test_filters_and_pages(resources: Resources, agent: Callable[..., Caller], clock: MovingClock) -> None:
    await peanuts(resources)
    start = clock.now
    for number in range(5):
        await asked(resources, f"peanuts {number}", agent(), briefing=number == 2)
        clock.move(days=1)
    await asked(resources, "xylophone", agent())
    assert len(await logged(resources, CallFilter(kind=CallKind.BRIEFING))) == 1
    assert [call.prompt for call in await logged(resources, CallFilter(answered=False))] == ["xylophone"]
    assert [call.prompt for call in await logged(resources, CallFilter(contains="PEANUTS 4"))] == ["peanuts 4"]
    assert len(await logged(resources, CallFilter(time_from=start + timedelta(days=4)))) == 2
    seen, cursor = [], None
    while True:
        page = await call_log.logged_calls(resources, ALL, limit=4, cursor=cursor)
        seen += [call.prompt for call in page.items]
        if (cursor := page.cursor) is None:
            break
    assert seen == ["xylophone", *(f"peanuts {number}" for number in (4, 3, 2, 1, 0))]
    with pytest.raises(InvalidInput):
        await call_log.logged_calls(resources, ALL, limit=0)


async def test_figures_of_each_day(resources: Resources, agent: Callable[..., Caller], clock: MovingClock) -> None:
    await peanuts(resources)
    await asked(resources, "Dinner: peanuts for Ana?", agent(), briefing=True)
    await asked(resources, "xylophone", agent())
    clock.move(days=1)
    await asked(resources, "peanuts", agent())
    first, second = await call_log.call_days(resources, ALL)
    assert (first.briefings, first.searches, first.answered, first.calls) == (1, 1, 1, 2)
    assert first.tokens > 0 and 0 < first.p50_ms <= first.p95_ms
    assert (second.calls, second.day - first.day) == (1, timedelta(days=1))


async def test_secrets_and_hidden_characters_stay_out(resources: Resources, agent: Callable[..., Caller]) -> None:
    await peanuts(resources)
    await asked(resources, "log in with AKIAIOSFODNN7EXAMPLQ \u202eplease", agent())
    (call,) = await logged(resources)
    assert "AKIA" not in call.prompt and "[redacted" in call.prompt and "\u202e" not in call.prompt


async def test_the_log_is_bounded_in_time_and_size(
    resources: Resources, agent: Callable[..., Caller], clock: MovingClock
) -> None:
    own = resources.settings.call_log.model_copy(update={"days": 10, "max_calls": 2})
    bounded = replace(resources, settings=resources.settings.model_copy(update={"call_log": own}))
    await peanuts(bounded)
    await asked(bounded, "peanuts of old", agent())
    clock.move(days=11)
    for number in range(3):
        clock.move(minutes=1)
        await asked(bounded, f"peanuts {number}", agent())
    await sweep(bounded)
    assert [call.prompt for call in await logged(bounded)] == ["peanuts 2", "peanuts 1"]


async def test_calls_wait_for_a_database_that_is_away(
    resources: Resources, agent: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    await peanuts(resources)

    def away(*_: object, **__: object) -> None:
        raise TargetUnavailable("gone")

    await search(resources, Question(query="peanuts 1"), replace(agent(), client="mcp"))
    with monkeypatch.context() as broken:
        broken.setattr(resources.database, "unlocked_write", away)
        await call_log.store_waiting(resources)
    assert len(resources.waiting_calls) == 1 and not await logged(resources)
    await search(resources, Question(query="peanuts 2"), replace(agent(), client="mcp"))
    await resources.waiting_calls.close()
    assert {call.prompt for call in await logged(resources)} == {"peanuts 1", "peanuts 2"}


async def test_a_purge_deletes_calls_with_the_memory_and_with_the_words(
    resources: Resources, agent: Callable[..., Caller], owner: psycopg.Connection[object]
) -> None:
    word = f"zanzibar{uuid4().hex[:10]}"
    stored = await peanuts(resources)
    await asked(resources, f"peanuts and {word}", agent(session_id=f"about-{word}"))
    await asked(resources, f"nothing but {word}", agent())
    await asked(resources, "xylophone", agent())
    report = await purge(resources, PurgeRequest(text=word))
    assert report.elsewhere >= 2
    await purge(resources, PurgeRequest(text=word), dry_run=False)
    assert [call.prompt for call in await logged(resources)] == ["xylophone"]
    assert not [place for place in traces(owner, word) if place.startswith("call_log")]
    await asked(resources, "peanuts", agent())
    done = await purge(resources, PurgeRequest(ref=f"fact:{stored.ref}"), dry_run=False)
    assert (done.counts or {})["call_log"] == 1
    assert [call.prompt for call in await logged(resources)] == ["xylophone"]


async def test_a_replay_neither_needs_nor_changes_the_log(resources: Resources, agent: Callable[..., Caller]) -> None:
    await peanuts(resources)
    await asked(resources, "peanuts", agent())
    assert (await replay(resources)).equal
    assert len(await logged(resources)) == 1


@pytest.fixture
async def locked(encrypted: Resources) -> AsyncIterator[Resources]:
    yield replace(encrypted, waiting_calls=WaitingCalls())


async def test_prompts_are_encrypted_where_there_is_a_key(
    locked: Resources, agent: Callable[..., Caller], owner: psycopg.Connection[object]
) -> None:
    word = f"zanzibar{uuid4().hex[:10]}"
    await remember.fact(locked, NewFact(subject="Ana", predicate="health", content="asthma"))
    await asked(locked, f"does {word} have asthma", agent())
    assert [call.prompt for call in await logged(locked)] == [f"does {word} have asthma"]
    assert not traces(owner, word)
    await purge(locked, PurgeRequest(text=word), dry_run=False)
    assert not await logged(locked)
    await asked(locked, f"and {word}", agent())
    await encryption_keys.rotate(locked)
    assert not await logged(locked)
