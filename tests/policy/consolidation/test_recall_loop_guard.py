"""What the memory served is not learned again."""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_quick

from memory_butler.adapters.wire.answers import search_results
from memory_butler.models import Answer, Hit, Maturity, MemoryType, Ranked
from memory_butler.models.wire.codec import encode
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.composition import BriefingFrame, compose
from memory_butler.policy.briefing.selection import Chosen
from memory_butler.policy.consolidation.recall_loop_guard import line_hashes, strip_recalled
from memory_butler.policy.memories.references import short_reference
from memory_butler.policy.memories.text import briefing_line

MakeHit = Callable[..., Hit]
MakeRanked = Callable[..., Ranked]
words = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=80)
CHAT = [
    "User: I live in Rome and work at Acme.",
    "Assistant: Nice! What do you do there?",
    "- buy milk",
    "## Rules",
    "## Facts",
    "see [1] and [fact check] and [rule: be nice] and fact:k3f9",
    "const a = {ref: 'main', count: 3}; // {}",
    '{"content": "I like tea", "ref": "main"}',
    "My confidence is 0.88 today · honestly",
    "Name: Giancarlo",
    "Porto",
    "0.123 seconds",
    "- Berlin · Office: open from 9",
    "episode 7 of the show",
]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def memories() -> st.SearchStrategy[dict[str, Any]]:
    moments = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
    return st.fixed_dictionaries(
        {
            "number": st.integers(0, 10**9),
            "type": st.sampled_from(list(MemoryType)),
            "content": words,
            "subject_label": words,
            "predicate_label": words,
            "maturity": st.sampled_from(list(Maturity)),
            "valid_at": st.none() | moments,
            "harmful_reasons": st.lists(words, max_size=2),
        }
    )


def hit_of(make: MakeHit, memory: dict[str, Any]) -> Hit:
    kept = {name: value for name, value in memory.items() if name != "number"}
    if memory["type"] is not MemoryType.FACT:
        kept |= {"subject_label": None, "predicate_label": None}
    if memory["type"] is not MemoryType.RULE:
        kept |= {"maturity": None, "harmful_reasons": None}
    return make(1, ref=short_reference(memory["number"]), **kept)


@given(memories(), st.floats(0, 1))
def test_every_line_of_a_briefing_is_recognised(make_hit: MakeHit, memory: dict[str, Any], confidence: float) -> None:
    """Whatever the memory says, and however the line is quoted."""
    line = briefing_line(hit_of(make_hit, memory), confidence)
    for quoted in (line, f"> {line}", f"  {line}\n", f"Assistant: {line}", line.removeprefix("- "), f"{line}."):
        assert strip_recalled(quoted, ()) == ""
    assert strip_recalled(f"I live in Rome.\n{line}\nBye.", ()) == "I live in Rome.\nBye."


@given(st.lists(memories(), max_size=6), st.sampled_from(CHAT[:3]))
def test_a_briefing_leaves_nothing_behind(
    make_hit: MakeHit, make_ranked: MakeRanked, kept: list[Any], chat: str
) -> None:
    """With its title and headings, or with the word that there is nothing; what stands around it stays."""
    parts = make_ranked().parts
    ranked = [Ranked(hit=hit_of(make_hit, memory), parts=parts) for memory in kept]
    quotas = {MemoryType.FACT: 0.4, MemoryType.RULE: 0.3, MemoryType.EPISODE: 0.3}
    chosen = [Chosen(entry, Claim.RELEVANT, 0.5) for entry in ranked]
    text = compose(chosen, BriefingFrame(token_budget=10_000, quotas=quotas, count=len, tokenizer="letters")).text
    assert text
    assert strip_recalled(text, ()) == ""
    assert strip_recalled(f"{chat}\n{text}{chat}", ()) == f"{chat}\n{chat}"


@given(st.lists(memories(), min_size=1, max_size=4), st.sampled_from([None, 2]))
def test_results_of_a_tool_are_recognised(
    make_hit: MakeHit, make_ranked: MakeRanked, kept: list[Any], indent: int | None
) -> None:
    """As JSON on one line or on many, whole, cut off, or quoted inside JSON."""
    parts = make_ranked().parts
    found = Answer(results=tuple(Ranked(hit=hit_of(make_hit, memory), parts=parts) for memory in kept))
    text = json.dumps(encode(search_results(found)), indent=indent)
    assert strip_recalled(f"Before.\n{text}\nAfter.", ()) == "Before.\n\nAfter."
    assert strip_recalled(f"Before.\n{text[:-3]}", ()) == "Before.\n"
    said = json.dumps([{"role": "user", "text": "I moved to Porto"}, {"role": "tool", "text": text}])
    assert strip_recalled(said, ()) == '[{"role": "user", "text": "I moved to Porto"}, ]'


@pytest.mark.parametrize("line", CHAT)
def test_ordinary_chat_is_left_alone(line: str) -> None:
    """To the letter."""
    for text in (line, f"{line}\r\n", f"\n\n  {line}\n"):
        assert strip_recalled(text, ()) == text


@given(st.text(alphabet=st.characters(exclude_characters="[{#·"), max_size=300))
def test_what_has_no_mark_of_the_memory_is_left_alone(text: str) -> None:
    """Line ends, blanks and odd characters too."""
    assert strip_recalled(text, frozenset({digest("something else that is stored")})) in (text, "")
    if "Nothing I remember" not in text and "ANTI-PATTERN" not in text:
        assert strip_recalled(text, ()) == text


def test_what_follows_a_reference_is_new() -> None:
    """Only what leads up to it was served."""
    text = "I confirmed [fact:k3f9] confidence 0.88, and by the way I moved to Porto.\n"
    assert strip_recalled(text, ()) == "and by the way I moved to Porto.\n"


@pytest.mark.parametrize(
    "text",
    [
        "- user · works at: Acme Corporation, in the\n  office at the harbour [fact:k3f9] confidence 0.88\n",
        "- user · works at: Acme confidence 0.88",
        "* WARNING ANTI-PATTERN: Do NOT retry at once. This caused problems because: it hung.",
        "0.812 fact:k3f9 user · works at: Acme\n                stable · long-term · from 2026-01-01\n",
        "[ Facts : K3F9 ]",
        "You like tea [fact:k3f9, fact:ab12].",
        "# What I remember\n## Facts\n## Rules\n",
        '{"context": "# What I remember\\nNothing I remember bears on this.\\n", "receipt": {"used_tokens": 12}}',
        "{'ref': 'fact:k3f9', 'content': \"Anna's tea\"}",
    ],
)
def test_other_forms_of_what_was_served(text: str) -> None:
    """Wrapped at a margin, without its reference, from the terminal, as an object."""
    assert strip_recalled(text, ()) == ""


RULE = "Always run the tests before committing."


@pytest.mark.parametrize(
    "line",
    [RULE, f"- {RULE}", f"  * {RULE}", f"> {RULE}", f'"{RULE}"', f"1. {RULE}", f"Assistant: {RULE}", f"**{RULE}**"],
)
def test_a_line_that_is_stored_is_known_by_its_hash(line: str) -> None:
    """Also behind a bullet, a label or quotation marks."""
    assert digest(RULE) in line_hashes(f"Hello.\n{line}\n")
    assert strip_recalled(f"Hello.\n{line}\nBye.", {digest(RULE)}) == "Hello.\nBye."
    assert strip_recalled(line, ()) == line


def test_a_short_line_needs_the_form_of_a_fact() -> None:
    """Anybody may say "Porto"; "user · lives in: Porto" is the memory's way to say it."""
    stored = {digest("Porto")}
    assert strip_recalled("Porto", stored) == "Porto"
    assert strip_recalled("User: Porto", stored) == "User: Porto"
    assert strip_recalled("- user · lives in: Porto", stored) == ""
    assert line_hashes("Porto") == []


@given(st.text(max_size=200), st.sets(st.binary(min_size=32, max_size=32), max_size=2))
def test_any_text_can_be_looked_through(text: str, stored: set[bytes]) -> None:
    """Whatever it consists of: what is left is made of its lines, and looking again finds no more."""
    left = strip_recalled(text, stored)
    assert len(left) <= len(text)
    assert strip_recalled(left, stored) == left
    assert all(len(digest) == 32 for digest in line_hashes(text))


@pytest.mark.parametrize(
    "text",
    ["{" * 20_000, '{"ref": "fact:k3f9", ' * 900, " · : " * 4_000, "[fact:k3f9]" * 1_800, "- \n" * 6_000, "{}" * 9_000],
)
def test_hostile_text_is_looked_through_in_time(text: str) -> None:
    """The longest episode of the oddest kind takes well under a second."""
    assert_quick(lambda: strip_recalled(text, set(line_hashes(text)[:1])), 1)
