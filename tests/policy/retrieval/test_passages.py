"""Passages cover what a text says, leave out who says it, and stay few."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from memory_butler.ai.embedding import MAX_TOKENS
from memory_butler.ai.tokens import DEFAULT_SPEC, TokenCounter, open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.english.text.names import is_speaker
from memory_butler.english.text.speaker_labels import labels
from memory_butler.policy.retrieval import passages
from memory_butler.policy.retrieval.passages import MAX_PASSAGES, cut_passages, passage_head

PADDING = "This sentence is only here to make the whole text longer than a short one. It goes on for a while. "

TABLE = {
    "a blank text has none": ("  \n ", []),
    "a short text stays whole": ("I like tea. I drink it daily.", ["I like tea. I drink it daily."]),
    "a longer text becomes its sentences": (
        "I moved to Lisbon in the spring of last year. My sister helped me carry every single box! Was it worth it? "
        "I believe that it was.",
        [
            "I moved to Lisbon in the spring of last year.",
            "My sister helped me carry every single box!",
            "Was it worth it? I believe that it was.",
        ],
    ),
    "who speaks is left out": (
        "Melanie: I signed up for a pottery class yesterday. It was like therapy for me, letting me express myself. "
        'She said "hooray!" to all of us there.',
        [
            "I signed up for a pottery class yesterday.",
            "It was like therapy for me, letting me express myself.",
            'She said "hooray!" to all of us there.',
        ],
    ),
    "a transcript changes speakers": (
        "User: How do I renew my passport before the trip? I leave in May.\n"
        "Support Desk: Send us the old one first. We answer within two weeks of that.",
        [
            "How do I renew my passport before the trip?",
            "I leave in May.",
            "Send us the old one first.",
            "We answer within two weeks of that.",
        ],
    ),
    "also in a short text": ("Ann: Tea, Bob?\nBob: Yes, Ann: a cup.", ["Tea, Bob?\nYes, Ann: a cup."]),
    "a heading stays, it is no speaker": ("Note: Ann is away until May.", ["Note: Ann is away until May."]),
    "a speaker who says nothing is all there is": ("Ann:", ["Ann:"]),
    "a role speaks, too": ("user: Which tram goes to the harbour?", ["Which tram goes to the harbour?"]),
    "list items stand alone": (
        "- buy oat milk and some bread for the week\n- call the dentist about Thursday's appointment\n"
        "1. renew the insurance of the car in time",
        [
            "- buy oat milk and some bread for the week",
            "- call the dentist about Thursday's appointment",
            "1. renew the insurance of the car in time",
        ],
    ),
    "code is not cut at its dots": (
        "Run this before every release, please:\n```python\nx = load(). \nprint(x)\nassert x.ok! \n```\n"
        "Then tell everybody that it is done and go home.",
        [
            "Run this before every release, please:",
            "```python\nx = load(). \nprint(x)\nassert x.ok! \n```",
            "Then tell everybody that it is done and go home.",
        ],
    ),
    "a wrapped line goes on": (
        "The quarterly review of the storage service was moved from Monday\nto the following Thursday because of the "
        "holiday. Everybody agreed to that.",
        [
            "The quarterly review of the storage service was moved from Monday\nto the following Thursday because of "
            "the holiday.",
            "Everybody agreed to that.",
        ],
    ),
    "sentences need no spaces": (
        "昨日は友達と一緒に新しい美術館へ行って、現代絵画の展覧会を見ました。とても混んでいましたが、それでも本当に楽しかったです！"
        "来月はもう一度、家族みんなを連れて同じ場所に行くつもりです。その後で近くのレストランで食事をする予定になっています。",
        [
            "昨日は友達と一緒に新しい美術館へ行って、現代絵画の展覧会を見ました。",
            "とても混んでいましたが、それでも本当に楽しかったです！",
            "来月はもう一度、家族みんなを連れて同じ場所に行くつもりです。",
            "その後で近くのレストランで食事をする予定になっています。",
        ],
    ),
}


def spans_of(text: str) -> list[passages.Span]:
    return passages._spans(passages._Speech(text))


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> TokenCounter:
    folder = resolve_weights(None, tmp_path_factory.mktemp("models"), hub_url=None).folder
    return open_token_counter(DEFAULT_SPEC, folder)


@pytest.mark.parametrize(("text", "expected"), TABLE.values(), ids=TABLE.keys())
def test_table(text: str, expected: list[str]) -> None:
    assert cut_passages(text) == expected


def test_a_head_stands_before_every_passage() -> None:
    assert cut_passages("tea", head="Ann likes") == ["Ann likes tea"]
    assert cut_passages(" ", head="Ann likes") == ["Ann likes"]
    longer = cut_passages(PADDING * 2 + "The end of it all.", head="Ann likes ")
    assert len(longer) > 1
    assert all(passage.startswith("Ann likes ") for passage in longer)


def test_a_fact_is_about_its_predicate_and_a_subject_that_is_no_name() -> None:
    """A name is matched as one; what is no name belongs to the meaning."""
    assert passage_head("Anna", "favorite_color", "green") == "favorite color:"
    assert passage_head("billing_service", "port", "8080") == "billing service port:"
    assert passage_head("User", "home", "Lisbon") == "User home:"
    assert passage_head(None, None, "green") == ""


def test_what_the_content_says_is_not_said_before_it_once_more() -> None:
    """Things of one kind are kept apart by their predicate, which then repeats the content."""
    assert passage_head("user", "likes:green_tea", "green tea") == "user likes:"
    assert passage_head("user", "event:dentist_dr_torres", "at the dentist, Dr. Torres") == "user event:"
    assert passage_head("Anna", "plays_piano", "plays the piano") == ""


def test_a_repeated_passage_counts_once() -> None:
    assert len(cut_passages(PADDING * 10)) == 2


@pytest.mark.parametrize(
    "unit",
    [
        "plain words of English ",
        "我昨天和朋友一起去了新的美术馆",
        "Вчера мы ходили в музей ",
        "3141592653589793 ",
        "x[i]+=(a*b);",
    ],
)
def test_the_model_reads_every_passage_of_a_long_text_to_its_end(unit: str, counter: TokenCounter) -> None:
    assert len(spans_of(unit * 200)) > 1
    assert all(counter.count(passage) <= MAX_TOKENS - 2 for passage in cut_passages(unit * 200))


def test_wide_gaps_make_no_empty_passages() -> None:
    gap = " " * 5000
    assert cut_passages(f"one{gap}two.\n{gap}three{gap}\n```\ncode\n```\n{gap}four") == [
        "one",
        "two.",
        "three",
        "```\ncode\n```",
        "four",
    ]


def test_a_very_long_text_has_a_bounded_number_of_passages() -> None:
    text = " ".join(f"This is the sentence with number {n}." for n in range(5000))
    found = cut_passages(text)
    assert len(found) == MAX_PASSAGES
    assert " ".join(found) == text


@pytest.mark.parametrize("unit", ["!", ". ", "\n", "a", "。", "```\n", "A: ", "」", '"', " \t", ".\u00a0\n", "a-a.a "])
def test_cutting_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: cut_passages("x" + unit * (size // len(unit)) + "x"), 40_000, 400_000)


TEXTS = st.text(
    st.one_of(st.sampled_from(". !?…。！？\n\t\"')`~:-1aB\u3000\u2028"), st.characters()), max_size=400
) | st.lists(
    st.sampled_from(["Ann: ", "Hello there. ", "```\n", "word ", "\n\n", "- item\n", "長い文。", " " * 1000]),
    max_size=600,
).map("".join)


@given(TEXTS)
def test_spans_cover_the_text_without_gap_or_overlap(text: str) -> None:
    text = text.strip()
    spans = spans_of(text)
    assert len(spans) <= MAX_PASSAGES
    assert (spans[0][0], spans[-1][1]) == (0, len(text)) if text else not spans
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    assert all(text[start:end].strip() for start, end in spans)


@given(TEXTS)
def test_passages_are_never_empty_and_hold_all_of_the_text(text: str) -> None:
    found = cut_passages(text)
    assert all(passage == passage.strip() and passage for passage in found)
    assert len(set(found)) == len(found) <= MAX_PASSAGES
    text = text.strip()
    who = {place for label in labels(text) if is_speaker(label) for place in range(label.start, label.end)}
    pieces = [
        "".join(text[place] for place in range(start, end) if place not in who).strip() for start, end in spans_of(text)
    ]
    assert found == (list(dict.fromkeys(filter(None, pieces))) or ([text] if text else []))


@given(TEXTS)
def test_the_same_text_is_always_cut_the_same_way(text: str) -> None:
    assert cut_passages(text) == cut_passages(text) == cut_passages(f"\n {text} ")


def test_the_policy_has_a_version() -> None:
    assert passages.PASSAGE_POLICY_VERSION == 4
