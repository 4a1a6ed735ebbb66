"""Facts that a note tells as well are kept once."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Item, ItemKind
from memory_butler.policy.consolidation.coverage import content_words
from memory_butler.policy.consolidation.told_twice import tell_once

EPISODE = UUID(int=1)
DAY = datetime(2026, 12, 2, tzinfo=UTC)
NOTE = Item(
    kind=ItemKind.FACT,
    evidence=(EPISODE,),
    subject="user",
    predicate="note:1",
    content="dad's hip operation is on 2 December, Mum stays with us for that week",
    importance=4,
)


def fact(predicate: str, content: str, subject: str = "user", valid_at: datetime | None = None) -> Item:
    return replace(NOTE, subject=subject, predicate=predicate, content=content, valid_at=valid_at, importance=5)


def test_an_event_within_a_note_gives_it_its_day() -> None:
    items, (note,) = tell_once([fact("event:hip", "dad's hip operation", valid_at=DAY)], [NOTE])
    assert items == []
    assert (note.content, note.valid_at, note.importance) == (NOTE.content, DAY, 5)


@pytest.mark.parametrize(
    "item",
    [
        fact("relationship:dad", "dad"),
        fact("plan:stay", "Mum stays"),
        fact("event:knee", "dad's knee operation", valid_at=DAY),
        replace(fact("event:hip", "dad's hip operation", valid_at=DAY), evidence=(UUID(int=2),)),
    ],
)
def test_other_facts_stay_beside_the_note(item: Item) -> None:
    """Properties, plans that can be called off, other words, and other episodes."""
    assert tell_once([item], [NOTE]) == ([item], [NOTE])


def test_two_days_are_two_events() -> None:
    items = [fact("event:a", "hip operation", valid_at=DAY), fact("event:b", "Mum stays", valid_at=DAY.replace(day=3))]
    assert tell_once(items, [NOTE]) == (items, [NOTE])


def test_a_note_about_more_than_the_event_does_not_take_its_day() -> None:
    note = replace(NOTE, content="creds of production come only from the vault, never from files: burned there in 2023")
    items, (left,) = tell_once([fact("event:burned", "burned", valid_at=DAY)], [note])
    assert (items, left.valid_at) == ([], None)


def test_a_note_is_about_the_person_of_its_facts() -> None:
    note = replace(NOTE, content="hania can't have eggs, not even baked in")
    (_,), (left,) = tell_once([fact("diet:eggs", "cannot have eggs", subject="Hania")], [note])
    assert left.subject == "Hania"


@given(
    st.lists(st.tuples(st.sampled_from(["event:x", "plan:x", "habit:x", "lives_in"]), st.text("abc dé", max_size=20))),
    st.lists(st.text("abc dé", min_size=1, max_size=40), max_size=3),
)
def test_nothing_is_lost(facts: list[tuple[str, str]], notes: list[str]) -> None:
    """Every fact stays, or a note has all of its words; the words of notes do not change."""
    items = [fact(predicate, content, valid_at=DAY) for predicate, content in facts]
    told = tell_once(items, [replace(NOTE, content=content) for content in notes])
    assert [one.content for one in told.notes] == notes
    said = [content_words(one.content) for one in told.notes]
    assert all(one in told.items or any(content_words(one.content) <= words for words in said) for one in items)
