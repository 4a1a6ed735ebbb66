"""Naming somebody: an identifier as a whole, in any spelling, and never as a part of another one."""

import unicodedata
from string import ascii_lowercase, ascii_uppercase

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memory_butler.errors import InvalidInput
from memory_butler.policy.trust.identifiers import Prefilter, mentions, normal_text, prefilter_for, validate_identifier

MAIL = "anna@x.org"
NAMED = {
    MAIL: [
        "anna@x.org",
        "write to anna@x.org.",
        "Anna@X.Org, or call",
        "<anna@x.org>",
        "(anna@x.org)",
        '"anna@x.org"',
        "“anna@x.org”",
        "mailto:anna@x.org?subject=x",
        "mail=anna@x.org;",
        "anna@x.org's box",
        "anna@x.org...",
        "so...anna@x.org",
        "anna@x.org - her address",
        "ａｎｎａ＠ｘ．ｏｒｇ",
        "an\u00adna@x.org",
        "anna\u200b@x.org",
    ],
    "Anna": [
        "Anna's dog",
        "Anna’s dog",
        "Anna'll come, and ANNA!",
        "@anna",
        "#anna",
        "_Anna_ and __Anna__",
        "Bob/Anna",
        "Anna—who came",
        "Anna--who came",
        "name:Anna\nage:5",
        "Annaさん",
        "Annabel and Anna",
    ],
    "Anna  Smith": ["ANNA SMITH", "Anna\n\tSmith.", "Anna\u00a0Smith"],
    "+49 170 1234567": ["tel:+49 170 1234567.", "(+49  170 1234567)", "+49 170 1234567, mobile"],
    "030 1234": ["call 030 1234.", "030 1234, or 5678"],
    "O’Brien": ["o'brien", "O‘Brien said"],
    "Straße 5": ["STRASSE 5", "straße 5!"],
    "strasse": ["Die Straße", "STRAẞE"],
    "Анна": ["АННА пришла"],
    "José": ["JOSE\u0301 came"],
    "李明": ["昨天李明去了北京"],
    "김철수": ["김철수는 왔다"],
    '"Anna."': ["Anna came"],
    "AB-12": ["ab‑12"],
}
NOT_NAMED = {
    MAIL: [
        "joanna@x.org",
        "anna@x.org.uk",
        "anna@x.organic",
        "bob.anna@x.org",
        "bob_anna@x.org",
        "bob-anna@x.org",
        "bob+anna@x.org",
        "a--anna@x.org",
        "o'anna@x.org",
        "1anna@x.org",
        "anna@x.org-b.org",
        "anna @x.org",
        "ben@x.org",
    ],
    "Anna": [
        "Annabel",
        "Joanna",
        "Anna-Maria",
        "Anna‑Maria",
        "anna_k",
        "anna.k",
        "anna@x.org",
        "O'Anna",
        "anna\u0331",
        "annä",
        "anna7",
        "anna#7",
        "anna's@x.org",
        "Anna's-Maria",
    ],
    "x.org": [MAIL, "www.x.org"],
    "news@x.org": ["anna+news@x.org"],
    "@anna": ["bob@anna.org"],
    "Brien": ["O’Brien"],
    "+49 170 1234567": ["+49 170 12345678", "+49 170 1234567 8", "+49 170 1234567-8", "0+49 170 1234567"],
    "030 1234": ["030 1234 5678", "0030 1234", "99 030 1234", "030 1234,5"],
    "철수": ["김철수는"],
}


def _cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(identifier, text) for identifier, texts in table.items() for text in texts]


@pytest.mark.parametrize(("identifier", "text"), _cases(NAMED))
def test_it_is_found_as_a_whole_however_it_is_written(identifier: str, text: str) -> None:
    """In brackets, in quotes, at the end of a sentence, in capitals, in another width, with a possessive."""
    assert mentions(text, validate_identifier(identifier, "text"))


@pytest.mark.parametrize(("identifier", "text"), _cases(NOT_NAMED))
def test_it_is_not_found_in_another_identifier(identifier: str, text: str) -> None:
    """Another address, a longer name, a longer number."""
    assert not mentions(f"see {text} there", validate_identifier(identifier, "text"))
    assert not mentions(text, validate_identifier(identifier, "text"))


@pytest.mark.parametrize("text", ["a", " A. ", "...", "()", "@", "\u00ad a", "٪٪"])
def test_what_names_nobody_is_refused(text: str) -> None:
    """One letter, or nothing but marks, would match almost anything."""
    with pytest.raises(InvalidInput, match="too short for an identifier"):
        validate_identifier(text, "text")


@pytest.mark.parametrize("text", ["", "  ", "x" * 201, "a\x00b", 7])
def test_what_is_no_text_is_refused(text: object) -> None:
    """Empty, too long, with a NUL, or not text at all."""
    with pytest.raises(InvalidInput, match="text"):
        validate_identifier(text, "text")


LABELS = st.text("abz09", min_size=1, max_size=4)
LOCALS = st.lists(st.tuples(LABELS, st.sampled_from([".", "_", "-", "+", "--", "'", ""])), min_size=1, max_size=3).map(
    lambda parts: "".join(label + joint for label, joint in parts[:-1]) + parts[-1][0]
)
DOMAINS = st.lists(LABELS, min_size=2, max_size=3).map(".".join)
ADDRESSES = st.builds("{}@{}".format, LOCALS, DOMAINS)
AROUND = st.sampled_from(
    ["{}", "to {}.", "<{}>", "({}), and", "'{}'", "{}'s", "a: {}; b", "{}?", "x\n{}\ny", "... {} ..."]
)
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=2, max_size=8)


@given(one=ADDRESSES, other=ADDRESSES, around=AROUND)
def test_one_address_is_never_another(one: str, other: str, around: str) -> None:
    """However alike two addresses are: a text names the one it holds, and that alone."""
    text = around.format(other)
    assert mentions(text, validate_identifier(one, "text")) is (one == other)


@given(tail=LABELS, head=LABELS, joint=st.sampled_from(["", ".", "-", "_", "+", "--"]), around=AROUND)
def test_an_address_is_not_a_part_of_a_longer_one(tail: str, head: str, joint: str, around: str) -> None:
    """Whatever is joined to either end makes it somebody else's."""
    assert not mentions(around.format(f"{head}{joint}{tail}@x.org"), f"{tail}@x.org")
    assert not mentions(around.format(f"{tail}@x.org{joint}{head}"), f"{tail}@x.org")


@given(word=WORDS, around=AROUND)
def test_a_word_is_found_in_any_case_and_form(word: str, around: str) -> None:
    """Upper and lower case, composed and decomposed: the same word, between any marks."""
    assume(len(normal_text(word)) > 1 and normal_text(word).isalnum())
    identifier = validate_identifier(word, "text")
    for spelling in (word, word.casefold(), unicodedata.normalize("NFD", word), unicodedata.normalize("NFKC", word)):
        assert mentions(around.format(spelling), identifier)


@given(word=st.text("abcdefgh", min_size=2, max_size=6), more=st.text("abcdefgh019", min_size=1, max_size=3))
def test_a_word_is_not_found_in_a_longer_one(word: str, more: str) -> None:
    """Letters or digits right beside it make it another word."""
    assume(word not in (more + word)[:-1] and word not in (word + more)[1:])
    assert not mentions(f"see {word}{more} there", word)
    assert not mentions(f"see {more}{word} there", word)


@given(st.text())
def test_the_normal_form_is_settled(text: str) -> None:
    """Normalising twice is normalising once."""
    once = normal_text(text)
    assert normal_text(once) == once


def _passes(sieve: Prefilter, text: str) -> bool:
    """The sieve as the database applies it."""
    form = unicodedata.normalize("NFKC", text).translate(
        str.maketrans(ascii_uppercase + sieve.capitals, ascii_lowercase + sieve.smalls)
    )
    return any(char in text for char in sieve.odd) or all(piece in form for piece in sieve.pieces)


@pytest.mark.parametrize(("identifier", "text"), _cases(NAMED))
def test_what_names_it_passes_the_sieve(identifier: str, text: str) -> None:
    """Each spelling above comes through."""
    assert _passes(prefilter_for(validate_identifier(identifier, "text")), text)


# Letters that fold to several, that only NFKC takes apart, that have no capital in one piece; marks; what is invisible.
ODD = "aAsShHiIjJtTßẞİıſKÅåéÉeE\u0301\u0307\u0308\u030c\u0331\u0345ẗǰᾳΑΙςσΣ'’-‐\u00ad\u200b _@.1１"
TRICKY = st.text(st.sampled_from(ODD), max_size=12)


@given(
    identifier=TRICKY | st.text(max_size=6),
    before=TRICKY,
    spelt=st.sampled_from([str, str.upper, str.lower]),
    after=TRICKY,
)
@example(identifier="Ḣ\u0331", before="", spelt=str, after="")
def test_the_sieve_loses_nothing(identifier: str, before: str, spelt: type[str], after: str) -> None:
    """Whatever policy would say yes to, the database lets through."""
    found = normal_text(identifier)
    assume(len(found) > 1)
    text = before + spelt(identifier) + after
    if mentions(text, found):
        assert _passes(prefilter_for(found), text)


def test_the_sieve_is_a_sieve() -> None:
    """It holds back what has nothing to do with the identifier, so the rest is worth looking at."""
    sieve = prefilter_for(MAIL)
    assert sieve.pieces == (MAIL,)
    assert not _passes(sieve, "ben@x.org wrote to Anna about x.org")
    assert not _passes(sieve, "Grüße aus Köln")
