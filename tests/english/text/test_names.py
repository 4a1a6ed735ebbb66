"""Names: what counts as one, whom a memory stands under, and what is left of a question without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from memory_butler.english.text.names import (
    MAX_INDEXED,
    MAX_POSSIBLE,
    guess_names,
    indexed_names,
    looks_like_name,
    name_key,
    possible_names,
    secondary_names,
    speakers,
    unheard,
    without_names,
)
from memory_butler.english.text.normalize import normal_name
from memory_butler.english.text.stop_words import STOP_WORDS
from memory_butler.models import MemoryType

SUBJECTS = {
    "Anna": True,
    "Anna Schmidt": True,
    "anna": False,
    "anna_schmidt": False,
    "Anna_Schmidt": True,
    "Ludwig van Beethoven": False,
    "Billing Service": True,
    "billing service": False,
    "The Garden": True,
    "the garden": False,
    "Route 66": True,
    "66": False,
    "小明": True,
    "אנה": True,
    "Éva": True,
    "User": False,
    "user": False,
    "The User": False,
    "Assistant": False,
    "Me": False,
    "A Very Long Title": False,
    "": False,
}

SPEAKERS = {
    "a speaker": ("Anna: Hello there", ["Anna"]),
    "several, each once": ("Anna: Hello\nBob Jones: Hi\nAnna: Bye now", ["Anna", "Bob Jones"]),
    "no role": ("User: Hello\nassistant: Hi\nAI: Well\nSystem: x\nHuman: y", []),
    "no heading": ("Note: x\nTODO: y\nQ: what?\nA: that\nNext Steps: z\nStep 1: mix", []),
    "no heading with a list below": ("Groceries:\n- milk\nAnna: \n\n- bread", []),
    "no time and no address": ("10:30 met Bob\nhttps://example.org\nmailto:bob@example.org\nAt 10: breakfast", []),
    "not in the middle of a line": ("She said Anna: no", []),
    "not in code": ("```\nAnna: 1\n```\nBob: 2", ["Bob"]),
    "nothing small": ("anna: hello", []),
    "a script without case": ("小明：你好\n小红: 再见", ["小明", "小红"]),
}

QUESTIONS = {
    "a name in the middle": ("What did Caroline research?", {"caroline"}, "What did research?"),
    "its possessive": ("What is Anna's favorite color?", {"anna"}, "What is favorite color?"),
    "a curly possessive": ("What is Anna’s favorite color?", {"anna"}, "What is favorite color?"),
    "a possessive without s": ("Where is James' car?", {"james"}, "Where is car?"),
    "the whole name rather than its part": (
        "Which pets has Anna Schmidt?",
        {"anna", "anna_schmidt"},
        "Which pets has?",
    ),
    "overlapping names": ("Which pets has Anna Maria Schmidt?", {"anna_maria", "maria_schmidt"}, "Which pets has?"),
    "only what is known": ("Did Anna meet Bob in Lisbon?", {"bob"}, "Did Anna meet in Lisbon?"),
    "at the beginning": ("Anna, which pets do you have?", {"anna"}, "which pets do you have?"),
    "small, like everything in it": ("which pets has anna?", {"anna"}, "which pets has?"),
    "small, where names have capitals": ("Did Anna plant roses?", {"roses", "anna"}, "Did plant roses?"),
    "small, after an article": ("what grows in the garden?", {"garden"}, "what grows in the garden?"),
    "with a dot": ("What did Dr. Smith prescribe?", {"dr._smith"}, "What did prescribe?"),
    "with or without a dot": ("What did Dr. Smith prescribe?", {"dr_smith"}, "What did prescribe?"),
    "initials": ("Who shot J.R.?", {"j.r."}, "Who shot?"),
    "without spaces": ("小明喜欢什么颜色", {"小明"}, "喜欢什么颜色"),
    "with an underscore": ("which pets has anna_schmidt?", {"anna_schmidt"}, "which pets has?"),
    "nothing would be left": ("Who is Anna?", {"anna"}, "Who is Anna?"),
    "nothing but stop words would be left": ("What does Anna like?", {"anna"}, "What does Anna like?"),
    "nothing known": ("Who is Anna?", set(), "Who is Anna?"),
}

GUESSES = {
    "What did Caroline research?": ["caroline"],
    "Caroline's research?": ["caroline", "caroline's"],
    "Which pets has Anna Schmidt?": ["anna_schmidt", "anna", "schmidt"],
    "What did Will say in May?": ["will"],
    "Will it rain? What then?": [],
    "On Monday I met the User": [],
    "which pets has anna?": [],
    "WHICH PETS HAS ANNA?": [],
}


@pytest.mark.parametrize(("label", "expected"), SUBJECTS.items())
def test_a_subject_is_a_name_if_it_is_written_like_one(label: str, expected: bool) -> None:
    assert looks_like_name(label) is expected


@pytest.mark.parametrize(("content", "expected"), SPEAKERS.values(), ids=SPEAKERS.keys())
def test_speakers(content: str, expected: list[str]) -> None:
    assert list(speakers(content)) == expected


def test_whom_a_memory_stands_under() -> None:
    """A fact under its subject, an episode under its speakers, a rule under nobody."""
    assert indexed_names(MemoryType.FACT, "Anna Schmidt", "Bob: hello") == ["anna_schmidt"]
    assert indexed_names(MemoryType.FACT, "user", "Bob: hello") == []
    assert indexed_names(MemoryType.EPISODE, None, "Anna Schmidt: hello\nBob: hi") == ["anna_schmidt", "bob"]
    assert indexed_names(MemoryType.RULE, None, "Bob: hello") == []


def test_what_a_memory_answers_to_besides() -> None:
    """A subject however it is written, and the parts of a name; not of one with a common word or a number in it."""
    assert secondary_names(MemoryType.FACT, "Anna Schmidt", "x") == ["anna_schmidt", "anna", "schmidt"]
    assert secondary_names(MemoryType.FACT, "billing-service", "x") == ["billing_service"]
    assert secondary_names(MemoryType.FACT, "user", "x") == ["user"]
    assert secondary_names(MemoryType.FACT, "The Garden", "x") == ["the_garden"]
    assert secondary_names(MemoryType.FACT, "Anna's Car", "x") == ["anna's_car"]
    assert secondary_names(MemoryType.FACT, "Route 66", "x") == ["route_66"]
    assert secondary_names(MemoryType.EPISODE, None, "Dr. Smith: hello\nBob: hi") == ["smith"]
    assert secondary_names(MemoryType.RULE, None, "Anna Schmidt: hello") == []


def test_a_memory_stands_under_a_bounded_number_of_names() -> None:
    crowd = "\n".join(f"Speaker{chr(0x4E00 + n)} Jones: hello" for n in range(500))
    assert len(indexed_names(MemoryType.EPISODE, None, crowd)) == MAX_INDEXED
    assert len(secondary_names(MemoryType.EPISODE, None, crowd)) == MAX_INDEXED


@pytest.mark.parametrize(("query", "known", "expected"), QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_question_without_names(query: str, known: set[str], expected: str) -> None:
    assert known <= set(possible_names(query))
    assert without_names(query, known) == expected


@pytest.mark.parametrize(("query", "expected"), GUESSES.items())
def test_a_guess_goes_by_capitals(query: str, expected: list[str]) -> None:
    assert guess_names(query) == expected


def test_of_a_long_question_the_likeliest_names_are_looked_up() -> None:
    """Whatever surrounds it, a name with a capital is among them; words without a meaning and roles are not."""
    filler = " ".join(f"look at this {chr(97 + n)}word of a lengthy question" for n in range(26))
    query = f"{filler} and what Anna Schmidt told the user"
    found = possible_names(query)
    assert found[:3] == ["anna_schmidt", "anna", "schmidt"]
    assert len(found) <= MAX_POSSIBLE
    assert not STOP_WORDS.union({"user"}).intersection(found)


def test_looking_for_names_takes_linear_time() -> None:
    def find(size: int) -> str:
        query = "Anna's 小明 and so-on. " * size
        return without_names(query, possible_names(query))

    assert_linear(find, 400, 4_000)


WORDS = st.sampled_from(
    ["Anna", "anna", "Schmidt's", "the", "What", "garden", "小明喜欢", "J.R.", "O’Neil", "I", "x_y", "?"]
)
QUERIES = st.text(max_size=200) | st.lists(WORDS, max_size=30).map(" ".join)


@given(QUERIES)
def test_possible_names_are_few_distinct_and_in_normal_form(query: str) -> None:
    found = possible_names(query)
    assert len(set(found)) == len(found) <= MAX_POSSIBLE
    assert all(key == normal_name(key) == name_key(key) and key for key in found)


@given(QUERIES)
def test_a_guess_is_among_the_possible_names(query: str) -> None:
    assert set(guess_names(query)) <= set(possible_names(query))


@given(QUERIES, st.data())
def test_taking_names_out_leaves_a_question_and_nothing_new(query: str, data: st.DataObject) -> None:
    """Every word that is left was there, something is left of what was there, and it can be said twice."""
    known = data.draw(st.sets(st.sampled_from([*possible_names(query), "nobody"])))
    rest = without_names(query, known)
    assert bool(rest.strip()) == bool(query.strip())
    assert len(rest) <= len(query)
    left = iter("".join(query.split()))
    assert all(char in left for char in "".join(rest.split()))
    assert without_names(query, known) == rest


@given(QUERIES)
def test_a_question_without_known_names_is_as_it_was(query: str) -> None:
    assert without_names(query, []) == query
    assert without_names(query, ["nobody at all"]) == query


@given(st.text(max_size=300), st.sampled_from(MemoryType), st.none() | st.text(min_size=1, max_size=40))
def test_memories_stand_under_keys(content: str, kind: MemoryType, subject: str | None) -> None:
    """Whatever the text: keys that are not empty, each once, and not too many."""
    for found in (indexed_names(kind, subject, content), secondary_names(kind, subject, content)):
        assert len(set(found)) == len(found) <= MAX_INDEXED
        assert all(found)


@given(
    st.sampled_from(["Anna", "Anna Schmidt", "小明", "Dr. Smith", "O’Neil", "Anna-Maria", "Jean-Luc Picard", "AT&T"])
)
def test_a_name_is_found_in_a_question_about_it(name: str) -> None:
    """What a memory stands under is what a question is looked through for."""
    [key] = indexed_names(MemoryType.FACT, name, "x")
    for question in (f"What does {name} eat?", f"what is {name.lower()}'s address", f"Ask {name}."):
        assert key in possible_names(question)


@pytest.mark.parametrize("query", ["What is Anna doing?", "What does Anna use?", "What is Anna getting?"])
def test_a_name_stays_if_only_light_words_are_left(query: str) -> None:
    """Verbs that say nothing without an object are no topic."""
    assert without_names(query, {"anna"}) == query


def test_a_part_of_a_known_name_is_not_unheard() -> None:
    """A name is unknown only if no known name contains it."""
    assert unheard({"schmidt", "anna", "vladimir"}, {"anna_schmidt"}) == {"vladimir"}
