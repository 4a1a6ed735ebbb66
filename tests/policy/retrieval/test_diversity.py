"""An answer does not say the same thing again and again."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_quick

from memory_butler.models import Maturity, MemoryType, Ranked
from memory_butler.policy.retrieval.diversity import SHARE, diversified

MakeRanked = Callable[..., Ranked]
LONG = "The deployment of the billing service failed because the certificate of the gateway had run out over night"


def refs(entries: list[Ranked]) -> list[str]:
    return [f"{entry.hit.type}:{entry.hit.ref}" for entry in entries]


def episodes(make: MakeRanked, *texts: str, **given: object) -> list[Ranked]:
    return [make(n, MemoryType.EPISODE, content=text, **given) for n, text in enumerate(texts, start=1)]


def test_what_says_the_same_collapses_into_the_best(make_ranked: MakeRanked) -> None:
    """Letters' case and marks make no difference, nor, in a long text, idle words; the others are named with it."""
    texts = [LONG, "Something else.", f"{LONG.upper()}!", f"Well, {LONG} actually", "something ELSE"]
    ranked = episodes(make_ranked, *texts)
    kept = diversified(ranked, 10)
    assert [entry.hit.id.int for entry in kept] == [1, 2]
    assert [list(entry.also) for entry in kept] == [refs([ranked[2], ranked[3]]), refs([ranked[4]])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna likes tea", "Anna likes coffee"),
        (f"{LONG}, error 4711", f"{LONG}, error 4712"),
        (LONG, LONG.replace("failed", "never failed")),
        (LONG, LONG.replace("failed", "didn't fail")),
        (LONG, LONG.replace("failed", "succeeded")),
        (f"{LONG} before the deploy", f"{LONG} after the deploy"),
        (f"{LONG} today", f"{LONG} yesterday"),
        (f"{LONG}, said Anna to Ben", f"{LONG}, said Ben to Anna"),
        ("???", "!!!"),
    ],
    ids=["short", "number", "never", "not", "opposite", "before or after", "time", "order", "no words"],
)
def test_what_differs_in_what_matters_does_not_collapse(make_ranked: MakeRanked, one: str, other: str) -> None:
    """In a short text every word counts, and in any text one with a meaning does."""
    kept = diversified(episodes(make_ranked, one, other), 10)
    assert len(kept) == 2
    assert not any(entry.also for entry in kept)


@pytest.mark.parametrize("text", ["Ask first.", LONG])
def test_nothing_collapses_across_types_and_scopes(make_ranked: MakeRanked, text: str) -> None:
    """A rule is no episode, one butler's own is not everybody's, and a warning is the opposite of what it says."""
    ranked = [
        make_ranked(1, MemoryType.RULE, content=text),
        make_ranked(2, MemoryType.EPISODE, content=text),
        make_ranked(3, MemoryType.RULE, content=text, scope="health"),
        make_ranked(4, MemoryType.RULE, content=text, maturity=Maturity.ANTI_PATTERN),
    ]
    assert diversified(ranked, 10) == ranked


def test_an_event_that_happened_again_is_another_event(make_ranked: MakeRanked) -> None:
    """The same words about two moments are two facts; about one moment they are one."""
    first = make_ranked(1, content="80 kg")
    moments = [first.hit.created_at + timedelta(days=day) for day in (0, 1, 1)]
    ranked = [make_ranked(n, content="80 kg", valid_at=moment) for n, moment in enumerate(moments, start=1)]
    kept = diversified(ranked, 10)
    assert [entry.hit.id.int for entry in kept] == [1, 2]
    assert kept[1].also == tuple(refs([ranked[2]]))


def test_a_cluster_waits_once_it_has_had_its_share(make_ranked: MakeRanked) -> None:
    """Of ten results three are about one property before others get their turn; with nothing else it has them all."""
    weights = [make_ranked(n, content=f"{n} kg", subject_label="Anna", predicate_label="weighs") for n in range(1, 9)]
    others = [make_ranked(n, content=f"thing {n}", predicate_label=f"p{n}") for n in range(9, 15)]
    kept = diversified([*weights, *others], 10)
    assert [entry.hit.id.int for entry in kept] == [1, 2, 3, 9, 10, 11, 12, 13, 14, 4]
    assert diversified(weights, 10) == weights


def test_only_facts_are_of_a_cluster(make_ranked: MakeRanked) -> None:
    """Episodes have no subject; a session may fill an answer."""
    ranked = episodes(make_ranked, *(f"text {n}" for n in range(10)), session_id="one")
    assert diversified(ranked, 10) == ranked


answers = st.lists(
    st.tuples(
        st.sampled_from(MemoryType),
        st.sampled_from(["global", "health"]),
        st.sampled_from(["x", "y", "z"]),
        st.one_of(
            st.sampled_from(
                ["Anna likes tea", "anna likes TEA!", LONG, f"Well, {LONG} actually", f"{LONG} twice in 3 days"]
            ),
            st.text("ab ", max_size=6),
        ),
    ),
    max_size=30,
)


def made(make: MakeRanked, entries: list[tuple[MemoryType, str, str, str]]) -> list[Ranked]:
    return [
        make(n, kind, scope=scope, content=content, **({"predicate_label": label} if kind is MemoryType.FACT else {}))
        for n, (kind, scope, label, content) in enumerate(entries, start=1)
    ]


@given(entries=answers, limit=st.integers(1, 40))
def test_no_text_is_lost_and_the_order_stands(
    make_ranked: MakeRanked, entries: list[tuple[MemoryType, str, str, str]], limit: int
) -> None:
    """With room for all, each candidate is kept or named by one that is; only clusters over their share move."""
    ranked = made(make_ranked, entries)
    kept = diversified(ranked, len(ranked) + limit)
    named = [ref for entry in kept for ref in (*refs([entry]), *entry.also)]
    assert sorted(named) == sorted(refs(ranked))
    share = max(1, round(SHARE * (len(ranked) + limit)))
    by_place = [entry.hit.id for entry in ranked]
    first, seen = [], dict.fromkeys("xyz", 0)
    for at, entry in enumerate(kept):
        label = entry.hit.predicate_label
        if label:
            seen[label] += 1
        if not label or seen[label] <= share:
            first.append(by_place.index(entry.hit.id))
        else:
            assert [e for e in kept[at:] if not e.hit.predicate_label] == []
    assert first == sorted(first)


@given(entries=answers, limit=st.integers(1, 12))
def test_the_first_distinct_ones_are_kept(
    make_ranked: MakeRanked, entries: list[tuple[MemoryType, str, str, str]], limit: int
) -> None:
    """Without clusters, an answer of n holds the first n of what remains of all: none is lost to a later one."""
    ranked = [entry for entry in made(make_ranked, entries) if entry.hit.type is not MemoryType.FACT]
    whole = diversified(ranked, len(ranked) or 1)
    kept = diversified(ranked, limit)
    assert [entry.hit.id for entry in kept] == [entry.hit.id for entry in whole][:limit]
    assert kept == whole[: len(kept)]


def test_a_long_list_is_quick(make_ranked: MakeRanked) -> None:
    """A thousand texts that are cut from one pattern and say different things take a small part of a second."""
    common = " ".join(f"common{chr(97 + n)}" for n in range(20))

    def own(number: int) -> str:
        return " ".join(f"own{part}" + "".join(chr(97 + int(digit)) for digit in str(number)) for part in "xyz")

    ranked = episodes(make_ranked, *(f"{common} {own(number)}" for number in range(1000)))
    assert_quick(lambda: diversified(ranked, len(ranked)), 0.5)
    assert diversified(ranked, len(ranked)) == ranked
