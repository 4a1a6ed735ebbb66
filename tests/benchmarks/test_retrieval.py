"""The measurement of retrieval and the fit of the judge: on tiny conversations, and on numbers with a known answer."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.ranking import ablation, report
from benchmarks.ranking.candidates import Collected, collect, names_as_words, renamed
from benchmarks.ranking.fitting import BANDS, BY_HAND, Example, fit_calibration, fit_weights, folded, reliability
from benchmarks.ranking.wrong_conversation import AS_ASKED, NAMES_EXCHANGED, OTHER_SET, trade_off
from benchmarks.support import metrics
from benchmarks.support.conversations import Asked, Conversation, Turn, store
from benchmarks.support.metrics import Judged

from benchmarks import fit_relevance, retrieval
from memory_butler.models import MemoryType, Question
from memory_butler.operations.retrieval import search
from memory_butler.policy.retrieval import relevance
from memory_butler.resources import Resources

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "retrieval.md"
SIGNALS = relevance.Signals._fields
TURNS = {
    "a": {
        "a/1": "Anna: I adopted a grey cat called Momo last week.",
        "a/2": "Ben: The train to Porto was late again.",
        "a/3": "Anna: My sister plays the cello in Leipzig.",
        "a/4": "Ben: I bake sourdough bread every Sunday.",
    },
    "b": {
        "b/1": "Clara: We climbed the Zugspitze in the rain.",
        "b/2": "Dan: My father repairs old clocks in his workshop.",
    },
}
ASKED = [
    ("a", "What pet did Anna adopt?", "single-hop", ["a/1"]),
    ("a", "Which instrument does Anna's sister play?", "single-hop", ["a/3"]),
    ("a", "What does Ben bake?", "adversarial", ["a/4"]),
    ("b", "Which mountain did Clara climb?", "single-hop", ["b/1"]),
]
DIARY = {"s1/0": "I bought a red bicycle for the way to work.", "s1/1": "My dentist moved to Hamburg."}
NOTHING: frozenset[str] = frozenset()


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def _turn(key: str, text: str, **more: object) -> dict[str, object]:
    return {"session": 1, "id": key, "timestamp": "2023-05-08T13:56:00", "text": text, **more}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two conversations of two people each, and the diary of a third who has no name."""
    locomo, diary = tmp_path / "data" / "locomo-dev", tmp_path / "data" / "longmemeval-dev"
    _write(
        locomo / "turns.jsonl",
        [
            _turn(key, text, conversation=conversation, speaker=text.split(":")[0])
            for conversation, turns in TURNS.items()
            for key, text in turns.items()
        ],
    )
    _write(
        locomo / "questions.jsonl",
        [{"conversation": where, "question": q, "category": c, "evidence": e} for where, q, c, e in ASKED],
    )
    _write(
        locomo / "observations.jsonl",
        [{"conversation": "a", "session": 1, "speaker": "Anna", "text": "Anna has a cat.", "evidence": ["a/1"]}],
    )
    _write(diary / "turns.jsonl", [_turn(key, text) for key, text in DIARY.items()])
    _write(
        diary / "questions.jsonl",
        [{"question": "What colour is my bicycle?", "category": "single-session-user", "evidence": ["s1/0"]}],
    )
    return tmp_path / "data"


@pytest.mark.usefixtures("ready_store")
def test_retrieval_finds_the_labelled_evidence_and_writes_how_it_was_measured(data: Path, tmp_path: Path) -> None:
    """Tiny conversations go in, every question finds its turn in hybrid mode, every study is there, the file says how,
    and the page about retrieval asks for no table that the measurement does not make."""
    path = tmp_path / "retrieval.json"
    options = ["--set-option", "retrieval.semantic_weight=0.5", "--sweep"]

    assert retrieval.main(["--data", str(data), "--json", str(path), *options]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    hybrid = written["results"]["locomo"]["episodes"]["hybrid"]
    assert hybrid["all"]["questions"] == 3
    assert hybrid["all"]["recall@5"] == 1.0
    assert hybrid["all"]["ndcg@10"] > 0.9
    assert hybrid["categories"]["adversarial"]["questions"] == 1
    assert written["results"]["locomo"]["facts"]["hybrid"]["all"]["recall@10"] == pytest.approx(1 / 3, abs=1e-3)
    assert set(written["results"]["locomo"]["sweep"]) >= {"0:1", "1:0"}
    assert written["settings"]["retrieval"]["semantic_weight"] == 0.5
    assert written["machine"]["cores"] >= 1
    assert set(written["held_out"]["conversations"]) == {"locomo-a", "locomo-b", "longmemeval-longmemeval"}
    assert written["wrong_conversation"]["questions"] == {AS_ASKED: 3, NAMES_EXCHANGED: 3, OTHER_SET: 1}
    assert written["ablation"]["rows"]["shipped default"]["longmemeval"]["recall@10"] == 1.0
    assert set(written["ablation"]["signals"]) == set(SIGNALS) - set(BY_HAND)
    assert written["diversity"]["locomo facts"]["questions"] == 3
    page = report.filled(PAGE.read_text(encoding="utf-8"), written)
    assert "to be measured" not in page
    assert page.count("<!-- measured: ") == len(report.for_page(written))


def test_retrieval_without_data_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """No folder is guessed: both commands explain the layout and fail."""
    assert (retrieval.main([]), fit_relevance.main([])) == (2, 2)
    assert capsys.readouterr().err.count("FOLDER/locomo-dev/turns.jsonl") == 2


@pytest.mark.usefixtures("ready_store")
def test_the_judge_is_fitted_and_printed_as_it_stands_in_the_code(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The printed block is code that gives the weights and the calibration of the result."""
    path = tmp_path / "judge.json"

    assert fit_relevance.main(["--data", str(data), "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    block = fit_relevance.block(written)
    assert block in capsys.readouterr().out
    names: dict[str, object] = {"Signals": relevance.Signals}
    exec(block, names)
    assert names["WEIGHTS"] == relevance.Signals(**written["weights"])
    assert {"slope": names["SLOPE"], "offset": names["OFFSET"]} == written["calibration"]
    assert written["weights"]["preferred_type"] == relevance.WEIGHTS.preferred_type
    assert written["measures"]["these weights"]["locomo"]["recall@10"] == 1.0


async def test_what_is_collected_is_what_the_search_returns(resources: Resources, tenant: str) -> None:
    """Orders that are worked out from the kept numbers are those of the search, with and without the gate."""
    turns = [Turn(f"a/{at}", "1", resources.clock(), f"Anna: cats like box number {at % 7}") for at in range(20)]
    conversation = Conversation(
        tenant, turns=turns, questions=[Asked("Which box do cats like?", "x", frozenset({"a/3"}))]
    )
    await store(resources, conversation, lambda: None)
    turn_of = {key: next(iter(carried)) for key, carried in conversation.carries.items()}

    (one,) = await collect(resources, conversation, conversation.questions, MemoryType.EPISODE, lambda: None)

    ids = sorted(conversation.carries)
    assert len(one.found) == len(ids)
    assert one.by_votes(np.array(relevance.WEIGHTS)) == list(one.ranked)
    assert len(one.returned) == 7
    assert [bool(carried) for carried in one.found] == [turn_of[key] == "a/3" for key in ids]
    for least in (0.0, float(np.median(one.relevance)), 1.0):
        question = Question(query="Which box do cats like?", types=("episode",), limit=20, min_relevance=least)
        answer = await search.search(resources, question, conversation.caller, bump=False)
        assert [ids[at] for at in one.at_least(least)] == [entry.hit.id for entry in answer.results]


async def test_names_can_be_searched_as_words(resources: Resources, tenant: str) -> None:
    """Asked anew with names as words, no candidate stands under a name any more; asked by default, it does."""
    conversation = Conversation(
        tenant,
        turns=[
            Turn("a/1", "1", resources.clock(), "Anna: I adopted a cat."),
            Turn("a/2", "1", resources.clock(), "Ben: Me too."),
        ],
        questions=[Asked("What did Anna adopt?", "x", frozenset({"a/1"}))],
    )
    await store(resources, conversation, lambda: None)
    about = SIGNALS.index("name_match")

    (one,) = await collect(resources, conversation, conversation.questions, MemoryType.EPISODE, lambda: None)
    other = await names_as_words(resources, conversation, one)

    assert one.signals[one.labels, about] == [1.0]
    assert other.signals[other.labels, about] == [0.0]


def _questions(weights: Sequence[float] | np.ndarray, count: int, seed: int = 1) -> list[Example]:
    """Questions of twelve candidates each, of which one is evidence: drawn by the chances that these weights give."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        signals = random.random((12, len(weights)))
        chances = np.exp(signals @ np.array(weights))
        labels = np.zeros(12, dtype=bool)
        labels[random.choice(12, p=chances / chances.sum())] = True
        made.append(Example(signals, labels))
    return made


def test_the_fit_finds_the_weights_that_made_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known weights give labels, and from the labels the fit finds the weights; those set by hand it leaves alone."""
    monkeypatch.setattr("benchmarks.ranking.fitting.RIDGE", 1e-3)
    true = np.array([0.0 if name in BY_HAND else 4.0 - at % 5 for at, name in enumerate(SIGNALS)])
    start = np.array([0.0] * len(SIGNALS))

    found = fit_weights(_questions(true, 4000), start=start)

    assert np.abs(found - true).max() < 0.5
    assert np.corrcoef(found, true)[0, 1] > 0.99
    assert fit_weights(_questions(true, 50))[SIGNALS.index("preferred_type")] == relevance.WEIGHTS.preferred_type


def test_a_signal_that_is_left_out_weighs_nothing_and_the_rest_is_fitted_without_it() -> None:
    """Its twin takes over what it was worth."""
    made = _questions([3.0, *[0.0] * (len(SIGNALS) - 1)], 1500)
    twins = [replace_column(one, 1, one.signals[:, 0]) for one in made]

    both, alone = fit_weights(twins), fit_weights(twins, left_out=SIGNALS[:1])

    assert alone[0] == 0
    assert alone[1] == pytest.approx(both[0] + both[1], abs=0.1)


def replace_column(one: Example, at: int, values: np.ndarray) -> Example:
    signals = one.signals.copy()
    signals[:, at] = values
    return replace(one, signals=signals)


def test_calibration_finds_the_probabilities_that_made_the_labels() -> None:
    """Votes become labels by a known logistic function; the fit finds it, and what it predicts is what happened."""
    random = np.random.default_rng(2)
    votes = random.normal(8, 2, 20_000)
    labels = (random.random(20_000) < 1 / (1 + np.exp(-(1.5 * votes - 16)))).astype(float)
    counts = np.ones(20_000)

    slope, offset = fit_calibration(votes, labels, counts)
    rows = reliability(votes, labels, counts, (slope, offset))

    assert (slope, offset) == (pytest.approx(1.5, rel=0.05), pytest.approx(-16, rel=0.05))
    assert sum(row["candidates"] for row in rows) == 20_000
    assert len(rows) == len(BANDS) - 1
    assert all(row["observed"] == pytest.approx(row["predicted"], abs=0.04) for row in rows)


def _collected(tenant: str, votes: Sequence[float], evidence: int | None, **more: object) -> Collected:
    """A question whose candidates differ in `similarity` alone; the evidence is one of them, or none."""
    signals = np.zeros((len(votes), len(SIGNALS)))
    signals[:, 0] = votes
    order = tuple(int(at) for at in np.argsort(-np.array(votes)))
    return Collected(
        tenant=tenant,
        asked=Asked("?", "x", frozenset({"e"})),
        signals=signals,
        found=[frozenset({"e"}) if at == evidence else NOTHING for at in range(len(votes))],
        relevant_results=1,
        lists=np.array([(place, len(votes) + 1 - place) for place in range(1, len(votes) + 1)]),
        relevance=np.array(votes),
        ranked=order,
        returned=order,
    )


def test_weights_for_a_conversation_come_from_the_others() -> None:
    """What is evidence in a conversation changes the weights for the others, never its own."""
    others = [_collected(f"t{at % 2}", (0.1, 0.5, 0.9), 2 if at % 4 < 2 else 1) for at in range(20)]
    before = folded({"locomo": [*others, *(_collected("own", (0.1, 0.5, 0.9), 2) for _ in range(10))]})
    turned = folded({"locomo": [*others, *(_collected("own", (0.1, 0.5, 0.9), 0) for _ in range(10))]})

    one, other = ablation.held_out_weights(before), ablation.held_out_weights(turned)

    assert one["own"] == pytest.approx(other["own"], abs=1e-3)
    assert one["t1"][0] > other["t1"][0] + 0.1


def test_a_set_of_one_conversation_is_left_out_in_parts() -> None:
    """Every fifth question together, since there is no other conversation to fit to."""
    found = folded({"longmemeval": [_collected("t", (0.1, 0.9), 1) for _ in range(11)]})

    assert [one.fold for one in found["longmemeval"]].count("t 0") == 3
    assert len({one.fold for one in found["longmemeval"]}) == 5


def test_the_trade_off_counts_what_is_kept_away_and_what_is_lost() -> None:
    """One wrong question of two is silent at 0.1, both at 0.2, where one right question of two loses its evidence."""
    right = {"locomo": [_collected("t", (0.9, 0.15), 1), _collected("t", (0.05, 0.8), 1)]}
    wrong = {AS_ASKED: [_collected("t", (0.01, 0.07), None), _collected("t", (0.15, 0.1), None)]}

    found = trade_off(right, wrong, 0.1)

    at = {row["min_relevance"]: row for row in found["curve"]}
    assert [at[limit]["nothing_returned"][AS_ASKED] for limit in (0.0, 0.1, 0.2)] == [0.0, 0.5, 1.0]
    assert [at[limit]["recall@10"]["locomo"] for limit in (0.0, 0.1, 0.2)] == [1.0, 1.0, 0.5]
    assert [at[limit]["results"]["locomo"] for limit in (0.0, 0.1, 0.2)] == [2.0, 1.5, 1.0]


def test_the_fused_order_follows_the_votes_of_the_lists() -> None:
    """With the whole vote one list decides, and a list without a vote finds nothing of its own."""
    one = _collected("t", (0.1, 0.2, 0.3), 0)
    alone = replace(one, lists=np.array([(1, 0), (0, 1), (2, 2)]))

    assert (one.by_fusion(1, 0), one.by_fusion(0, 1)) == ([0, 1, 2], [2, 1, 0])
    assert alone.by_fusion(0, 1) == [1, 2]
    assert alone.by_fusion(1, 1) == [2, 0, 1]


def test_names_are_exchanged_all_at_once() -> None:
    """Also where two change places, and never inside another word."""
    asked = Asked("Did Anna tell Ben about Annabelle, Ben's cat?", "x", NOTHING)

    assert renamed(asked, {"Anna": "Ben", "Ben": "Anna"}).question == "Did Ben tell Anna about Annabelle, Anna's cat?"
    assert renamed(asked, {}).question == asked.question


def test_a_page_that_asks_for_an_unknown_table_is_refused() -> None:
    """A table that was renamed is not silently left as it was."""
    study = {"rows": {report.BASE: {}}, "signals": {}, "weights": {}}
    empty = {"questions": {}}
    result = {"results": {}, "held_out": {"rows": {"x": {}}, "conversations": {}}, "wrong_conversation": empty}

    with pytest.raises(KeyError, match="no-such-table"):
        report.filled("<!-- measured: no-such-table -->\n<!-- end -->", {**result, "ablation": study, "diversity": {}})


def test_every_group_of_the_ablation_is_made_of_signals() -> None:
    """A signal that is gone cannot be left out any more, and each belongs to at most one group."""
    names = [name for group in ablation.GROUPS.values() for name in group]

    assert set(names) <= set(SIGNALS)
    assert len(names) == len(set(names))


def test_measures_of_one_question_follow_their_definition() -> None:
    """Two of three pieces of evidence, found first and third."""
    judged = Judged("x", frozenset("abc"), [frozenset("a"), NOTHING, frozenset("b")], 3)

    found = metrics.scores(judged)

    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["strict@10"] == 0
    assert found["hit@10"] == 1
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found["ndcg@10"] == pytest.approx((1 + 1 / 2) / ideal)
