"""Short references are unique, short, copied without slipping, and seldom hit by a slip."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.memories.references import ALPHABET, SHORTEST, is_reference, short_reference

FIRST_OF_FIVE = 32**4
FIRST_OF_SIX = 32**4 + 32**5


def test_the_first_200_000_differ() -> None:
    """No two of a tenant's first 200,000 memories have the same reference."""
    assert len({short_reference(count) for count in range(200_000)}) == 200_000


@pytest.mark.parametrize(("border", "length"), [(FIRST_OF_FIVE, 5), (FIRST_OF_SIX, 6)])
def test_references_grow_by_one_character_at_the_border(border: int, length: int) -> None:
    """The last of a length and the first of the next differ in length, and none around the border repeats."""
    around = [short_reference(count) for count in range(border - 1000, border + 1000)]
    assert [len(ref) for ref in around] == [length - 1] * 1000 + [length] * 1000
    assert len(set(around)) == 2000


def test_a_whole_length_is_used_up_before_the_next_begins() -> None:
    """Every four-character reference is given exactly once: nothing is wasted and nothing repeats."""
    assert len({short_reference(count) for count in range(FIRST_OF_FIVE)}) == FIRST_OF_FIVE


@given(one=st.integers(0, 2**50), other=st.integers(0, 2**50))
def test_different_counts_have_different_references(one: int, other: int) -> None:
    """Two memories share a reference only if they are the same memory."""
    assert (short_reference(one) == short_reference(other)) is (one == other)


@given(count=st.integers(0, 2**60))
def test_every_reference_is_recognised(count: int) -> None:
    """What is given out is accepted back, and has no letter that is easily misread."""
    ref = short_reference(count)
    assert is_reference(ref)
    assert SHORTEST <= len(ref) <= 13
    assert set(ref) <= set(ALPHABET)
    assert not set(ref) & set("ilou")


@pytest.mark.parametrize("text", ["", "k3f", "k3fo", "K3F7", "k3f7 ", "k3 7", "k3f7\n", "k" * 14, "fact:k3f7", "k3f７"])
def test_other_text_is_no_reference(text: str) -> None:
    """Too short, too long, capitals, blanks and letters outside the alphabet are not references."""
    assert not is_reference(text)


def test_a_mistyped_character_seldom_names_another_memory() -> None:
    """In a tenant of 10,000 memories less than 2 in 100 slips of one character hit a memory."""
    given_out = [short_reference(count) for count in range(1, 10_001)]
    known, chance = set(given_out), random.Random(7)
    hits = 0
    for _ in range(20_000):
        ref = chance.choice(given_out)
        place = chance.randrange(len(ref))
        wrong = chance.choice(ALPHABET.replace(ref[place], ""))
        hits += ref[:place] + wrong + ref[place + 1 :] in known
    assert hits / 20_000 < 0.02


def test_neighbours_do_not_look_alike() -> None:
    """Memories stored one after the other differ in at least two characters of their references."""
    refs = [short_reference(count) for count in range(1, 5_000)]
    alike = [pair for pair in pairwise(refs) if sum(a != b for a, b in zip(*pair, strict=True)) < 2]
    assert alike == []
