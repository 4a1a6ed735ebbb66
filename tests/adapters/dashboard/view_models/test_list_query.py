"""What a list's address says, and what a row shows: pure shaping."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.adapters.dashboard.components.empty_states import first_steps
from memory_butler.adapters.dashboard.view_models import list_query
from memory_butler.adapters.dashboard.view_models.list_rows import COLUMNS_OF, columns_of
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, MemoryType, Tier
from memory_butler.models.listings import Listing, Page, Sort
from memory_butler.operations.browse.listings import SORTS
from memory_butler.settings import load_settings

FACT, RULE, EPISODE = MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE
USUAL = Listing(type=FACT, scope=EVERY_SCOPE, validity=("active", "fading"))


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ({}, USUAL),
        ({"strange": "x", "maturity": "proven"}, USUAL),
        ({"validity": "all"}, replace(USUAL, validity=())),
        ({"validity": "fading,expired"}, replace(USUAL, validity=("fading", "expired"))),
        ({"q": 'tea "no sugar" ada'}, replace(USUAL, words="tea ada", contains="no sugar")),
        ({"q": '"open end'}, replace(USUAL, contains="open end")),
        ({"q": '"one" "two"'}, replace(USUAL, contains="one", words="two")),
        ({"scope": "chef", "butler": "main"}, replace(USUAL, scope="chef", learned_by="main")),
        ({"subject": "Ada", "predicate": "tea"}, replace(USUAL, subject="Ada", predicate="tea")),
        ({"permanence": "stable", "tier": "long"}, replace(USUAL, permanence=("stable",), tier=Tier.LONG)),
        ({"tag": r"red,a\,b"}, replace(USUAL, tags=("red", "a,b"))),
        ({"tag": r"c:\temp,a\\,b\\"}, replace(USUAL, tags=(r"c:\temp", "a\\", "b\\"))),
        ({"importance_min": "3", "importance_max": "7"}, replace(USUAL, importance_min=3, importance_max=7)),
        ({"from": "2026-03-01T00:00:00.000Z"}, replace(USUAL, time_from=datetime(2026, 3, 1, tzinfo=UTC))),
        ({"to": "2026-03-01T01:00:00 01:00"}, replace(USUAL, time_to=datetime(2026, 3, 1, tzinfo=UTC))),
        ({"sort": "importance", "order": "asc"}, replace(USUAL, sort=Sort.IMPORTANCE, descending=False)),
    ],
)
def test_an_address_asks_for_a_list(address: dict[str, str], asked: Listing) -> None:
    """Each part of an address narrows the list down or sorts it; what the list does not know is left out."""
    assert list_query.listing_of(FACT, list_query.parse(FACT, address), governs=True) == asked


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"importance_min": "much"}, "Importance min. must be a number"),
        ({"from": "yesterday"}, "From must be a timestamp"),
        ({"from": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"}, "“Until” is before “From”"),
        ({"validity": "active,bogus"}, "There is no state “bogus”."),
        ({"tier": "deep"}, "There is no tier “deep”."),
        ({"sort": "colour"}, "Unknown sort 'colour'"),
    ],
)
def test_an_address_that_means_nothing_is_refused(address: dict[str, str], said: str) -> None:
    """What cannot be read is named rather than ignored, in the words that the filters have."""
    with pytest.raises(InvalidInput, match=said):
        list_query.listing_of(FACT, list_query.parse(FACT, address), governs=True)


def test_a_filter_that_a_list_does_not_have_is_named() -> None:
    """Also one that another list has; what is empty, and what the page itself puts into its address, is none."""
    address = {"q": "tea", "cursor": "x", "sort": "created", "empty": " ", "maturity": "proven", "memory": "k3f7"}
    assert list_query.unknown(RULE, address) == ("memory",)
    assert list_query.unknown(FACT, address) == ("maturity", "memory")


def test_whose_memories_are_listed() -> None:
    """Whoever governs sees every scope; others what they may see without asking. Episodes belong to a butler."""
    assert list_query.listing_of(FACT, {}, governs=False).scope is None
    episodes = list_query.listing_of(EPISODE, {"butler": "chef"}, governs=True)
    assert (episodes.scope, episodes.butler, episodes.learned_by) == (None, "chef", None)


def test_filters_come_and_go() -> None:
    """Tags add up and go one by one, anything else is replaced; every change leads to the first page."""
    wanted = {"tag": "red", "subject": "ada", "cursor": "x"}
    more = list_query.with_value(FACT, wanted, "tag", "a,b")
    assert more == {"tag": r"red,a\,b", "subject": "ada"}
    assert list_query.with_value(FACT, more, "tag", "red") == more
    assert list_query.without(FACT, more, "tag", "red") == {"tag": r"a\,b", "subject": "ada"}
    assert list_query.without(FACT, more, "subject", "ada") == {"tag": r"red,a\,b"}
    assert list_query.with_value(FACT, wanted, "subject", "bob") == {"tag": "red", "subject": "bob"}
    assert list_query.with_changes(FACT, wanted, {"maturity": "proven", "q": "  "}) == {"tag": "red", "subject": "ada"}
    chips = list_query.active_filters(FACT, {**more, "validity": "retracted", "to": "2026-03-01T00:00:00Z"})
    said = [(chip["label"], chip["text"], chip["form"]) for chip in chips]
    assert said == [
        ("State", "Forgotten", ""),
        ("Subject", "ada", ""),
        ("Tag", "red", ""),
        ("Tag", "a,b", ""),
        ("Until", "2026-03-01T00:00:00Z", "timestamp"),
    ]


@given(st.lists(st.text(alphabet="ab\\\\, \n", min_size=1).map(str.strip).filter(bool)))
def test_values_stand_together_and_come_apart_again(parts: list[str]) -> None:
    """Whatever is in them: a comma, a backslash, or one after the other at the end."""
    assert list(list_query.split_values(list_query.join_values(parts))) == parts


def test_a_click_on_a_head_sorts_and_turns_round() -> None:
    """The first click sorts falling, the second rising, and the usual order leaves nothing in the address."""
    once = list_query.sorted_by(FACT, {"subject": "ada", "cursor": "x"}, "importance")
    assert once == {"subject": "ada", "sort": "importance"}
    twice = list_query.sorted_by(FACT, once, "importance")
    assert twice == {"subject": "ada", "sort": "importance", "order": "asc"}
    assert list_query.sorted_by(FACT, twice, "importance") == once
    assert list_query.sorted_by(FACT, twice, "created") == {"subject": "ada"}
    assert list_query.sorted_by(FACT, {}, "created") == {"order": "asc"}


@pytest.mark.parametrize("kind", MemoryType)
def test_every_order_of_the_store_has_a_column_and_an_entry(kind: MemoryType) -> None:
    """Nothing that the store can sort by is missing from the page, and nothing is offered that it cannot."""
    assert {column["sort"] for column in columns_of(kind)} - {None} == {str(sort) for sort in SORTS[kind]}
    assert [one["name"] for one in list_query.sort_options(kind)] == [str(sort) for sort in SORTS[kind]]
    assert len(COLUMNS_OF[kind]) == len(columns_of(kind))


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (Page(items=(), cursor=None, total=0), "0 results"),
        (Page(items=(1,) * 50, cursor="x", total=1234), "1–50 of 1,234"),
        (Page(items=(1,) * 34, cursor=None, total=1234, start=1200), "1,201–1,234 of 1,234"),
        (Page(items=(1,) * 50, cursor="x", total_at_least=10_000, start=50), "51–100 of more than 10,000"),
        (Page(items=(1,) * 50, cursor="x", total=40, start=50), "51–100 of 100"),
    ],
)
def test_a_page_says_where_it_is(page: Page[int], words: str) -> None:
    """From which to which, and of how many; it never claims fewer than it shows."""
    assert list_query.page_position(page) == words


def test_first_steps_fit_the_shape(tmp_path: Path) -> None:
    """A store of one's own is filled from the command line, wherever it is; a service is reached with a token."""
    local = dict(first_steps(FACT, load_settings(home=tmp_path), 8181))
    [store] = local["Store the first fact"]
    assert store.startswith(f"MEMORY_BUTLER_HOME={tmp_path} ")
    assert store.endswith("remember fact Ada 'favourite tea' 'Jasmine, without sugar'")
    over_stdio, over_http = local["Connect an agent, over stdio or HTTP"]
    assert over_stdio.endswith(" mcp")
    assert "http://127.0.0.1:8181/mcp" in over_http
    service = load_settings(home=tmp_path, service={"auth": "required"})
    [(_, [line])] = first_steps(RULE, service, 443)
    assert "Authorization: Bearer <token>" in line
