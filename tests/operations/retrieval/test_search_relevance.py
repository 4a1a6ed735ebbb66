"""What is returned is what bears on the question: nothing where nothing does, little where little does."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support import household

from memory_butler.errors import InvalidInput
from memory_butler.models import BriefRequest, Caller, NewEpisode, NewFact, NewRule, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import search
from memory_butler.operations.retrieval.ranked_candidates import rank_candidates
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources


@pytest.fixture(scope="module")
async def home_resources(shared_real_resources: Resources) -> AsyncIterator[Resources]:
    """A butler with the real model that knows a household; its tests only read."""
    resources = household.own_tenant(shared_real_resources)
    await household.fill(resources)
    yield resources


async def ask(resources: Resources, query: str, **given: Any) -> list[str]:
    found = await search.search(resources, Question(query=query, **given), bump=False)
    assert found.degraded == ()
    return [entry.hit.content for entry in found.results]


NEVER_MENTIONED = [
    "What is the boiling point of mercury?",
    "Who won the chess world championship?",
    "How do I prune an apple tree?",
    "Which mortgage rate did the bank offer?",
    "explain the borrow checker of Rust",
]


@pytest.mark.parametrize("query", NEVER_MENTIONED)
async def test_what_was_never_mentioned_returns_nothing(home_resources: Resources, query: str) -> None:
    """Not the ten nearest strangers; asked for the best there is, they come."""
    assert await ask(home_resources, query) == []
    assert len(await ask(home_resources, query, min_relevance=0)) == 10


NARROW = {
    "Where does the cat sleep?": "kitchen sofa",
    "Which color does Anna like?": "likes green",
    "What is Anna allergic to?": "EpiPen",
    "What is Ben afraid of?": "Heights",
    "Which language is the billing service written in?": "Written in Go",
    "How was the invoice test fixed?": "freezing the clock",
    "Why did the washing machine break?": "blocked by a coin",
    "When is the dentist appointment?": "Thursday at four",
    "What is the guest wifi called?": "Seagull",
    "What is Ben building?": "wooden boat",
}


@pytest.mark.parametrize("query", NARROW)
async def test_a_narrow_question_returns_few_and_the_right_one_first(home_resources: Resources, query: str) -> None:
    """The one that answers leads. Of three dozen memories few come back: less than there are about the most known."""
    found = await ask(home_resources, query, limit=100)
    assert NARROW[query] in found[0]
    assert len(found) <= 9


async def test_a_person_never_heard_of_returns_nothing(home_resources: Resources) -> None:
    """What holds for one person is no answer about another, whatever the words have in common."""
    assert await ask(home_resources, "What is Vladimir allergic to?") == []
    assert await ask(home_resources, "Where does Vladimir live?") == []
    assert "near the river" in (await ask(home_resources, "Where does Anna live?"))[0]


async def test_who_is_asked_about_leads(home_resources: Resources) -> None:
    """Two live somewhere and two have a job: the one who is asked about comes first, however the name is written."""
    assert "Porto" in (await ask(home_resources, "where does ben live?"))[0]
    assert "Lisbon" in (await ask(home_resources, "WHERE DOES ANNA LIVE"))[0]
    assert "nurse" in (await ask(home_resources, "What does Anna do for work?"))[0]
    assert "bicycles" in (await ask(home_resources, "What does Ben do for work?"))[0]


async def test_another_name_finds_the_same(home_resources: Resources) -> None:
    """Annie is Anna, as was said when a fact about her was stored."""
    assert "nurse" in (await ask(home_resources, "What does Annie do for work?"))[0]


async def test_a_time_in_the_question_prefers_and_does_not_exclude(home_resources: Resources) -> None:
    """In May 2023 it was Rome; the other journeys follow, and without a time any may lead."""
    rome, vienna, oslo = (content for _, _, content, _ in household.EVENTS)
    for when, first in (("in May 2023", rome), ("in February 2024", vienna), ("in August 2025", oslo)):
        found = await ask(home_resources, f"Where did Anna travel {when}?", min_relevance=0)
        assert found[0] == first
        assert {rome, vienna, oslo} <= set(found)


async def test_time_from_and_time_to_exclude(home_resources: Resources) -> None:
    """From is within, to is without; what has no time of its own counts as from when it was stored."""
    rome, vienna, oslo = (content for _, _, content, _ in household.EVENTS)
    moments = [moment for *_, moment in household.EVENTS]
    everything: dict[str, Any] = {"query": "Where did Anna travel?", "min_relevance": 0, "limit": 100}
    assert set(await ask(home_resources, **everything, time_to=moments[2])) == {rome, vienna}
    assert set(await ask(home_resources, **everything, time_from=moments[1], time_to=moments[2])) == {vienna}
    late = await ask(home_resources, **everything, time_from=moments[2])
    assert oslo in late
    assert "Anna likes green." in late
    assert rome not in late
    assert await ask(home_resources, **everything, time_to=datetime(2020, 1, 1, tzinfo=UTC)) == []
    seen = await ask(home_resources, **everything, time_to=household.NOW, time_from=datetime(2026, 2, 1, tzinfo=UTC))
    assert sorted(seen) == sorted(content for _, content in household.EPISODES)


async def test_a_time_that_ends_before_it_begins_is_refused(home_resources: Resources) -> None:
    """An empty span is a mistake, not a question without an answer."""
    with pytest.raises(InvalidInput, match="time_from"):
        await ask(home_resources, "tea", time_from=household.NOW, time_to=household.NOW)


@pytest.mark.parametrize(
    "query", ["What should I do before deploying?", "What are the rules for deploying?", "how should we deploy?"]
)
async def test_how_to_do_something_puts_the_rule_first(home_resources: Resources, query: str) -> None:
    """A fact speaks of deploying, too; who asks how to wants the rule."""
    found = await search.search(home_resources, Question(query=query), bump=False)
    assert found.results[0].hit.type == "rule"
    assert "deploy" in found.results[0].hit.content


async def test_how_likely_it_must_be_is_up_to_the_caller(home_resources: Resources) -> None:
    """The limit is kept exactly: what is returned is what has at least that relevance."""
    query = "Where do Anna and Ben live?"
    everything = await search.search(home_resources, Question(query=query, min_relevance=0, limit=100), bump=False)
    relevance = sorted((entry.parts.relevance for entry in everything.results), reverse=True)
    assert len(relevance) > 20
    assert relevance[0] > relevance[-1]
    for least in (relevance[1], relevance[5], 1.0):
        kept = await search.search(home_resources, Question(query=query, min_relevance=least, limit=100), bump=False)
        assert len(kept.results) == sum(value >= least for value in relevance)
    with pytest.raises(InvalidInput, match="min_relevance"):
        await ask(home_resources, query, min_relevance=1.5)


@pytest.fixture
async def newcomer(real_resources: Resources) -> Resources:
    """What somebody has after their first session: three facts, a rule and an episode."""
    for subject, predicate, content in (
        ("Anna", "favorite_color", "Anna likes green."),
        ("user", "pet", "The cat sleeps on the kitchen sofa."),
        ("billing service", "language", "Written in Go, deployed on Fly."),
    ):
        await remember.fact(real_resources, NewFact(subject=subject, predicate=predicate, content=content))
    await remember.rule(real_resources, NewRule(content="Run the smoke tests before every deployment."))
    await remember.episode(
        real_resources,
        NewEpisode(content="The flaky invoice test was fixed by freezing the clock.", butler="main", session_id="s"),
    )
    return real_resources


NATURAL = {
    "which color does Anna like?": "green",
    "What is Anna's favorite color?": "green",
    "what should I do before deploying?": "smoke tests",
    "where does the cat sleep?": "sofa",
    "which language is the billing service written in?": "Go",
    "how did we fix the invoice test?": "freezing",
}


@pytest.mark.parametrize("query", NATURAL)
async def test_a_newcomers_first_questions_are_answered(newcomer: Resources, query: str) -> None:
    """With five memories, too: the right one leads, and not everything comes with it."""
    found = await ask(newcomer, query)
    assert NATURAL[query] in found[0]
    assert len(found) <= 3


@pytest.mark.parametrize(
    "query", ["what is the capital of France?", "how tall is the Eiffel tower?", "explain the borrow checker of Rust"]
)
async def test_a_newcomer_asking_something_else_gets_nothing(newcomer: Resources, query: str) -> None:
    """The fewer there are, the nearer a stranger seems; it stays a stranger."""
    assert await ask(newcomer, query) == []


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
@pytest.mark.parametrize(
    ("query", "answer"), [("smoke tests", "smoke tests"), ("kitchen sofa", "sofa"), ("invoice test", "invoice")]
)
async def test_a_newcomer_may_search_by_one_list(newcomer: Resources, mode: str, query: str, answer: str) -> None:
    """By words alone or by meaning alone, too, what is looked for is found."""
    assert answer in (await ask(newcomer, query, mode=mode))[0]


OPENINGS = {
    "Fix the failing invoice test": ("freezing the clock", "lasagne"),
    "We want to deploy the billing service today": ("smoke tests", "lasagne"),
    "Cook dinner for Anna, and mind what she is allergic to": ("EpiPen", "Django"),
    "Write the documentation of the website": ("British spelling", "tomatoes"),
    "Take the cat to the vet": ("Moreira", "Django"),
}


@pytest.mark.parametrize("prompt", OPENINGS)
async def test_a_briefing_holds_what_bears_on_the_task(home_resources: Resources, prompt: str) -> None:
    """For an ordinary opening prompt it says what matters, and leaves out what has nothing to do with it."""
    within, without = OPENINGS[prompt]
    built = await brief.brief(home_resources, BriefRequest(trigger_prompt=prompt, butler="main"))
    assert within in built.text
    assert without.casefold() not in built.text.casefold()
    assert built.text.count("\n- ") <= 12


@pytest.mark.parametrize(
    "prompt", ["What is the boiling point of mercury?", "Who won the chess world championship?", "Tell me a joke."]
)
async def test_a_briefing_about_nothing_known_says_so(home_resources: Resources, prompt: str) -> None:
    """An empty budget is better than one filled with strangers."""
    built = await brief.brief(home_resources, BriefRequest(trigger_prompt=prompt, butler="main"))
    assert "Nothing I remember bears on this." in built.text


SCRIPT = """
import asyncio, json, sys
from datetime import datetime
from memory_butler.adapters.wire.answers import search_results
from memory_butler.models.wire.codec import encode
from memory_butler.resources import open_resources
from memory_butler.models import Question
from memory_butler.operations.retrieval import search

async def main():
    now = datetime.fromisoformat(sys.argv[2])
    async with open_resources(tenant=sys.argv[1], clock=lambda: now) as resources:
        for query in sys.argv[3:]:
            found = await search.search(resources, Question(query=query, min_relevance=0), bump=False)
            print(json.dumps(encode(search_results(found))))

asyncio.run(main())
"""


def answered(resources: Resources, hash_seed: str, questions: list[str]) -> str:
    """What a process of its own answers."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, resources.settings.tenant, household.NOW.isoformat(), *questions],
        env={
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "MEMORY_BUTLER_HOME": str(resources.settings.home),
            "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


async def test_the_same_state_gives_the_same_bytes_in_another_process(home_resources: Resources) -> None:
    """Two processes with other hash seeds answer every question alike, to the last digit."""
    questions = [*NARROW, "where does ben live?", "Where did Anna travel in May 2023?"]
    outputs = await asyncio.gather(*(asyncio.to_thread(answered, home_resources, seed, questions) for seed in "12"))
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == len(questions)


async def test_a_question_for_a_time_is_answered_by_the_time(real_resources: Resources, clock: Any) -> None:
    """What asks for nothing but a time gets what is from that time, and nothing else; so does an explicit filter."""
    days = {1: "Planted tomatoes with Ben.", 4: "The roof was repaired.", 15: "Lunch with the new neighbours."}
    for ago, content in days.items():
        observed = clock.now - timedelta(days=ago)
        await remember.episode(real_resources, NewEpisode(content=content, butler="main", observed_at=observed))
    assert await ask(real_resources, "What did we do yesterday?") == ["Planted tomatoes with Ben."]
    assert await ask(real_resources, "What happened two weeks ago?") == ["Lunch with the new neighbours."]
    since = clock.now - timedelta(days=5)
    assert set(await ask(real_resources, "What happened?", time_from=since)) == {days[1], days[4]}
    assert await ask(real_resources, "Who repaired the roof?", time_from=since) == ["The roof was repaired."]


async def test_a_fact_is_found_by_what_it_came_from(real_resources: Resources, agent: Callable[..., Caller]) -> None:
    """The episode speaks for its fact, to those who may see the episode; once it is forgotten it says nothing."""
    said = "We took the ferry to the lighthouse on Skagen and Mia lost her red scarf there."
    seen = await remember.episode(real_resources, NewEpisode(content=said, butler="home"), agent("home"))
    for place, source in (("the seaside", None), ("the north", seen.ref)):
        new = NewFact(subject="Mia", predicate=f"trip:{place}", content=f"A day trip to {place}", source_episode=source)
        await remember.fact(real_resources, new, agent("home"))

    async def best(caller: Caller) -> tuple[str, list[bool]]:
        question = Question(query="Who lost a scarf at the lighthouse?", types=("fact",), min_relevance=0)
        found = await rank_candidates(real_resources, caller, question)
        return found.ranked[0].hit.content, sorted(hit.context_similarity is not None for hit in found.candidates.hits)

    assert await best(agent("home")) == ("A day trip to the north", [False, True])
    assert (await best(agent("garden")))[1] == [False, False]
    await forget.forget(real_resources, "episode", seen.ref, agent("home"))
    assert (await best(agent("home")))[1] == [False, False]
