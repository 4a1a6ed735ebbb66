"""A butler's first week, told as it happens, with the real model and a clock that moves."""

from collections.abc import Callable
from typing import Any

from memory_butler.models import BriefRequest, Caller, Maturity, NewEpisode, NewFact, NewRule, Outcome, Question
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.system.stats import stats
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources


async def test_the_first_week(real_resources: Resources, clock: Any, agent: Callable[..., Caller]) -> None:  # noqa: PLR0915 - a week is long
    """From the first words on Sunday to a briefing on Saturday that knows what changed and what to avoid."""
    butler, kitchen, office = real_resources, agent("kitchen"), agent("office")

    async def briefing(prompt: str, caller: Caller = kitchen) -> str:
        request = BriefRequest(trigger_prompt=prompt, butler=caller.principal.butler)
        return (await brief(butler, request, caller)).text

    # Sunday: nothing is known yet, and the butler says so instead of making something up.
    assert "Nothing I remember" in await briefing("Plan dinner for Anna")

    # In the first session a few things come up.
    dinner = await remember.episode(
        butler,
        NewEpisode(
            content="Anna came for dinner. She cannot eat peanuts and now lives in Lisbon.",
            butler="kitchen",
            session_id="sunday",
        ),
        kitchen,
    )
    allergy = await remember.fact(
        butler,
        NewFact(
            subject="Anna",
            predicate="allergic_to:peanuts",
            content="Anna is allergic to peanuts",
            importance=9,
            permanence="permanent",
            source_episode=f"episode:{dinner.ref}",
        ),
        kitchen,
    )
    lisbon = await remember.fact(butler, NewFact(subject="Anna", predicate="Home City", content="Lisbon"), kitchen)
    await remember.fact(
        butler,
        NewFact(subject="oven", predicate="state", content="the oven runs twenty degrees hot", scope="kitchen"),
        kitchen,
    )
    ask = await remember.rule(butler, NewRule(content="Ask guests about allergies before planning a dinner"), kitchen)
    surprise = await remember.rule(butler, NewRule(content="Surprise dinner guests with an exotic nut sauce"), kitchen)

    # Monday: asked in other words, the allergy is found, with the evidence it came from.
    clock.move(days=1)
    found = await search.search(butler, Question(query="Which nuts make Anna ill?"), kitchen)
    assert found.results[0].hit.id == allergy.id
    (evidence,) = (await get.get(butler, "fact", allergy.ref, kitchen)).links
    assert (evidence.target_id, evidence.availability) == (dinner.id, "available")

    # The office butler knows what is shared, and neither the oven nor what happened at dinner.
    shared = await briefing("Does Anna have allergies, and does the oven work for the dinner?", office)
    assert "peanuts" in shared
    assert "oven" not in shared
    assert "came for dinner" not in shared

    # Tuesday: Anna has moved. Nobody deletes anything; the newer fact takes the place.
    clock.move(days=1)
    porto = await remember.fact(butler, NewFact(subject="anna", predicate="home-city", content="Porto"), office)
    assert porto.superseded_ref == lisbon.ref
    where = await briefing("In which city is the home of Anna now?")
    assert "Porto" in where
    assert "city: Lisbon" not in where
    chain = (await get.get(butler, "fact", porto.ref, kitchen)).chain
    assert [(fact.content, fact.validity) for fact in chain] == [("Lisbon", "superseded"), ("Porto", "active")]

    # Through the week one rule helps and another does not.
    for _ in range(5):
        clock.move(hours=8)
        await feedback.mark(butler, ask.ref, Outcome.HELPFUL, kitchen)
    for _ in range(3):
        await feedback.mark(butler, surprise.ref, Outcome.HARMFUL, kitchen, reason="a guest felt unwell")
    marked = await get.get(butler, "rule", ask.ref, kitchen)
    assert getattr(marked.memory, "maturity", None) is Maturity.ESTABLISHED

    # Friday: a note that was only ever a joke is taken back.
    joke = await remember.fact(
        butler, NewFact(subject="Anna", predicate="note:joke", content="Anna eats dinner standing on her head"), kitchen
    )
    await forget.forget(butler, "fact", f"[fact:{joke.ref}]", kitchen, reason="It was a joke.")

    # Saturday: dinner again. The briefing leads with the warning, knows the allergy, and keeps the joke to itself.
    clock.move(days=1)
    block = await briefing("Plan a dinner for Anna and think of her allergies")
    lines = block.splitlines()
    rules = lines[lines.index("## Rules") + 1 :]
    assert rules[0].startswith("- WARNING ANTI-PATTERN: Do NOT surprise dinner guests")
    assert "a guest felt unwell" in rules[0]
    assert rules[1].endswith(f"[rule:{ask.ref}] established")
    assert f"[fact:{allergy.ref}] confidence 1.00" in block
    assert "standing on her head" not in block

    # Told twice at the same moment, it is the same to the letter.
    assert await briefing("Plan a dinner for Anna and think of her allergies") == block

    # A week after it was stored the first episode has had its time; what was learned from it stays.
    clock.move(days=3)
    seen = await search.search(butler, Question(query="Anna came for dinner", min_relevance=0), kitchen)
    assert dinner.id not in {entry.hit.id for entry in seen.results}
    assert allergy.id in {entry.hit.id for entry in seen.results}

    # And the books add up.
    counts = await stats(butler)
    assert counts["memories"]["facts"] == {"active": 3, "retracted": 1, "superseded": 1}
    assert counts["rules_by_maturity"] == {"anti_pattern": 1, "established": 1}
