"""A search finds what its question names, though the rest of the question matches little."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.support import household

from memory_butler.models import Answer, Caller, NewEpisode, NewFact, Principal, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

BERTHA = "A Synology DS920+ under the desk; all shoots are on it."
INVOICE = "Invoice 20418 was paid by the garage."
WEDDING = "The wedding is at Wentbridge House, with 140 guests."
OLD_JOB, NEW_JOB = "I work at Acme as an accountant.", "She is an accountant at Globex."
EXAM = "The sailing exam in Kiel."


@pytest.fixture(scope="module")
async def resources(shared_real_resources: Resources) -> AsyncIterator[Resources]:
    """The household, and memories with rare names."""
    resources = household.own_tenant(shared_real_resources)
    await household.fill(resources)
    now = household.NOW
    old = await remember.episode(
        resources, NewEpisode(content=f"Dora: {OLD_JOB}", butler="main", observed_at=now - timedelta(days=9))
    )
    for new in (
        NewFact(subject="Bertha", predicate="role", content=BERTHA, aliases=("the archive box",)),
        NewFact(subject="Ebenezer Alvarado", predicate="note", content="He tunes pianos on weekends."),
        NewFact(subject="garage", predicate="invoice", content=INVOICE),
        NewFact(subject="party", predicate="place", content=WEDDING),
        NewFact(subject="Dora", predicate="job", content=OLD_JOB, source_episode=str(old.id)),
        NewFact(subject="Dora", predicate="job", content=NEW_JOB),
        NewFact(subject="user", predicate="allergic_to:nuts", content="Carries an EpiPen.", importance=9),
        NewFact(subject="user", predicate="exam", content=EXAM, valid_at=now + timedelta(days=20)),
        NewFact(subject="user", predicate="course", content="A first aid course.", valid_at=now + timedelta(days=5)),
    ):
        await remember.fact(resources, new)
    yield resources


async def ask(resources: Resources, query: str, caller: Caller | None = None, **given: Any) -> Answer:
    return await search.search(resources, Question(query=query, **given), caller, bump=False)


async def contents(resources: Resources, query: str, **given: Any) -> list[str]:
    return [entry.hit.content for entry in (await ask(resources, query, **given)).results]


@pytest.mark.parametrize(
    "query",
    [
        "Bertha",
        "Who is Bertha?",
        "What is Bertha doing?",
        "What is Bertha using?",
        "anything about the archive box?",
        "what is a DS920+?",
        "Brtha",
        "tell me about berhta",
    ],
)
async def test_a_rare_name_finds_its_only_memory_first(resources: Resources, query: str) -> None:
    """By name, by alias, by an identifier in the text, and misspelt."""
    assert (await contents(resources, query))[0] == BERTHA


@pytest.mark.parametrize("query", ["Ebenezer", "Mr Alvarado", "Ebenezer Alvarado", "Ebeneezer Alvarado", "alvarrado"])
async def test_a_part_of_a_name_finds_it(resources: Resources, query: str) -> None:
    """First name, last name or both, right or misspelt."""
    assert "pianos" in (await contents(resources, query))[0]


async def test_an_alias_makes_a_subject_no_harder_to_find(resources: Resources) -> None:
    """The words of an alias go on counting."""
    name = (await ask(resources, "What is on Bertha?")).results[0]
    alias = (await ask(resources, "What is on the archive box?")).results[0]
    assert name.hit.content == alias.hit.content == BERTHA
    assert alias.parts.relevance > 0.03


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Did Zebulon pay invoice 20418?", INVOICE),
        ("the frobnicated invoice 20418", INVOICE),
        ("Does Zebulon know Wentbridge House?", WEDDING),
    ],
)
async def test_an_unknown_word_does_not_hide_an_exact_one(resources: Resources, query: str, answer: str) -> None:
    """A name nobody knows, or a word nobody used, beside a rare number or name."""
    assert answer in await contents(resources, query)


async def test_a_name_nobody_knows_is_not_corrected_to_a_distant_one(resources: Resources) -> None:
    """Vladimir is no misspelt Ebenezer."""
    assert await contents(resources, "What is Vladimir allergic to?") == []


async def test_a_misspelt_name_that_the_caller_may_not_see_stays_unknown(resources: Resources) -> None:
    """A correction needs a memory that the caller may read."""
    await remember.fact(
        resources, NewFact(subject="Quillon", predicate="role", content="Guards the vault.", scope="vault")
    )
    stranger = Caller(Principal(resources.settings.tenant, "other"))
    assert (await ask(resources, "Quilon", stranger)).results == ()


async def test_a_strong_answer_drags_no_tail_along(resources: Resources) -> None:
    """Every result has a tenth of the best relevance, unless the request sets its own minimum."""
    query = "What does Anna play in the orchestra?"
    answer = await ask(resources, query)
    best = max(entry.parts.relevance for entry in answer.results)
    assert best > 0.2
    assert all(entry.parts.relevance >= 0.1 * best for entry in answer.results)
    assert len((await ask(resources, query, min_relevance=0.01)).results) >= len(answer.results)


async def test_what_was_replaced_is_marked_and_comes_behind(resources: Resources) -> None:
    """The episode that said it matches better, and the current fact comes first."""
    results = (await ask(resources, "Where does Dora work as an accountant?")).results
    places = {entry.hit.content: at for at, entry in enumerate(results)}
    assert places[NEW_JOB] < places[f"Dora: {OLD_JOB}"]
    assert [entry.hit.content for entry in results if entry.hit.since_changed] == [f"Dora: {OLD_JOB}"]


async def test_a_broad_question_gets_an_overview(resources: Resources) -> None:
    """People, plans and the user, each with the best of it; a question with a topic gets no overview."""
    people = await ask(resources, "Who is on the team?")
    assert people.overview
    assert {"Anna", "Ben"} <= {entry.hit.subject_label for entry in people.results}
    plans = await ask(resources, "What's coming up?")
    assert plans.overview
    assert [entry.hit.content for entry in plans.results][:2] == ["A first aid course.", EXAM]
    mine = await ask(resources, "What do you know about me?")
    assert mine.overview
    assert mine.results[0].hit.content == "Carries an EpiPen."
    assert {entry.hit.subject_label for entry in mine.results} == {"user"}
    assert not (await ask(resources, "Who is Bertha?")).overview


async def test_the_family_is_known_by_aliases_and_by_facts_about_the_user(resources: Resources) -> None:
    """All facts about relatives are in the overview, whatever they say and whatever name says who they are."""
    for new in (
        NewFact(subject="Sigrun", predicate="shoe_size", content="41", aliases=("my sister",)),
        NewFact(subject="user", predicate="son", content="Kjell, born in Bodo."),
        NewFact(subject="Kjell", predicate="condition:epilepsy", content="No flashing lights.", importance=9),
    ):
        await remember.fact(resources, new)
    answer = await ask(resources, "what should I know about my family")
    told = [entry.hit.content for entry in answer.results]
    assert answer.overview
    assert {"41", "Kjell, born in Bodo.", "No flashing lights."} <= set(told)
    assert BERTHA not in told


async def test_an_overview_of_an_empty_store_is_empty(shared_real_resources: Resources) -> None:
    """There is nothing to give an overview of."""
    answer = await ask(household.own_tenant(shared_real_resources), "What do you know about me?")
    assert answer.results == ()
    assert not answer.overview
