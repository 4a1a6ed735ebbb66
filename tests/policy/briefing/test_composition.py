"""How a briefing is put together: exact, repeatable, and accounted for."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.ai.tokens import open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.models import Briefing, Maturity, MemoryType, Ranked
from memory_butler.policy.briefing import composition
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.composition import BEYOND_QUOTA, FEW_NOTES, HEADINGS, NOTHING, TITLE, BriefingFrame
from memory_butler.policy.briefing.selection import Chosen
from memory_butler.policy.memories.text import NOTES_TAG, briefing_line, note_predicate

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


def compose(ranked: Sequence[Ranked], given_frame: BriefingFrame, claims: Sequence[Claim] = ()) -> Briefing:
    """A briefing of these lines; without claims all have the same."""
    claims = claims or [Claim.RELEVANT] * len(ranked)
    chosen = [Chosen(entry, claim, 0.5) for entry, claim in zip(ranked, claims, strict=True)]
    return composition.compose(chosen, given_frame)


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
    assert {entry["reason"] for entry in receipt.left_out} <= {"budget"}
    left_out = {entry["ref"] for entry in receipt.left_out}
    for section, kind in zip(receipt.sections, (F, R, E), strict=True):
        mine = [entry for entry in ranked if entry.hit.type is kind]
        kept = lines_of(built, kind)
        best = mine[: len(kept)]
        if kind is R:
            trust = ["anti_pattern", "proven", "established", "candidate"]
            best = sorted(best, key=lambda entry: trust.index(str(entry.hit.maturity)))
        expected = [briefing_line(entry.hit, entry.parts.effective_confidence) for entry in best]
        assert kept == expected, "what is kept is the best-ranked part, in order"
        assert section.lines == len(kept)
        assert sum(section.left_out.values()) == len(mine) - len(kept)
        assert left_out.issuperset(f"{kind}:{entry.hit.ref}" for entry in mine[len(kept) :])
    told = [line.ref for line in receipt.lines]
    assert told == re.findall(r"\[((?:fact|rule|episode):[\w-]+)\]", built.text) or "[" in "".join(
        entry.hit.content for entry in ranked
    )


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


claimed = st.lists(st.tuples(memories.map(lambda drawn: drawn[:1]), st.sampled_from(Claim)), max_size=20)


def lines_with_claims(
    make_ranked: MakeRanked, drawn: Sequence[tuple[list[tuple[MemoryType, str, Maturity]], Claim]]
) -> tuple[list[Ranked], list[Claim]]:
    kept = [(memory[0], claim) for memory, claim in drawn if memory]
    return ranked_of(make_ranked, [memory for memory, _ in kept]), [claim for _, claim in kept]


@settings(deadline=None, max_examples=150)
@given(drawn=claimed, sizes=st.tuples(budgets, st.integers(1, 60)), shares=quotas)
def test_a_larger_budget_never_loses_a_line(
    make_ranked: MakeRanked, wordpiece: Count, drawn: Any, sizes: tuple[int, int], shares: dict[MemoryType, float]
) -> None:
    """Whatever the claims, quotas and lengths: the lines of a small briefing are in every larger one."""
    ranked, claims = lines_with_claims(make_ranked, drawn)
    for count in (wordpiece, words):
        small, large = (compose(ranked, frame(size, count, shares), claims) for size in (sizes[0], sum(sizes)))
        assert {line.ref for line in small.receipt.lines} <= {line.ref for line in large.receipt.lines}


@settings(deadline=None, max_examples=100)
@given(drawn=claimed, budget=budgets)
def test_the_last_claim_is_dropped_first(make_ranked: MakeRanked, drawn: Any, budget: int) -> None:
    """No line of a later claim is told while one of an earlier claim is left out."""
    ranked, claims = lines_with_claims(make_ranked, drawn)
    built = compose(ranked, frame(budget), claims)
    claim_of = {f"{e.hit.type}:{e.hit.ref}": claim for e, claim in zip(ranked, claims, strict=True)}
    told = [claim_of[line.ref] for line in built.receipt.lines]
    left = [claim_of[entry["ref"]] for entry in built.receipt.left_out]
    assert not told or not left or max(told) <= min(left)
    assert [line.claim for line in built.receipt.lines] == [claim.name.lower() for claim in told]


def test_a_full_house_is_shared_by_quota(some: Callable[..., list[Ranked]]) -> None:
    """When every section has more than enough, none goes beyond its quota by more than its share of the allowance."""
    ranked = some(100, 100, 100)
    built = compose(ranked, frame(1000))
    used = [section.used_tokens for section in built.receipt.sections]
    quota = [section.quota_tokens for section in built.receipt.sections]
    assert quota == [498, 298, 199]
    assert sum(used) + words(TITLE) <= 1000
    line, shares = 15, frame(1000).quotas.values()
    assert all(u - q < share * BEYOND_QUOTA + 2 * line for u, q, share in zip(used, quota, shares, strict=True))
    assert all(q - u < (1 - share) * BEYOND_QUOTA for u, q, share in zip(used, quota, shares, strict=True))
    check(built, ranked, frame(1000))


def test_sections_that_compete_share_in_proportion(some: Callable[..., list[Ranked]]) -> None:
    """Without facts, rules and episodes share the budget three to two, as their quotas are."""
    sections = {section.section: section for section in compose(some(0, 60, 60), frame(500)).receipt.sections}
    assert sections["facts"].lines == 0
    assert 0.5 * 500 < sections["rules"].used_tokens < 0.7 * 500
    assert 0.3 * 500 < sections["episodes"].used_tokens < 0.5 * 500


def test_a_section_alone_gets_the_whole_budget(some: Callable[..., list[Ranked]]) -> None:
    built = compose(some(100, 0, 0), frame(500))
    assert built.receipt.used_tokens > 480
    assert built.receipt.sections[0].used_tokens > built.receipt.sections[0].quota_tokens


def test_a_section_without_quota_gets_only_what_flows(some: Callable[..., list[Ranked]]) -> None:
    """A quota of nothing keeps a section out as long as the ones before use theirs up."""
    built = compose(some(200, 0, 200), frame(500, quotas={F: 1.0, R: 0.0, E: 0.0}))
    assert built.receipt.sections[0].lines > 10
    assert built.receipt.sections[2].lines <= 1


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


def test_what_says_the_same_is_accounted_for(make_ranked: MakeRanked) -> None:
    """A repetition is not told; the receipt names what says it."""
    told, twin = make_ranked(1, content="tea"), make_ranked(2, content="tea again")
    built = composition.compose([Chosen(told, Claim.STANDING, 0.4)], frame(100), [(twin, "fact:one")])
    assert built.receipt.left_out == ({"ref": f"fact:{twin.hit.ref}", "reason": "says the same as fact:one"},)
    assert [(line.claim, line.usefulness) for line in built.receipt.lines] == [("standing", 0.4)]


def note(make_ranked: MakeRanked, number: int, score: float) -> Ranked:
    """A line that consolidation kept in the person's own words."""
    entry = make_ranked(number, F, score=score, content=f"the heron number {number} nests here")
    hit = entry.hit._replace(predicate_label=note_predicate(number.to_bytes(8, "big")), tags=[NOTES_TAG])
    return entry._replace(hit=hit)


@given(notes=st.integers(0, 30), others=st.integers(0, 30), budget=budgets)
def test_at_most_a_third_of_the_lines_are_notes(make_ranked: MakeRanked, notes: int, others: int, budget: int) -> None:
    """Whatever the budget, unless there are hardly any other lines; also if all notes rank first."""
    ranked = [note(make_ranked, n, 1 - n / 1000) for n in range(1, notes + 1)]
    ranked += [
        make_ranked(100 + n, F, score=0.5 - n / 1000, content=f"memory number {n} of this list") for n in range(others)
    ]
    lines = lines_of(compose(ranked, frame(budget)), F)
    quoted = [line for line in lines if "heron" in line]
    assert len(quoted) <= max(len(lines) / 3, FEW_NOTES)
    if others >= 2 * FEW_NOTES:
        assert len(quoted) <= (len(lines) + 1) / 3 or len(quoted) <= FEW_NOTES < len(lines)
    assert not notes or not lines or quoted or budget < 60


def test_a_corrected_fact_is_marked_behind_its_note(make_ranked: MakeRanked) -> None:
    newer = note(make_ranked, 2, 0.5)
    older = make_ranked(1, F, score=0.9, content="memory number 1 of this list")
    older = older._replace(hit=older.hit._replace(since_changed=True, replaced_by=newer.hit.id))
    lines = lines_of(compose([older, newer], frame(200)), F)
    assert ["heron" in line for line in lines] == [True, False]
    assert [line.endswith("(since changed)") for line in lines] == [False, True]
