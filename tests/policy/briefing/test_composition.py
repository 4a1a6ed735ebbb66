"""How a briefing is put together: exact, repeatable, and accounted for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.ai.tokens import open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.models import Briefing, Hit, Maturity, MemoryType, Ranked
from memory_butler.policy.briefing.composition import HEADINGS, NOTHING, TITLE, BriefingFrame, ExtraMemories, compose
from memory_butler.policy.memories.text import briefing_line

F, R, E = MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE
QUOTAS = {F: 0.5, R: 0.3, E: 0.2}
MakeRanked = Callable[..., Ranked]
Count = Callable[[str], int]


def words(text: str) -> int:
    """A plain counter: blank-separated words."""
    return len(text.split())


def nasty(text: str) -> int:
    """Counts a text as more than its parts: whoever adds up lines is too low."""
    return len(text.split()) + text.count("\n") ** 2 // 3


def per_character(text: str) -> int:
    """Counts parts as more than their whole: every text costs five extra."""
    return len(text) + 5 if text else 0


@pytest.fixture(scope="session")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> Count:
    folder: Path = resolve_weights(None, tmp_path_factory.mktemp("models")).folder
    return open_token_counter("wordpiece", folder).count


def frame(
    token_budget: int, count: Count = words, quotas: dict[MemoryType, float] | None = None, **more: Any
) -> BriefingFrame:
    return BriefingFrame(token_budget=token_budget, quotas=quotas or QUOTAS, count=count, tokenizer="test", **more)


@pytest.fixture(scope="session")
def some(make_ranked: MakeRanked) -> Callable[..., list[Ranked]]:
    """Facts, rules and episodes in the order of their scores, each line about nine words long."""

    def make(facts: int = 0, rules: int = 0, episodes: int = 0) -> list[Ranked]:
        kinds = [F] * facts + [R] * rules + [E] * episodes
        return [
            make_ranked(n, kind, score=1 - n / 1000, content=f"memory number {n} of this list")
            for n, kind in enumerate(kinds, start=1)
        ]

    return make


texts = st.text(alphabet=st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1, max_size=60)
memories = st.lists(
    st.tuples(
        st.sampled_from(MemoryType),
        texts | st.sampled_from(["## Rules", "a\nb", "word " * 150, "你好 " * 40, "x" * 700]),
        st.sampled_from(Maturity),
    ),
    max_size=25,
)
budgets = st.integers(0, 60) | st.integers(0, 1500)
quotas = st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10)).map(
    lambda q: dict(zip((F, R, E), (n / max(10, sum(q)) for n in q), strict=True))
)


def ranked_of(make_ranked: MakeRanked, drawn: Sequence[tuple[MemoryType, str, Maturity]]) -> list[Ranked]:
    return [
        make_ranked(n, kind, score=1 - n / 1000, content=content, **({"maturity": maturity} if kind is R else {}))
        for n, (kind, content, maturity) in enumerate(drawn, start=1)
    ]


def lines_of(built: Briefing, kind: MemoryType) -> list[str]:
    """The lines below a section's heading."""
    lines = built.text.splitlines()
    if HEADINGS[kind] not in lines:
        return []
    below = lines[lines.index(HEADINGS[kind]) + 1 :]
    ends = [place for place, line in enumerate(below) if line.startswith("## ")]
    return below[: ends[0]] if ends else below


def check(built: Briefing, ranked: Sequence[Ranked], given_frame: BriefingFrame) -> None:
    """Everything that holds of every briefing."""
    receipt, count = built.receipt, given_frame.count
    assert count(built.text) <= given_frame.token_budget
    assert receipt.used_tokens == count(built.text)
    assert receipt.token_budget == given_frame.token_budget
    assert len(receipt.left_out) + sum(section.lines for section in receipt.sections) == len(ranked)
    assert {entry["reason"] for entry in receipt.left_out} <= {"budget", "quota"}
    left_out = {entry["ref"] for entry in receipt.left_out}
    for section, kind in zip(receipt.sections, (F, R, E), strict=True):
        mine = [entry for entry in ranked if entry.hit.type is kind]
        if kind is R:
            trust = ["anti_pattern", "proven", "established", "candidate"]
            mine.sort(key=lambda entry: trust.index(str(entry.hit.maturity)))
        expected = [briefing_line(entry.hit, entry.parts.effective_confidence) for entry in mine]
        kept = lines_of(built, kind)
        assert kept == expected[: len(kept)], "what is kept is the best-ranked part, in order"
        assert section.lines == len(kept)
        assert sum(section.left_out.values()) == len(mine) - len(kept)
        assert left_out.issuperset(f"{kind}:{entry.hit.ref}" for entry in mine[len(kept) :])


@settings(deadline=None, max_examples=150)
@given(drawn=memories, budget=budgets, shares=quotas)
def test_the_budget_is_never_exceeded(
    make_ranked: MakeRanked,
    wordpiece: Count,
    drawn: list[tuple[MemoryType, str, Maturity]],
    budget: int,
    shares: dict[MemoryType, float],
) -> None:
    """With the real tokenizer and with ones that do not add up: exact budget, best first, a receipt that adds up."""
    ranked = ranked_of(make_ranked, drawn)
    for count in (wordpiece, nasty, per_character, words):
        given_frame = frame(budget, count, shares)
        check(compose(ranked, given_frame), ranked, given_frame)


@settings(deadline=None, max_examples=60)
@given(drawn=memories, budget=budgets, shares=quotas)
def test_the_same_input_gives_the_same_bytes(
    make_ranked: MakeRanked,
    wordpiece: Count,
    drawn: list[tuple[MemoryType, str, Maturity]],
    budget: int,
    shares: dict[MemoryType, float],
) -> None:
    """Text and receipt are equal when built twice."""
    ranked = ranked_of(make_ranked, drawn)
    assert compose(ranked, frame(budget, wordpiece, shares)) == compose(list(ranked), frame(budget, wordpiece, shares))


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(MemoryType), amount=st.integers(0, 12), budget=st.integers(0, 200))
def test_more_budget_never_keeps_less(
    some: Callable[..., list[Ranked]], kind: MemoryType, amount: int, budget: int
) -> None:
    """In a section that has the house to itself, one token more never takes a line away."""
    ranked = some(**{f"{kind}s": amount})
    less = compose(ranked, frame(budget)).receipt
    more = compose(ranked, frame(budget + 1)).receipt
    assert sum(section.lines for section in more.sections) >= sum(section.lines for section in less.sections)


def test_a_full_house_is_shared_by_quota(some: Callable[..., list[Ranked]]) -> None:
    """When every section has more than enough, none takes more than its quota and what flowed to it."""
    ranked = some(100, 100, 100)
    built = compose(ranked, frame(1000))
    used = [section.used_tokens for section in built.receipt.sections]
    quota = [section.quota_tokens for section in built.receipt.sections]
    assert quota == [498, 298, 199]
    assert sum(used) + words(TITLE) <= 1000
    line = 15
    assert all(abs(u - q) < 2 * line for u, q in zip(used, quota, strict=True))
    check(built, ranked, frame(1000))


def test_unused_quota_flows_to_the_next_section(some: Callable[..., list[Ranked]]) -> None:
    """Without facts, the rules get the facts' share too, before the episodes."""
    ranked = some(0, 60, 60)
    sections = {section.section: section for section in compose(ranked, frame(500)).receipt.sections}
    assert sections["facts"].lines == 0
    assert sections["rules"].used_tokens > 0.7 * 500
    assert 0 < sections["episodes"].used_tokens < 0.3 * 500


def test_what_the_last_leaves_flows_round_to_the_first(some: Callable[..., list[Ranked]]) -> None:
    """With facts alone, the facts get the whole budget."""
    built = compose(some(100, 0, 0), frame(500))
    assert built.receipt.used_tokens > 480
    assert built.receipt.sections[0].used_tokens > built.receipt.sections[0].quota_tokens


def test_a_section_without_quota_gets_only_what_flows(some: Callable[..., list[Ranked]]) -> None:
    """A quota of nothing keeps a section out as long as the ones before use theirs up."""
    built = compose(some(200, 0, 200), frame(500, quotas={F: 1.0, R: 0.0, E: 0.0}))
    assert built.receipt.sections[0].lines > 10
    assert built.receipt.sections[2].lines <= 1


def test_quotas_below_the_whole_leave_the_rest_unused_and_say_so(some: Callable[..., list[Ranked]]) -> None:
    """Half of the budget in quotas uses at most half of it, and the reason is the quota."""
    built = compose(some(100, 100, 100), frame(1000, quotas={F: 0.2, R: 0.2, E: 0.1}))
    assert built.receipt.used_tokens <= 510
    assert {entry["reason"] for entry in built.receipt.left_out} == {"quota"}


def test_the_budget_is_the_reason_when_nothing_more_fits(some: Callable[..., list[Ranked]]) -> None:
    """With the whole budget shared out, what stays out does so for want of budget."""
    built = compose(some(100, 100, 100), frame(300))
    assert {entry["reason"] for entry in built.receipt.left_out} == {"budget"}


def test_what_waits_behind_a_long_memory_has_its_reason(make_ranked: MakeRanked) -> None:
    """A short memory below one that does not fit stays out too, for want of budget and not of quota."""
    ranked = [
        make_ranked(1, content="first"),
        make_ranked(2, content="word " * 90),
        make_ranked(3, content="short"),
    ]
    built = compose(ranked, frame(60))
    assert built.receipt.sections[0].lines == 1
    assert [entry["reason"] for entry in built.receipt.left_out] == ["budget", "budget"]


def test_sections_come_in_a_fixed_order_and_warnings_lead_the_rules(make_ranked: MakeRanked) -> None:
    """Facts, rules, episodes; inside the rules warnings, then proven, established, candidates, each by score."""
    maturities = ["candidate", "proven", "candidate", "anti_pattern", "established", "anti_pattern"]
    ranked = [make_ranked(n, R, content=f"rule {n}", maturity=m) for n, m in enumerate(maturities, start=1)]
    ranked = [make_ranked(10, E), *ranked, make_ranked(11, F)]
    built = compose(ranked, frame(1000))
    assert [line for line in built.text.splitlines() if line.startswith("#")] == [TITLE, *HEADINGS.values()]
    assert [int(line.split("rule ")[1][0]) for line in lines_of(built, R)] == [4, 6, 2, 5, 1, 3]


def test_nothing_relevant_says_so(some: Callable[..., list[Ranked]]) -> None:
    """One short sentence instead of padding, and nothing at all where even that is too long."""
    built = compose([], frame(100))
    assert built.text == f"{TITLE}\n{NOTHING}\n"
    assert built.receipt.left_out == ()
    assert compose([], frame(3)).text == ""
    assert NOTHING not in compose(some(1), frame(100)).text


def test_too_small_a_budget_gives_an_empty_block_and_an_honest_receipt(some: Callable[..., list[Ranked]]) -> None:
    """Memories that found no room are named, and nobody claims that there was nothing."""
    for budget in range(12):
        built = compose(some(2, 1), frame(budget))
        assert built.text == ""
        assert built.receipt.used_tokens == 0
        assert len(built.receipt.left_out) == 3


def test_the_receipt_passes_on_what_was_hidden_and_degraded(some: Callable[..., list[Ranked]]) -> None:
    """Counts of what scope and confidence kept out, what had to be done without, and the request."""
    given_frame = frame(100, hidden={"scope": 2, "confidence": 3}, degraded=("searched by words only",), request_id="r")
    receipt = compose(some(1), given_frame).receipt
    assert (receipt.hidden, receipt.degraded, receipt.request_id) == (
        {"scope": 2, "confidence": 3},
        ("searched by words only",),
        "r",
    )


@pytest.mark.parametrize(
    ("kind", "given", "is_first_person", "matters"),
    [
        (F, {"is_named": True, "importance": 8}, False, True),
        (F, {"is_named": True, "importance": 1}, False, True),
        (F, {"is_named": False, "importance": 10, "subject_label": "Anna"}, True, False),
        (F, {"subject_label": "user", "importance": 8}, True, True),
        (F, {"subject_label": "user", "importance": 7}, True, False),
        (F, {"subject_label": "user", "importance": 9}, False, False),
        (R, {"maturity": Maturity.ANTI_PATTERN, "word_coverage": 0.2}, False, True),
        (R, {"maturity": Maturity.PROVEN, "word_coverage": 0.2}, False, True),
        (R, {"maturity": Maturity.ESTABLISHED, "word_coverage": 0.2}, False, True),
        (R, {"maturity": Maturity.CANDIDATE, "word_coverage": 0.9}, False, False),
        (R, {"content": "Call Anna Schmidt before noon", "word_coverage": 0.5}, False, True),
        (R, {"content": "Call Anna before noon", "word_coverage": 0.5}, False, False),
        (R, {"content": "In the shop-front never run"}, False, True),
        (R, {"maturity": Maturity.ANTI_PATTERN, "word_coverage": 0.0}, False, False),
        (E, {"is_named": True, "importance": 10, "word_coverage": 0.9}, True, False),
    ],
)
def test_what_matters_whatever_is_asked(
    make_hit: Callable[..., Hit], kind: MemoryType, given: dict[str, Any], is_first_person: bool, matters: bool
) -> None:
    """Facts of whoever is named, important ones of whoever asks, rules that say a name, and rules that have earned it
    and speak of the same; no episode."""
    minding = ExtraMemories(
        names=frozenset({"anna_schmidt", "shop_front"}), is_first_person=is_first_person, important_from=8
    )
    assert minding.includes(make_hit(1, kind, **given)) is matters


def test_what_is_told_anyway_takes_nobodys_place(some: Callable[..., list[Ranked]], make_ranked: MakeRanked) -> None:
    """It comes last in its section, gets only the room that all of them leave, and what has none is accounted for."""
    asked = some(facts=4, rules=2, episodes=4)
    warning = make_ranked(90, R, score=1.0, content="never again of this list", maturity=Maturity.ANTI_PATTERN)
    extra = [make_ranked(80 + n, F, score=1.0, content=f"told anyway as number {n}") for n in range(5)] + [warning]
    for budget in range(0, 220, 7):
        without, with_extra = (compose(asked, frame(budget), anyway) for anyway in ([], extra))
        for kind in (F, R, E):
            lines = lines_of(with_extra, kind)
            assert lines[: len(lines_of(without, kind))] == lines_of(without, kind)
        assert with_extra.receipt.used_tokens <= budget
        kept = sum(len(lines_of(with_extra, kind)) for kind in (F, R, E))
        assert kept + len(with_extra.receipt.left_out) == len(asked) + len(extra)
    assert lines_of(with_extra, R)[-1].startswith("- WARNING") and len(lines_of(with_extra, F)) == 9


def test_the_most_important_is_told_first(make_ranked: MakeRanked) -> None:
    """Of what is not relevant enough; what is relevant is told as such."""
    minding = ExtraMemories(names=frozenset(), is_first_person=False, important_from=8)
    made = [make_ranked(n, F, is_named=True) for n in range(1, 5)]
    parts = ((0.5, 1.0), (0.001, 0.3), (0.002, 0.9), (0.0, 0.3))
    ranked = [
        entry._replace(parts=entry.parts._replace(relevance=relevance, importance=importance))
        for entry, (relevance, importance) in zip(made, parts, strict=True)
    ]
    assert [entry.hit.id.int for entry in minding.select(ranked, 0.01)] == [3, 2, 4]
