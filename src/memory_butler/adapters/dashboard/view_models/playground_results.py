"""Query parameters of the playground, and its results, context block and explanation as props."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import count_text, sentence, state_label, truncate
from memory_butler.errors import InvalidInput
from memory_butler.models import Answer, BriefRequest, MemoryType, Mode, Question, Ranked, Receipt, SectionReceipt
from memory_butler.models.explanation import Explanation, Listing, Term
from memory_butler.policy.briefing.claims import CLAIM_WORDS, Claim
from memory_butler.policy.memories.sentence import fact_sentence
from memory_butler.policy.memories.text import ordinal, trust_mark
from memory_butler.policy.retrieval.relevance import level_of

Row = dict[str, Any]
PATH = "/playground"
EXAMPLES = (
    "What should I know before we start today?",
    "Which mistakes must not happen again?",
    "Who do I work with, and how do they like things done?",
    "What happened last week?",
)
MODES = {
    Mode.HYBRID: "Hybrid",
    Mode.SEMANTIC: "Semantic only",
    Mode.KEYWORD: "Keywords only",
}
LABELS = {"fit": "Fit", "importance": "Importance", "recency": "Recency", "confidence": "Confidence"}
# Length of the text of a memory that was left out: one line.
LEFT_OUT_CHARACTERS = SAID_CHARACTERS = 200
_LEFT_OUT = {
    "budget": "the budget is used up",
}
_HIDDEN = {
    "confidence": "below the minimum confidence",
    "scope": "private to another butler",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundQuery:
    """`explain` is the reference of the memory to explain."""

    prompt: str
    butler: str
    mode: str = Mode.HYBRID
    types: tuple[str, ...] = ()
    budget: str = ""
    as_of: str = ""
    explain: str = ""

    @property
    def as_of_time(self) -> datetime | None:
        if not self.as_of:
            return None
        try:
            return datetime.fromisoformat(self.as_of)
        except ValueError as problem:
            raise InvalidInput(
                f"{self.as_of[:40]!r} is not a date.", recovery="Choose one, or clear the field."
            ) from problem

    @property
    def tokens(self) -> int | None:
        if not self.budget:
            return None
        if not (self.budget.isascii() and self.budget.isdigit() and len(self.budget) < 10):
            raise InvalidInput(f"{self.budget[:40]!r} is not a number of tokens.", recovery="Enter a whole number.")
        return int(self.budget)

    def question(self) -> Question:
        return Question(query=self.prompt, types=self.types, butler=self.butler, mode=self.mode, as_of=self.as_of_time)

    def request(self) -> BriefRequest:
        return BriefRequest(
            trigger_prompt=self.prompt, butler=self.butler, token_budget=self.tokens, as_of=self.as_of_time
        )


def query_from(query: Mapping[str, str], default_butler: str) -> PlaygroundQuery:
    return PlaygroundQuery(
        prompt=query.get("prompt", "").strip(),
        butler=query.get("butler", "").strip() or default_butler,
        mode=query.get("mode", "").strip() or Mode.HYBRID,
        types=tuple(one for one in query.get("types", "").split(",") if one),
        budget=query.get("budget", "").strip(),
        as_of=query.get("as_of", "").strip(),
        explain=query.get("why", "").strip(),
    )


def url_params(query: PlaygroundQuery, default_butler: str) -> dict[str, str | None]:
    """The URL parameters of a query; defaults are omitted."""
    return {
        "prompt": query.prompt,
        "butler": query.butler if query.butler != default_butler else None,
        "mode": query.mode if query.mode != Mode.HYBRID else None,
        "types": ",".join(query.types) if set(query.types) != set(MemoryType) else None,
        "budget": query.budget,
        "as_of": query.as_of,
        "why": query.explain,
    }


# --- search results -------------------------------------------------------------------------------


def result_rows(answer: Answer, terms: Sequence[Sequence[Term]]) -> list[Row]:
    """Search results, each with the terms of its score."""
    return [_result(place, *pair) for place, pair in enumerate(zip(answer.results, terms, strict=True), start=1)]


def _result(place: int, ranked: Ranked, terms: Sequence[Term]) -> Row:
    hit, parts = ranked.hit, ranked.parts
    return {
        "place": place,
        "ref": f"{hit.type}:{hit.ref}",
        "href": memory_path(hit.type, hit.ref),
        "type": str(hit.type),
        "text": visible_text(fact_sentence(hit.subject_label, hit.predicate_label, hit.content)),
        "validity": str(hit.validity),
        "state": "" if hit.validity == "active" else state_label(hit.validity),
        "warning": hit.maturity == "anti_pattern",
        "unverified": trust_mark(hit) or "",
        "score": f"{parts.score:.3f}",
        "terms": score_bar(terms),
        "details": [[name, value] for name, value in _details(ranked)],
        "duplicates": [memory_link(handle) for handle in ranked.also],
    }


def choices(answer: Answer, left_out: Mapping[str, str]) -> list[dict[str, str]]:
    """Memories to ask about: those that were found, and those that were left out."""
    found = {
        f"{one.hit.type}:{one.hit.ref}": fact_sentence(one.hit.subject_label, one.hit.predicate_label, one.hit.content)
        for one in answer.results
    }
    return [{"ref": ref, "text": truncate(said, SAID_CHARACTERS)} for ref, said in {**left_out, **found}.items()]


def score_bar(terms: Sequence[Term]) -> list[Row]:
    """The segments of a stacked bar whose full length is the maximum score."""
    whole = sum(term.weight for term in terms) or 1.0
    return [
        {
            "name": term.name,
            "label": LABELS.get(term.name, term.name),
            "share": round(100 * max(0.0, term.contribution) / whole, 2),
            "sum": f"{term.value:.3f} × {term.weight:g} = {term.contribution:.3f}",
        }
        for term in terms
    ]


def overview_note(answer: Answer) -> tuple[str, ...]:
    return ("overview: the question is broad, and these are the best of its kind",) if answer.overview else ()


def _details(ranked: Ranked) -> Iterator[tuple[str, str]]:
    parts = ranked.parts
    yield "Relevance", f"{parts.relevance:.3f} ({level_of(parts.relevance)})"
    if ranked.hit.since_changed:
        is_episode = ranked.hit.type is MemoryType.EPISODE
        reason = "a fact from this episode has been replaced" if is_episode else "a newer note corrects it"
        yield "State", f"since changed: {reason}"
    yield "Semantic rank", _rank_text(parts.semantic_rank, parts.semantic_score)
    yield "Keyword rank", _rank_text(parts.keyword_rank, parts.keyword_score)


def _rank_text(rank: int | None, score: float | None) -> str:
    return "none" if rank is None or score is None else f"{ordinal(rank)} ({score:.3f})"


def memory_link(handle: str) -> Row:
    kind, _, ref = handle.partition(":")
    return {"ref": handle, "href": memory_path(kind, ref)}


# --- context block --------------------------------------------------------------------------------


def receipt_props(receipt: Receipt, contents: Mapping[str, str]) -> Row:
    """The use of the token budget. `contents` holds the text of the memories that were left out."""
    return {
        "used": receipt.used_tokens,
        "budget": receipt.token_budget,
        "share": _share(receipt.used_tokens, receipt.token_budget),
        "sections": [
            {
                "name": part.section,
                "used": part.used_tokens,
                "quota": part.quota_tokens,
                "lines": part.lines,
                "share": _share(part.used_tokens, receipt.token_budget),
                "text": _section_text(part),
            }
            for part in receipt.sections
        ],
        "told": [
            {**memory_link(line.ref), "claim": line.claim, "reason": CLAIM_WORDS[Claim[line.claim.upper()]]}
            for line in receipt.lines
        ],
        "left_out": [
            {
                **memory_link(line["ref"]),
                "text": truncate(contents.get(line["ref"], ""), LEFT_OUT_CHARACTERS),
                "reason": reason,
            }
            for line, reason in _left_out(receipt)
        ],
        "notes": list(_notes(receipt)),
    }


def _section_text(part: SectionReceipt) -> str:
    return f"{part.used_tokens:,} tokens in {count_text(part.lines, 'line')}"


def _left_out(receipt: Receipt) -> Iterator[tuple[dict[str, str], str]]:
    """The reason for each omission. The first line that does not fit excludes all after it."""
    first = next((line["ref"] for line in receipt.left_out if line["reason"] == "budget"), None)
    for line in receipt.left_out:
        waits = line["reason"] == "budget" and line["ref"] != first
        reason = f"it ranks below {first}, which did not fit" if waits else line["reason"]
        yield line, _LEFT_OUT.get(reason, reason)


def _notes(receipt: Receipt) -> Iterator[str]:
    for reason, count in sorted(receipt.hidden.items()):
        if not count:
            continue
        # Nearest neighbours by embedding only: their relevance was not computed.
        verb = "is" if count == 1 else "are"
        yield f"{count_text(count, 'close match', 'close matches')} {verb} {_HIDDEN.get(reason, reason)}."
    for note in receipt.degraded:
        yield sentence(note)


def _share(part: int, whole: int) -> float:
    return round(min(100.0, 100 * part / whole), 2) if whole else 0.0


# --- explanation ----------------------------------------------------------------------------------


def explanation_props(explanation: Explanation) -> Row:
    """The steps that led to a memory being returned or not."""
    return {
        **memory_link(f"{explanation.type}:{explanation.ref}"),
        "returned": explanation.returned,
        "verdict": visible_text(explanation.verdict),
        "briefed": bool(explanation.briefing and explanation.briefing.included),
        "briefing": visible_text(explanation.briefing.verdict) if explanation.briefing else "",
        "steps": [{"name": name, "text": visible_text(text), "ok": ok} for name, text, ok in _steps(explanation)],
        "terms": score_bar(explanation.scoring.terms) if explanation.scoring else [],
        "score": f"{explanation.scoring.score:.3f}" if explanation.scoring else "",
    }


def _steps(explanation: Explanation) -> Iterator[tuple[str, str, bool | None]]:
    """Each step with its result; None if the step cannot exclude a memory."""
    yield "Question", _reading(explanation), None
    failed = [check for check in explanation.filters if not check.passed]
    for check in failed:
        yield f"Filter: {check.name}", sentence(check.why), False
    if not failed and explanation.filters:
        yield "Filters", f"It passes all {len(explanation.filters)}.", True
    yield "Semantic search", _listed(explanation.by_meaning), explanation.by_meaning.rank is not None
    yield (
        "Keyword search",
        _listed(explanation.by_words, explanation.matched_words),
        explanation.by_words.rank is not None,
    )
    if explanation.gate:
        comparison = "meets" if explanation.gate.passed else "is below"
        yield (
            "Relevance",
            f"{explanation.gate.relevance:.3f} {comparison} the minimum of {explanation.gate.min_relevance:g}.",
            explanation.gate.passed,
        )
    if explanation.variety and explanation.variety.repeats:
        yield "Diversity", f"It duplicates {explanation.variety.repeats}.", False
    if explanation.scoring:
        scoring = explanation.scoring
        place = f"{ordinal(scoring.place)} of {scoring.candidates} by score, {scoring.score:.3f}."
        yield "Score", sentence(place), None


def _reading(explanation: Explanation) -> str:
    read = explanation.reading
    parts = [f"Compared text: “{read.compared}”."]
    parts += [f"Names: {', '.join(read.names)}."] if read.names else []
    parts += [f"Unknown names: {', '.join(read.unheard)}."] if read.unheard else []
    parts += [f"Time: {read.time}."] if read.time else []
    return " ".join(parts)


def _listed(listing: Listing, words: Sequence[str] = ()) -> str:
    """The rank in one search, and the matched words."""
    reason = listing.why
    if listing.rank and listing.score is not None:
        reason += f", with {listing.score:.3f}"
    return sentence(f"{reason} ({', '.join(words)})" if words else reason)
