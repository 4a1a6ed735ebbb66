"""What a good butler tells somebody who starts to work, with the real model and database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.models import Briefing, BriefRequest, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval.indexing import catch_up
from memory_butler.operations.writing import feedback, pin, remember
from memory_butler.resources import Resources

TABS = "Always indent with tabs."
STYLE = "Start every reply with the result, at most five bullet points."


async def know(resources: Resources, subject: str, predicate: str, content: str, **given: Any) -> str:
    new = NewFact(subject=subject, predicate=predicate, content=content, **given)
    return (await remember.fact(resources, new)).ref


async def tell(resources: Resources, prompt: str, budget: int = 3000, butler: str = "main") -> Briefing:
    return await brief(resources, BriefRequest(trigger_prompt=prompt, butler=butler, token_budget=budget))


def claims(built: Briefing) -> dict[str, str]:
    return {line.ref: line.claim for line in built.receipt.lines}


@pytest.fixture
async def household(real_resources: Resources) -> Resources:
    """A family with a project, allergies, trifles and rules."""
    for subject, predicate, content, importance, tags in (
        ("user", "allergic_to:penicillin", "Nora gets hives and cannot breathe after penicillin.", 10, ("health",)),
        ("Ole", "condition:celiac", "Ole has celiac disease; no wheat, rye or barley, not even crumbs.", 10, ("food",)),
        ("Nora", "editor", "Nora writes code in Neovim.", 4, ()),
        ("Ole", "hobby", "Ole collects stamps from Norway.", 2, ()),
        ("Heron", "stack", "Heron is the ticket API of the theatre: Go and PostgreSQL.", 6, ("project",)),
        ("Heron", "deployment", "Heron is released by merging to the branch release.", 7, ("project",)),
        ("Signe Dahl", "role", "Signe Dahl of the theatre approves every Heron release.", 6, ()),
        ("Fjord Bank", "confidentiality", "Nothing of Fjord Bank may be shown to outsiders.", 9, ("client",)),
    ):
        aliases = ("Nora", "Nora Vik") if predicate.startswith("allergic") else ()
        await know(real_resources, subject, predicate, content, importance=importance, tags=tags, aliases=aliases)
    for content, tags in (
        ("Run all tests before a commit.", ("coding",)),
        ("Never mail anybody without asking Nora first.", ("mail",)),
        ("Ask Nora before buying anything above 40 euros.", ("money",)),
        (STYLE, ("style",)),
    ):
        rule = await remember.rule(real_resources, NewRule(content=content, tags=tags))
        for _ in range(5):
            await feedback.mark(real_resources, rule.ref, Outcome.HELPFUL)
    episode = NewEpisode(content="Fjord Bank: the LEDGER_ROW export still fails on Sundays.", butler="main")
    await remember.episode(real_resources, episode)
    return real_resources


@pytest.mark.parametrize(
    ("prompt", "told", "untold"),
    [
        ("what shall we eat on saturday, friends are coming", ["celiac"], ["stamps", "Heron"]),
        ("refactor the date parser and commit it", ["Run all tests"], ["celiac", "penicillin", "stamps"]),
        ("write to the school that we will be late", ["Never mail"], ["Heron", "stamps"]),
        ("order a new office chair", ["above 40 euros"], ["Heron", "stamps"]),
        ("the doctor wants to prescribe me an antibiotic", ["penicillin"], ["stamps", "Neovim"]),
        ("release heron", ["branch release", "Signe Dahl"], ["stamps", "penicillin"]),
        ("why does the LEDGER_ROW export fail? maybe ask in a forum", ["LEDGER_ROW", "outsiders"], ["stamps"]),
        ("tell me a joke about penguins", [STYLE], ["penicillin", "celiac", "stamps", "Heron"]),
    ],
)
async def test_what_the_work_needs(
    household: Resources, prompt: str, told: Sequence[str], untold: Sequence[str]
) -> None:
    """Vital facts, standing rules and what is one step away come though the task does not mention them."""
    built = await tell(household, prompt)
    assert [words for words in told if words not in built.text] == []
    assert [words for words in untold if words in built.text] == []
    assert STYLE in built.text, "how to answer applies to all work"


async def test_what_is_vital_is_the_last_to_go(household: Resources) -> None:
    """From a few tokens up, the first line of a dinner is the disease; no larger budget loses a line."""
    prompt, before = "plan the meals for the week, Ole is here", set[str]()
    for budget in range(20, 700, 20):
        built = await tell(household, prompt, budget)
        now = {line.ref for line in built.receipt.lines}
        assert before <= now
        if now and not before:
            assert "celiac" in built.text and built.receipt.lines[0].claim == "vital"
        before = now
    assert len(before) >= 3


async def test_pinned_memories_are_in_every_briefing(real_resources: Resources) -> None:
    """The README's example: a pinned rule of all butlers, and a task that shares no word with it."""
    rule = await remember.rule(real_resources, NewRule(content=TABS))
    await pin.pin(real_resources, "rule", rule.ref)
    for prompt in ("Write a Python function that parses CSV", "hello", "boil an egg"):
        for butler in ("main", "home"):
            assert TABS in (await tell(real_resources, prompt, butler=butler)).text
    assert TABS in (await tell(real_resources, "Write a Python function that parses CSV", 40)).text


async def test_the_user_is_one_subject_under_all_names(real_resources: Resources) -> None:
    """A new value under another name replaces the old one; neither the fact nor the episode that said it is told."""
    seen = await remember.episode(real_resources, NewEpisode(content="Mira lives in Porto.", butler="main"))
    await know(real_resources, "user", "name", "Mira Sol", aliases=("Mira", "Mira Sol"))
    await know(real_resources, "Mira", "lives_in", "Porto", source_episode=f"episode:{seen.ref}")
    new = await know(real_resources, "user", "lives_in", "Mira moved to Lisbon in May.")
    await know(real_resources, "Mum", "phone", "0151 111", aliases=("Renate",))
    await know(real_resources, "Renate", "phone", "0151 222")
    built = await tell(real_resources, "Where does Mira live now?")
    assert f"fact:{new}" in claims(built)
    assert "Porto" not in built.text
    phone = await tell(real_resources, "what is Renate's phone number?")
    assert "0151 222" in phone.text and "0151 111" not in phone.text


async def test_an_alias_of_two_people_names_neither(real_resources: Resources) -> None:
    """Two children are called "the little one": what is stored for one never replaces what is known of the other."""
    first = await know(real_resources, "Ida", "school", "Ida goes to the forest school.", aliases=("the little one",))
    second = await know(real_resources, "Tom", "school", "Tom goes to the town school.", aliases=("the little one",))
    third = await know(real_resources, "the little one", "school", "The little one goes to the music school.")
    built = claims(await tell(real_resources, "which school do Ida and Tom and the little one go to?"))
    assert {f"fact:{ref}" for ref in (first, second, third)} <= set(built)


async def test_what_one_scope_holds_does_not_change_anothers_briefing(household: Resources) -> None:
    prompt = "refactor the date parser and commit it"
    before = (await tell(household, prompt)).text
    for n in range(12):
        await remember.rule(household, NewRule(content=f"Squash commit number {n} of the parser.", scope="other"))
        await remember.episode(household, NewEpisode(content=f"Parser refactored, part {n}.", butler="other"))
    assert (await tell(household, prompt)).text == before


async def test_a_rule_is_found_among_many_memories(real_resources: Resources) -> None:
    """No list by words or meaning holds it: only its kind of work leads to it."""
    await remember.rule(
        real_resources, NewRule(content="Nothing leaves in Dag's name before he read it.", tags=("mail",))
    )
    for n in range(150):
        await know(real_resources, f"tenant {n}", "letter", f"The tenant of flat {n} got a letter about the stairs.")
        await remember.rule(
            real_resources, NewRule(content=f"Water plant number {n} on day {n % 28 + 1} of the month.")
        )
    built = await tell(real_resources, "write a letter to the tenants about the noise on the stairs")
    assert "Dag's name" in built.text


async def test_memories_without_a_profile_get_one(household: Resources) -> None:
    """After a change of the domains, the upkeep profiles all memories again; until then words and names decide."""
    changed = replace(household, domains=_extended(household))
    prompt = "refactor the date parser"
    assert "Run all tests" not in (await tell(changed, prompt)).text
    assert await catch_up(changed, changed.settings.tenant) > 0
    assert "Run all tests" in (await tell(changed, prompt)).text
    assert await catch_up(changed, changed.settings.tenant) == 0


def _extended(resources: Resources) -> Any:
    from memory_butler.ai.domains import DomainModel, load_domains
    from memory_butler.settings.retrieval import DomainSettings

    domains = load_domains({"beekeeping": DomainSettings(tasks=("check the hives",), memories=("The queen is old.",))})
    return DomainModel(resources.embedder, domains, resources.settings.home / "models")


async def test_statements_are_told_once(real_resources: Resources) -> None:
    await know(
        real_resources, "user", "units", "Ivo wants metric units and Celsius, inches are useless.", aliases=("Ivo",)
    )
    await know(real_resources, "Ivo", "measurement_system", "Ivo prefers metric units.")
    built = await tell(real_resources, "convert this recipe for Ivo, it has cups and Fahrenheit")
    assert built.text.count("metric") == 1
    assert [entry["reason"][:17] for entry in built.receipt.left_out] == ["says the same as "]
