"""What may come in, and in which form."""

import time
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InvalidInput
from memory_butler.models import (
    BriefRequest,
    Lineage,
    MemoryType,
    Mode,
    NewEpisode,
    NewFact,
    NewRule,
    Permanence,
    Question,
    Validity,
)
from memory_butler.policy.memories import validation
from memory_butler.policy.memories.validation import (
    clean_id,
    clean_metadata,
    clean_tags,
    clean_text,
    fraction,
    parse_choice,
    slug,
    utc_time,
    validate_brief,
    validate_episode,
    validate_fact,
    validate_lineage,
    validate_question,
    validate_rule,
    whole_number,
)
from memory_butler.policy.memories.visible_text import visible_text

A_TIME = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def fact(**given: Any) -> NewFact:
    return NewFact(**{"subject": "user", "predicate": "city", "content": "Lisbon", **given})


def episode(**given: Any) -> NewEpisode:
    return NewEpisode(**{"content": "They met.", "butler": "main", **given})


@pytest.mark.parametrize(
    "label",
    [
        "Favorite Color",
        "favorite-color",
        "FAVORITE_COLOR",
        "  favorite \t color ",
        "favorite--color",
        "favorite – color",
        "_favorite_color_",
        "Favorite\u00a0Color",
    ],
)
def test_spellings_of_a_name_meet(label: str) -> None:
    """Case, spaces, hyphens and underscores make no difference."""
    assert normal_name(label) == "favorite_color"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("café", "cafe\u0301"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("Любимый Цвет", "любимый_цвет"),
        ("喜欢 颜色", "喜欢_颜色"),
        ("اللون المفضل", "اللون-المفضل"),
    ],
)
def test_spellings_of_other_scripts_meet(one: str, other: str) -> None:
    """Names in any script are folded, composed and joined alike."""
    assert normal_name(one) == normal_name(other)


@pytest.mark.parametrize(("one", "other"), [("color", "colour"), ("a:b", "a:c"), ("note:1", "note 1"), ("c", "c++")])
def test_different_names_stay_apart(one: str, other: str) -> None:
    """What names a value is not folded away."""
    assert normal_name(one) != normal_name(other)


@given(
    st.text(alphabet=st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1).filter(
        # An escape sequence ends with a letter, which takes its accent with it if that is a character of its own.
        lambda text: visible_text(text).strip() and "\x1b" not in text
    )
)
def test_a_normal_name_is_its_own_normal_name(label: str) -> None:
    """Normalising twice changes nothing, decomposed input gives the same, and nothing becomes empty."""
    name = normal_name(clean_text(label, "subject", 1000))
    assert name
    assert normal_name(name) == name
    decomposed = clean_text(unicodedata.normalize("NFD", label), "subject", 5000)
    assert normal_name(decomposed) == name


REFUSED_TEXTS: dict[str, tuple[object, str]] = {
    "empty": ("", "content is empty"),
    "blank": (" \n\t ", "content is empty"),
    "too long": ("x" * 11, "content has 11 characters; the limit is 10"),
    "NUL": ("a\x00b", "content contains a NUL character"),
    "a lone surrogate": ("a\ud800", "content contains an invalid Unicode character"),
    "a number": (5, "content must be text, not int"),
    "nothing": (None, "content must be text, not NoneType"),
    "bytes": (b"a", "content must be text, not bytes"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED_TEXTS.values(), ids=REFUSED_TEXTS)
def test_text_that_cannot_be_stored_is_refused(value: object, message: str) -> None:
    """Each refusal says what is wrong with which argument."""
    with pytest.raises(InvalidInput, match=message):
        clean_text(value, "content", 10)


def test_text_is_composed_and_trimmed_and_otherwise_left_alone() -> None:
    """Composed form, no blanks around, every other character kept; the limit counts what is stored."""
    assert clean_text("  cafe\u0301\n\tbar ", "content", 100) == "café\n\tbar"
    assert clean_text(" " + "x" * 10 + " ", "content", 10) == "x" * 10
    assert clean_text("👩‍👩‍👧 مرحبا 你好", "content", 100) == "👩‍👩‍👧 مرحبا 你好"


LIMITS: dict[str, tuple[Any, Any, str]] = {
    "episode content": (lambda n: validate_episode(episode(content="x" * n)), 20_000, "content has 20001"),
    "fact content": (lambda n: validate_fact(fact(content="x" * n)), 4_000, "content has 4001"),
    "rule content": (lambda n: validate_rule(NewRule(content="x" * n)), 4_000, "content has 4001"),
    "subject": (lambda n: validate_fact(fact(subject="x" * n)), 200, "subject has 201"),
    "predicate": (lambda n: validate_fact(fact(predicate="x" * n)), 200, "predicate has 201"),
    "session": (lambda n: validate_episode(episode(session_id="x" * n)), 200, "session_id has 201"),
    "key": (lambda n: validate_fact(fact(idempotency_key="x" * n)), 200, "idempotency_key has 201"),
    "query": (lambda n: validate_question(Question(query="x" * n)), 100_000, "query has 100001"),
    "prompt": (
        lambda n: validate_brief(BriefRequest(trigger_prompt="x" * n, butler="main")),
        100_000,
        "trigger_prompt has 100001",
    ),
    "tags": (lambda n: clean_tags([f"t{i}" for i in range(n)]), 20, "at most 20"),
    "a tag": (lambda n: clean_tags(["x" * n]), 64, "a tag has 65"),
    "importance": (lambda n: validate_fact(fact(importance=n)), 10, "importance is 11; it must be from 1 to 10"),
    "episode importance": (lambda n: validate_episode(episode(importance=n)), 10, "importance is 11"),
    "limit": (lambda n: validate_question(Question(query="q", limit=n)), 100, "limit is 101"),
    "budget": (
        lambda n: validate_brief(BriefRequest(trigger_prompt="q", butler="main", token_budget=n)),
        200_000,
        "token_budget is 200001",
    ),
    "scope": (lambda n: slug("x" * n, "scope"), 63, "at most 63"),
    "metadata": (lambda n: clean_metadata({"k": "x" * (n - 9)}), 16_384, "metadata is 16385 bytes of JSON"),
}


@pytest.mark.parametrize(("admit", "limit", "message"), LIMITS.values(), ids=LIMITS)
def test_a_limit_holds_exactly(admit: Any, limit: int, message: str) -> None:
    """What is at the limit comes in, one more is refused with the limit in the message."""
    admit(limit)
    with pytest.raises(InvalidInput, match=message):
        admit(limit + 1)


@pytest.mark.parametrize("value", [0, -1, 11, 5.0, "5", None, True, False, float("nan"), 10**30])
def test_importance_is_a_whole_number_in_range(value: object) -> None:
    """Fractions, text, truth values and what is out of range are refused."""
    with pytest.raises(InvalidInput, match="importance"):
        whole_number(value, "importance", 1, 10)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), "0.5", None, True])
def test_a_share_is_a_number_from_0_to_1(value: object) -> None:
    """NaN, infinity, text and truth values are not shares."""
    with pytest.raises(InvalidInput, match="must be a number from 0 to 1"):
        fraction(value, "min_confidence")


def test_shares_at_the_ends_are_fine() -> None:
    """0 and 1 come in, as whole numbers too."""
    assert (fraction(0, "x"), fraction(1, "x"), fraction(0.2, "x")) == (0.0, 1.0, 0.2)


def test_a_time_without_a_zone_is_refused() -> None:
    """A naive time could mean any of forty hours, so it says how to write one."""
    with pytest.raises(InvalidInput, match="valid_at has no time zone; use ISO 8601"):
        validate_fact(fact(valid_at=datetime(2026, 3, 1)))  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="observed_at has no time zone"):
        validate_episode(episode(observed_at=datetime(2026, 3, 1)))  # noqa: DTZ001


def test_times_become_utc_and_are_never_made_up() -> None:
    """A time in any zone is the same moment in UTC; no time stays no time."""
    assert utc_time(datetime(2026, 3, 1, 11, 30, tzinfo=timezone(timedelta(hours=2))), "t") == A_TIME
    assert utc_time(None, "t") is None
    assert validate_fact(fact()).valid_at is None


def test_a_time_that_no_calendar_has_is_refused() -> None:
    """A time that leaves the calendar in UTC is out of range, and text is no time."""
    with pytest.raises(InvalidInput, match="out of range"):
        utc_time(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), "t")
    with pytest.raises(InvalidInput, match="must be a date and time"):
        utc_time("yesterday", "t")


@pytest.mark.parametrize(
    ("kind", "given_value", "expected"),
    [
        (MemoryType, "fact", MemoryType.FACT),
        (MemoryType, "Facts", MemoryType.FACT),
        (MemoryType, " EPISODES ", MemoryType.EPISODE),
        (MemoryType, MemoryType.RULE, MemoryType.RULE),
        (Permanence, "Permanent", Permanence.PERMANENT),
        (Mode, "HYBRID", Mode.HYBRID),
        (Validity, "retracted", Validity.RETRACTED),
        (Validity, "Forgotten", Validity.RETRACTED),
    ],
)
def test_an_unambiguous_spelling_is_understood(kind: type[StrEnum], given_value: object, expected: StrEnum) -> None:
    """Case, blanks and a plural are forgiven; what is forgotten is retracted."""
    assert parse_choice(kind, given_value, "x") is expected


@pytest.mark.parametrize("value", ["", "memory", "factss", None, 5, "fact rule", "\ud800"])
def test_an_unknown_value_is_refused_with_the_known_ones(value: object) -> None:
    """The message lists what there is."""
    with pytest.raises(InvalidInput, match="must be one of: episode, fact, rule"):
        parse_choice(MemoryType, value, "type")


@pytest.mark.parametrize("value", ["-x", "a/b", "a:b", "é", "x" * 64, "..", "*", "a\tb\x07"])
def test_a_malformed_scope_is_refused(value: str) -> None:
    """A scope is a plain short word."""
    with pytest.raises(InvalidInput, match="scope"):
        slug(value, "scope")


def test_a_scope_is_forgiven_case_and_spaces() -> None:
    """'My Health' and my-health are the same scope."""
    assert slug(" My Health ", "scope") == "my-health"


def test_tags_are_folded_and_kept_once() -> None:
    """Tags lose case and doubles and keep their order; a single text is not a list of letters."""
    assert clean_tags(["Food", "food ", "Allergy"]) == ("food", "allergy")
    with pytest.raises(InvalidInput, match="tags must be a list"):
        clean_tags("food")
    with pytest.raises(InvalidInput, match="a tag is empty"):
        clean_tags(["food", " "])


DEEP: dict[str, Any] = {}
for _ in range(5_000):
    DEEP = {"d": DEEP}
CIRCLE: dict[str, Any] = {}
CIRCLE["self"] = CIRCLE

REFUSED_METADATA: dict[str, tuple[Any, str]] = {
    "a list": ([1], "must be an object"),
    "text": ("{}", "must be an object"),
    "NaN": ({"x": float("nan")}, "plain JSON"),
    "infinity": ({"x": [float("-inf")]}, "plain JSON"),
    "a moment": ({"x": A_TIME}, "plain JSON"),
    "a set": ({"x": {1}}, "plain JSON"),
    "a lone surrogate": ({"x": "\ud800"}, "valid Unicode"),
    "a lone surrogate as key": ({"\udfff": 1}, "valid Unicode"),
    "NUL": ({"x": "a\x00"}, "NUL"),
    "NUL after backslashes": ({"x": "\\\\\x00"}, "NUL"),
    "NUL as key": ({"\x00": 1}, "NUL"),
    "nested without end": (CIRCLE, "plain JSON"),
    "nested too deeply": (DEEP, "nested too deeply"),
    "too many bytes, not characters": ({"x": "é" * 8_190}, "bytes of JSON"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED_METADATA.values(), ids=REFUSED_METADATA)
def test_metadata_that_cannot_be_stored_is_refused(value: Any, message: str) -> None:
    """Only plain JSON that the database can hold comes in."""
    with pytest.raises(InvalidInput, match=message):
        clean_metadata(value)


def test_metadata_comes_out_as_it_will_come_back() -> None:
    """Keys become text and tuples lists, so that a repeat of the same request is recognised as the same."""
    assert clean_metadata({1: (2, 3), "a": None}) == {"1": [2, 3], "a": None}  # type: ignore[dict-item]


def test_words_that_only_look_like_a_nul_are_fine() -> None:
    """A backslash followed by u0000 is six harmless characters."""
    assert clean_metadata({"x": "\\u0000"}) == {"x": "\\u0000"}


def test_defaults_are_those_of_the_contract() -> None:
    """Importance 5, standard permanence, global scope, all types, hybrid mode."""
    new = validate_fact(fact())
    assert (new.importance, new.permanence, new.scope) == (5, "standard", "global")
    question = validate_question(Question(query="q"))
    assert (set(question.types), question.mode, question.limit) == (set(MemoryType), Mode.HYBRID, None)
    assert validate_rule(NewRule(content="c")).scope == "global"


@pytest.mark.parametrize("field", ["request_id", "subrequest_id", "segment_id", "session_id"])
@pytest.mark.parametrize("value", ["", "a\x00", "\ud800", "x" * 201])
def test_lineage_is_checked_like_any_input(field: str, value: str) -> None:
    """A broken request context is refused by the name of its field."""
    with pytest.raises(InvalidInput, match=rf"request_context\.{field}"):
        validate_lineage(Lineage(**{field: value}))


def test_lineage_comes_through() -> None:
    """All four parts are kept."""
    lineage = Lineage("r", "s", "g", "e")
    assert validate_lineage(lineage) == lineage


def test_every_scope_may_be_asked_for() -> None:
    """A star stands for every scope in a question, and nowhere else."""
    assert validate_question(Question(query="q", scope="*")).scope == "*"
    with pytest.raises(InvalidInput):
        validate_fact(fact(scope="*"))


def test_a_name_that_grows_when_folded_is_bounded() -> None:
    """A name whose folded form is far longer than its label is refused, not stored."""
    validation.validate_fact(fact(subject="ß" * 200))
    with pytest.raises(InvalidInput, match="subject is too long"):
        validation.validate_fact(fact(subject="ﬃ" * 200))


@given(
    subject=st.text(max_size=30),
    predicate=st.text(max_size=30),
    content=st.text(max_size=50),
    importance=st.one_of(st.integers(-5, 15), st.booleans(), st.floats(), st.none()),
    tags=st.lists(st.text(max_size=8), max_size=25),
    scope=st.text(max_size=10),
)
def test_any_input_is_admitted_clean_or_refused(
    *, subject: str, predicate: str, content: str, importance: Any, tags: list[str], scope: str
) -> None:
    """Whatever comes, the answer is a clean request or an error of ours; and what is clean is admitted unchanged."""
    try:
        clean = validate_fact(fact(subject=subject, predicate=predicate, content=content, importance=importance,
                                tags=tuple(tags), scope=scope))  # fmt: skip
    except InvalidInput:
        return
    assert validate_fact(clean) == clean
    assert "\x00" not in clean.subject + clean.predicate + clean.content


def test_the_length_is_checked_before_anything_costs_time() -> None:
    text = "a" + "\u0316\u0301" * 2_000_000
    started = time.thread_time()
    with pytest.raises(InvalidInput, match="4000001 characters; the limit is 20000"):
        clean_text(text, "content", 20_000)
    # Normalizing 4 MB of marks takes hours.
    assert time.thread_time() - started < 2


def test_a_text_that_is_short_enough_once_composed_is_accepted() -> None:
    assert clean_text("\u03c9\u0314\u0342\u0345" * 200, "name", 200) == "\u1fa7" * 200
    assert len(clean_text(" " * 5000 + "x" * 200, "name", 200)) == 200


def test_a_long_wrong_value_is_not_repeated_in_the_error() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_choice(MemoryType, "x" * 1_000_000, "type")
    assert len(caught.value.message) < 400


def test_a_key_or_an_id_in_words_keeps_no_secret() -> None:
    """A key becomes a hash, so that it stays unique; an id gets a marker. What is no secret stays."""
    keys = [validate_fact(fact(idempotency_key=f"door code is {code}")).idempotency_key for code in ("2580", "2581")]
    assert all(key and key.startswith("redacted-") and "258" not in key[:12] for key in keys) and keys[0] != keys[1]
    assert validate_fact(fact(idempotency_key="import:notes.md:3")).idempotency_key == "import:notes.md:3"
    assert clean_id("session about PIN 4711", "session_id") == "session about PIN [redacted: pin]"
    assert clean_id("req-9f8a7b6c5d4e3f2a1b0c", "request_id") == "req-9f8a7b6c5d4e3f2a1b0c"
