"""Find: the candidates of a question, ranked. A pure read: one embedding, one round trip to the database."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_butler.ai.reranking import rerank_if_possible
from memory_butler.butler import Butler
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Caller, Hit, MemoryType, Mode, Question, Ranked, Tier
from memory_butler.operations.as_of import Candidates, candidates, check_moment
from memory_butler.operations.name_guesses import NameGuesses
from memory_butler.policy import reach
from memory_butler.policy.admission import normal_name
from memory_butler.policy.asking import Asking, read_question, telling_words
from memory_butler.policy.briefing import MOST_ANYWAY, Minding
from memory_butler.policy.judge import ASKERS
from memory_butler.policy.names import words_taken_out
from memory_butler.policy.ranking import Limit, RankingRules, fuse, rank
from memory_butler.policy.tiers import MEMBERS
from memory_butler.policy.wording import indexed_text, searched_words
from memory_butler.settings import Retrieval
from memory_butler.store.search_index import Found, Probe

ENGLISH = "english"
ASKER_KEYS = tuple(sorted(map(normal_name, ASKERS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The candidates, best first, with what the question was taken to mean and what the search had to do without."""

    ranked: list[Ranked]
    # Those of them that are not relevant enough and matter all the same.
    anyway: list[Ranked]
    asking: Asking
    probe: Probe
    min_relevance: float
    found: Found
    second_look: list[float | None] | None
    hidden: dict[str, int]
    degraded: tuple[str, ...]

    @property
    def relevant(self) -> list[Ranked]:
        return [entry for entry in self.ranked if entry.parts.relevance >= self.min_relevance]


_guesses = NameGuesses()


async def find(
    butler: Butler,
    caller: Caller,
    question: Question,
    *,
    longest_list: int | None = None,
    with_hidden: bool = False,
    with_irrelevant: bool = False,
    important_from: int | None = None,
) -> Findings:
    """Everything that comes into question, ranked; on request also what is not relevant enough to be returned. With
    `important_from`, also what matters anyway to whoever gets to work.

    Names are left out of what is compared, and only the store knows which words are names. So they are guessed, the
    store says with its answer what they are, and only if the guess changed the question is it asked again.
    """
    check_moment(butler, caller, question.as_of)
    tenant, mode = caller.principal.tenant, Mode(question.mode)
    now = question.as_of or butler.clock()
    asking = read_question(question.query, now)
    probe = _within(_probe(butler, caller, question, longest_list), asking)
    askers = ASKER_KEYS if asking.is_own else ()
    probe = replace(probe, most_important=MOST_ANYWAY, important_from=important_from, askers=askers)
    reader = tenant, probe.reach
    guess = _guesses.names(reader, asking)
    probe, degraded = await _aimed(butler, probe, asking, mode, guess)
    got = await candidates(butler, caller, probe, question.as_of, with_hidden=with_hidden)
    names = got.found.names | got.found.loose_names.intersection(asking.guessed)
    _guesses.learn(reader, asking, names)
    if asking.without(names) != asking.without(guess):
        probe, degraded = await _aimed(butler, probe, asking, mode, names)
        got = await candidates(butler, caller, probe, question.as_of, with_hidden=with_hidden)
    rules = ranking_rules(butler.settings.retrieval)
    is_unheard = bool(got.found.unheard) and not got.found.loose_names
    asking = replace(asking, is_unheard=is_unheard, memories=got.found.memories)
    looked, missed = await _second_look(butler, asking, got, mode, rules)
    min_relevance = _least(butler.settings.retrieval, question, probe, asking)
    minding = None
    if important_from is not None:
        names = got.found.names | got.found.loose_names
        minding = Minding(names=names, is_own=asking.is_own, important_from=important_from)
    limit = Limit(0.0 if with_irrelevant else min_relevance, minding.wants if minding else None)
    ranked = rank(got.found.hits, asking, mode, rules, now, second_look=looked, limit=limit)
    return Findings(
        ranked=ranked,
        anyway=minding.chosen(ranked, min_relevance) if minding else [],
        asking=asking,
        probe=probe,
        min_relevance=min_relevance,
        found=got.found,
        second_look=looked,
        hidden=got.found.hidden,
        degraded=(*degraded, *got.missing, *missed),
    )


def _within(probe: Probe, asking: Asking) -> Probe:
    """A question that speaks of a time and of nothing else asks for that time."""
    if not asking.is_open or asking.moments is None or not asking.moments.windows or probe.time_from or probe.time_to:
        return probe
    starts = [window.start for window in asking.moments.windows]
    ends = [window.end for window in asking.moments.windows]
    return replace(
        probe,
        time_from=min((start for start in starts if start), default=None) if all(starts) else None,
        time_to=max((end for end in ends if end), default=None) if all(ends) else None,
    )


def _least(retrieval: Retrieval, question: Question, probe: Probe, asking: Asking) -> float:
    """How relevant a memory must be. Relevance is measured for both lists together: with one of them alone, only a
    limit that the caller sets counts. To a question for everything of a time, everything of it is relevant."""
    if question.min_relevance is not None:
        return question.min_relevance
    is_measured = probe.embedding is not None and Mode(question.mode) is Mode.HYBRID
    is_for_everything = asking.is_open and bool(probe.time_from or probe.time_to)
    return retrieval.min_relevance if is_measured and not is_for_everything else 0.0


def ranking_rules(retrieval: Retrieval) -> RankingRules:
    weights = retrieval.weights
    return RankingRules(
        fit=weights.relevance,
        importance=weights.importance,
        recency=weights.recency,
        confidence=weights.confidence,
        semantic_weight=retrieval.semantic_weight,
        keyword_weight=retrieval.keyword_weight,
        recency_half_life_days=retrieval.recency_half_life_days,
        with_judge=retrieval.rerank.method == "judge",
    )


def _probe(butler: Butler, caller: Caller, question: Question, longest_list: int | None) -> Probe:
    """The question's filters, as the database sees them."""
    retrieval = butler.settings.retrieval
    members = MEMBERS[Tier(question.tier)] if question.tier else None
    return Probe(
        words="",
        embedding=None,
        embedding_version=butler.embedding_version,
        types=[MemoryType(kind) for kind in question.types],
        reach=reach.readable(caller.principal, question.scope, question.butler),
        min_confidence=retrieval.min_confidence if question.min_confidence is None else question.min_confidence,
        text_search=retrieval.text_search,
        k1=retrieval.bm25_k1,
        b=retrieval.bm25_b,
        candidates=min(retrieval.candidates, longest_list or retrieval.candidates),
        now=question.as_of or butler.clock(),
        permanences=members.permanences if members else None,
        maturities=members.maturities if members else None,
        time_from=question.time_from,
        time_to=question.time_to,
    )


async def _aimed(
    butler: Butler, probe: Probe, asking: Asking, mode: Mode, names: frozenset[str]
) -> tuple[Probe, tuple[str, ...]]:
    """The probe with what the question says, and what it has to do without."""
    text = asking.without(names)
    words = telling_words(text) if probe.text_search == ENGLISH else text
    vector, degraded = await _vector(butler, text, mode)
    by_words = mode is not Mode.SEMANTIC
    return (
        replace(
            probe,
            words=searched_words(words) if by_words else "",
            mentions=searched_words(" ".join(words_taken_out(asking.text, text))) if by_words else "",
            names=asking.possible,
            guessed=asking.strangers,
            embedding=vector,
        ),
        degraded,
    )


async def _vector(butler: Butler, text: str, mode: Mode) -> tuple[Sequence[float] | None, tuple[str, ...]]:
    """The question's vector; without the model a hybrid search goes on by words alone and says so."""
    if mode is Mode.KEYWORD:
        return None, ()
    try:
        return (await butler.embedder.embed_query(text)).tolist(), ()
    except TargetUnavailable as problem:
        if mode is Mode.SEMANTIC:
            raise
        return None, (f"searched by words only: {problem.message}",)


async def _second_look(
    butler: Butler, asking: Asking, got: Candidates, mode: Mode, rules: RankingRules
) -> tuple[list[float | None] | None, tuple[str, ...]]:
    """A cross-encoder's scores for the best of the fused order, where one is configured."""
    if butler.reranker is None or mode is not Mode.HYBRID:
        return None, ()
    hits, places = got.found.hits, fuse(got.found.hits, mode, rules).fused
    order = sorted((place, str(hits[at].id), at) for at, place in enumerate(places) if place is not None)
    setting = butler.settings.retrieval.rerank
    scores, degraded = await rerank_if_possible(
        butler.reranker,
        asking.text,
        [_text(hits[at]) for _, _, at in order[: setting.candidates]],
        limit=setting.candidates,
        milliseconds=setting.milliseconds,
    )
    if scores is None:
        return None, degraded
    looked: list[float | None] = [None] * len(hits)
    for (_, _, at), score in zip(order, scores, strict=False):
        looked[at] = score
    return looked, ()


def _text(hit: Hit) -> str:
    return indexed_text(hit.type, hit.subject_label, hit.predicate_label, hit.content)
