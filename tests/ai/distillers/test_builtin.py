"""The built-in distiller as a distiller: proposals with evidence."""

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from tests.ai.distillers.batches import NOW, batch, until

from memory_butler.ai.distillers import builtin
from memory_butler.ai.distillers.builtin import QUICK_CHARACTERS, BuiltInDistiller
from memory_butler.models import Batch, Usage
from memory_butler.policy.consolidation.proposals import check


async def proposal_for(given: Batch) -> Any:
    return (await BuiltInDistiller().distil(given)).proposal


async def test_what_an_episode_says_becomes_a_proposal_that_cites_it() -> None:
    """Facts and rules in the form that every distiller answers in, at no cost."""
    answer = await BuiltInDistiller().distil(batch("I work at Acme. Always run the tests before committing."))
    assert answer.usage == Usage()
    assert isinstance(answer.proposal, dict) and answer.proposal["version"] == 1
    (fact,) = answer.proposal["facts"]
    assert (fact["subject"], fact["predicate"], fact["content"]) == ("user", "works_at", "Acme")
    assert (fact["permanence"], fact["importance"], fact["valid_at"]) == ("stable", 7, None)
    assert fact["evidence"] == ["episode:ep00"]
    (rule,) = answer.proposal["rules"]
    assert "tests" in rule["content"] and rule["evidence"] == ["episode:ep00"]


async def test_the_same_fact_from_several_episodes_is_one_item_with_all_of_them() -> None:
    proposal = await proposal_for(batch("I'm allergic to peanuts.", "Nice weather.", "I am allergic to peanuts."))
    (fact,) = proposal["facts"]
    assert fact["predicate"] == "allergic_to:peanuts"
    assert fact["evidence"] == ["episode:ep00", "episode:ep02"]


async def test_the_newest_word_comes_last_whatever_the_order_of_the_batch() -> None:
    """Applied in this order, the value that was said last stands, also when the first one came back."""
    texts = ["I live in Lisbon.", "I live in Berlin.", "I live in Lisbon."]
    later = [NOW + timedelta(days=days) for days in (2, 1, 0)]
    proposal = await proposal_for(batch(*texts, at=later))
    assert [(fact["content"], fact["evidence"]) for fact in proposal["facts"]] == [
        ("Berlin", ["episode:ep01"]),
        ("Lisbon", ["episode:ep02", "episode:ep00"]),
    ]


async def test_events_carry_their_moment() -> None:
    """The same words on two days are two events."""
    later = [NOW, NOW + timedelta(days=7)]
    proposal = await proposal_for(batch(*["I have a dentist appointment tomorrow."] * 2, at=later))
    assert [fact["valid_at"][:10] for fact in proposal["facts"]] == ["2026-03-05", "2026-03-12"]
    assert all(fact["valid_at"].endswith("Z") for fact in proposal["facts"])


async def test_validation_finds_nothing_wrong_with_it() -> None:
    """Every item is grounded in the episodes it cites, single, and of the right form."""
    given = batch(
        "I'm Ana, I live in Porto and I work as a nurse at Santa Maria.",
        "My sister Anna is allergic to peanuts. I don't drink coffee any more.",
        "User prefers dark mode. Always answer in metric units.",
        "I have a dentist appointment next Friday at 3pm. My email is ana@example.org.",
        "Never deploy on Fridays, because nobody is there to fix it.",
    )
    checked = check(await proposal_for(given), given)
    assert checked.refused == ()
    assert len(checked.items) >= 10


async def test_only_what_is_not_the_memory_s_own_is_read() -> None:
    """The texts of the batch count, not the episodes' contents."""
    given = batch("I work at Acme.")
    blank = Batch(butler="main", episodes=given.episodes, texts={}, known=(), now=NOW)
    assert await proposal_for(blank) == {"version": 1, "facts": [], "rules": []}


async def test_a_large_batch_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in another thread: something else runs meanwhile."""
    may_go_on, seen = threading.Event(), []

    def waits(text: str, _: object) -> list[Any]:
        seen.append(threading.current_thread())
        assert may_go_on.wait(10)
        return []

    monkeypatch.setattr(builtin, "distil", waits)
    task = asyncio.create_task(proposal_for(batch("x" * (QUICK_CHARACTERS + 1))))
    await until(lambda: seen)
    may_go_on.set()
    await task
    assert seen[0] is not threading.main_thread()


async def test_the_user_s_name_is_learned_in_any_language() -> None:
    """So that what is said of "Ute" later is known to be said of the user."""
    proposal = await proposal_for(batch("Ich heiße Ute und bin Hebamme.", "Hans: Ich heiße Hans."))
    (found,) = proposal["facts"]
    assert (found["subject"], found["predicate"], found["content"]) == ("user", "name", "Ute")
