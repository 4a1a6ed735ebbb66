"""What a search found for labelled questions, kept as numbers so that many orders can be tried without asking again."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.support.conversations import APART, Asked, Conversation, bounded
from benchmarks.support.metrics import Judged
from memory_butler.models import Hit, MemoryType, Question
from memory_butler.operations.retrieval.ranked_candidates import ENGLISH, rank_candidates
from memory_butler.operations.retrieval.search import select_results
from memory_butler.policy.memories.text import searched_words
from memory_butler.policy.retrieval import relevance as relevance_model
from memory_butler.policy.retrieval.question import ParsedQuestion, parse_question, without_stop_words
from memory_butler.policy.retrieval.ranking import DIGITS, RRF_K
from memory_butler.resources import Resources
from memory_butler.store.retrieval import search
from memory_butler.store.retrieval.search import SearchQuery

RESULTS_WANTED = 20
Tick = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A question with its candidates, in the order of their ids; orders are lists of positions among them."""

    tenant: str
    asked: Asked
    signals: np.ndarray
    """What the judge knows of each candidate."""
    found: list[frozenset[str]]
    """The evidence each candidate carries."""
    relevant_results: int
    """How many memories carry evidence, found or not."""
    lists: np.ndarray
    """Place of each on the list by meaning and on the one by words; 0 where it is not on it."""
    penalty: float = 0.0
    """Deducted from every vote for unknown names."""
    probe: SearchQuery | None = None
    relevance: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ranked: tuple[int, ...] = ()
    """The order of the shipped default."""
    returned: tuple[int, ...] = ()
    """What the shipped default returns where nothing is too irrelevant: near-duplicates have collapsed."""
    fold: str = ""
    """The questions it is left out with, where weights are fitted to others."""

    @property
    def labels(self) -> np.ndarray:
        return np.array([bool(carried) for carried in self.found])

    def judged(self, order: Iterable[int]) -> Judged:
        """The question with these results, for the measures."""
        results = [self.found[at] for at in order][:RESULTS_WANTED]
        return Judged(self.asked.category, self.asked.evidence, results, self.relevant_results)

    def by_votes(self, weights: np.ndarray) -> list[int]:
        votes = np.round(self.signals @ weights, DIGITS)
        return list(np.argsort(-votes, kind="stable"))

    def by_fusion(self, semantic: float, keyword: float) -> list[int]:
        """The fused order under these votes of the two lists."""
        votes = np.where(self.lists > 0, 1 / (RRF_K + self.lists), 0.0) @ np.array([semantic, keyword])
        order = np.argsort(-np.round(votes, 12), kind="stable")
        return [int(at) for at in order if votes[at] > 0]

    def at_least(self, min_relevance: float) -> list[int]:
        """What is returned where results less likely than this are not."""
        return [at for at in self.returned if self.relevance[at] >= min_relevance]


Collection = Mapping[str, Sequence[Collected]]


def headline(collected: Sequence[Collected]) -> list[Collected]:
    return [one for one in collected if one.asked.category != APART]


async def collect(
    resources: Resources, conversation: Conversation, questions: Sequence[Asked], kind: MemoryType, tick: Tick
) -> list[Collected]:
    """Ask a conversation these questions, its own or others, by the search itself."""

    async def one(asked: Asked) -> Collected:
        question = Question(query=asked.question, types=(kind,), limit=RESULTS_WANTED, min_relevance=0)
        findings = await rank_candidates(resources, conversation.caller, question)
        parts = {entry.hit.id: entry.parts for entry in findings.ranked}
        hits = _by_id([entry.hit for entry in findings.ranked])
        at = {hit.id: position for position, hit in enumerate(hits)}
        tick()
        return replace(
            _collected(conversation, asked, hits, findings.parsed, kind),
            lists=np.array(
                [(parts[hit.id].semantic_rank or 0, parts[hit.id].keyword_rank or 0) for hit in hits]
            ).reshape(-1, 2),
            penalty=relevance_model.penalty_of(findings.parsed),
            probe=findings.query,
            relevance=np.array([parts[hit.id].relevance for hit in hits]),
            ranked=tuple(at[entry.hit.id] for entry in findings.ranked),
            returned=tuple(at[entry.hit.id] for entry in select_results(resources, question, findings)),
        )

    return await bounded(one(asked) for asked in questions)


async def names_in_meaning(resources: Resources, conversation: Conversation, one: Collected) -> Collected:
    """The candidates if names stayed in what is compared in meaning, and were matched as names all the same."""
    assert one.probe
    embedding = (await resources.embedder.embed_query(one.asked.question)).tolist()
    return await _asked_anew(resources, conversation, one, replace(one.probe, embedding=embedding))


async def names_as_words(resources: Resources, conversation: Conversation, one: Collected) -> Collected:
    """The candidates if names were words like all others."""
    assert one.probe
    text = one.asked.question
    probe = replace(
        one.probe,
        embedding=(await resources.embedder.embed_query(text)).tolist(),
        words=searched_words(without_stop_words(text) if one.probe.text_search == ENGLISH else text),
        mentions="",
        names=(),
        guessed=(),
    )
    return await _asked_anew(resources, conversation, one, probe)


async def _asked_anew(
    resources: Resources, conversation: Conversation, one: Collected, probe: SearchQuery
) -> Collected:
    got = await search.search(resources.database, conversation.tenant, probe)
    parsed = parse_question(one.asked.question, probe.now)
    return _collected(conversation, one.asked, _by_id(got.hits), parsed, MemoryType(*probe.types))


def _collected(
    conversation: Conversation, asked: Asked, hits: Sequence[Hit], parsed: ParsedQuestion, kind: MemoryType
) -> Collected:
    if kind is MemoryType.EPISODE:
        relevant = len(asked.evidence)
    else:
        relevant = sum(bool(one.evidence & asked.evidence) for one in conversation.observations)
    return Collected(
        tenant=conversation.tenant,
        asked=asked,
        signals=np.array(relevance_model.signals_of(hits, parsed)).reshape(-1, len(relevance_model.Signals._fields)),
        found=[conversation.carries[hit.id] & asked.evidence for hit in hits],
        relevant_results=relevant,
        lists=np.zeros((len(hits), 2)),
    )


def _by_id(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: hit.id)


def renamed(asked: Asked, names: Mapping[str, str]) -> Asked:
    """The question about other people, all names exchanged at once."""
    if not names:
        return asked
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    return replace(asked, question=pattern.sub(lambda found: names[found.group()], asked.question))
