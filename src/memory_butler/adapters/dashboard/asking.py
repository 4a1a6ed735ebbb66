"""What the playground is asked for and how its answers are told: pure, from what operations say to what is shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import counted, short_of, state_of
from memory_butler.errors import InvalidInput
from memory_butler.models import Answer, BriefRequest, MemoryType, Mode, Question, Ranked, Receipt, SectionReceipt
from memory_butler.models.explanation import Explanation, Listing, Term
from memory_butler.policy.wording import about_of, ordinal

Row = dict[str, Any]
PATH = "/playground"
EXAMPLES = (
    "What should I know before we start today?",
    "Which mistakes must not happen again?",
    "Who do I work with, and how do they like things done?",
    "What happened last week?",
)
MODES = {
    Mode.HYBRID: "By meaning and words",
    Mode.SEMANTIC: "By meaning only",
    Mode.KEYWORD: "By words only",
}
LABELS = {"fit": "Fit", "importance": "Importance", "recency": "Recency", "confidence": "Confidence"}
# So much is shown of each memory that was left out, on one line.
WORDS = 200
_LEFT_OUT = {
    "quota": "its section had used its share of the budget",
    "budget": "there was no room left for it in the budget",
}
_HIDDEN = {
    "confidence": "not held with enough confidence any more",
    "scope": "in the scope of another butler",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants to see answered. `why` is the memory they miss."""

    prompt: str
    butler: str
    mode: str = Mode.HYBRID
    types: tuple[str, ...] = ()
    budget: str = ""
    as_of: str = ""
    why: str = ""

    @property
    def moment(self) -> datetime | None:
        if not self.as_of:
            return None
        try:
            return datetime.fromisoformat(self.as_of)
        except ValueError as problem:
            raise InvalidInput(
                f"{self.as_of[:40]!r} is no date.", recovery="Choose one, or leave it empty."
            ) from problem

    @property
    def tokens(self) -> int | None:
        if not self.budget:
            return None
        if not (self.budget.isascii() and self.budget.isdigit() and len(self.budget) < 10):
            raise InvalidInput(f"{self.budget[:40]!r} is no number of tokens.", recovery="Give a whole number.")
        return int(self.budget)

    def question(self) -> Question:
        return Question(query=self.prompt, types=self.types, butler=self.butler, mode=self.mode, as_of=self.moment)

    def request(self) -> BriefRequest:
        return BriefRequest(trigger_prompt=self.prompt, butler=self.butler, token_budget=self.tokens, as_of=self.moment)


def wish_from(query: Mapping[str, str], usual: str) -> Wish:
    """What an address asks for."""
    return Wish(
        prompt=query.get("prompt", "").strip(),
        butler=query.get("butler", "").strip() or usual,
        mode=query.get("mode", "").strip() or Mode.HYBRID,
        types=tuple(one for one in query.get("types", "").split(",") if one),
        budget=query.get("budget", "").strip(),
        as_of=query.get("as_of", "").strip(),
        why=query.get("why", "").strip(),
    )


def in_address(wish: Wish, usual: str) -> dict[str, str | None]:
    """The same as an address; what is as usual is left out."""
    return {
        "prompt": wish.prompt,
        "butler": wish.butler if wish.butler != usual else None,
        "mode": wish.mode if wish.mode != Mode.HYBRID else None,
        "types": ",".join(wish.types) if set(wish.types) != set(MemoryType) else None,
        "budget": wish.budget,
        "as_of": wish.as_of,
        "why": wish.why,
    }


# --- what was found -------------------------------------------------------------------------------


def result_rows(answer: Answer, terms: Sequence[Sequence[Term]]) -> list[Row]:
    """The results of a search, each with what its score is the sum of."""
    return [_result(place, *pair) for place, pair in enumerate(zip(answer.results, terms, strict=True), start=1)]


def _result(place: int, found: Ranked, terms: Sequence[Term]) -> Row:
    hit, parts = found.hit, found.parts
    about = about_of(hit.subject_label, hit.predicate_label) if hit.subject_label else ""
    return {
        "place": place,
        "ref": f"{hit.type}:{hit.ref}",
        "href": memory_path(hit.type, hit.ref),
        "type": str(hit.type),
        "about": text_of(about),
        "words": text_of(hit.content),
        "validity": str(hit.validity),
        "state": "" if hit.validity == "active" else state_of(hit.validity),
        "warning": hit.maturity == "anti_pattern",
        "score": f"{parts.score:.3f}",
        "terms": bar(terms),
        "details": [[name, value] for name, value in _details(found)],
        "also": [also(one) for one in found.also],
    }


def bar(terms: Sequence[Term]) -> list[Row]:
    """The pieces of a bar whose full length is the best score there can be."""
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


def _details(found: Ranked) -> Iterator[tuple[str, str]]:
    """What is known of a score beside its summands."""
    parts = found.parts
    yield "Relevance", f"{parts.relevance:.3f}"
    yield "By meaning", _on_list(parts.semantic_rank, parts.semantic_score)
    yield "By words", _on_list(parts.keyword_rank, parts.keyword_score)


def _on_list(rank: int | None, score: float | None) -> str:
    return "not on the list" if rank is None or score is None else f"{ordinal(rank)}, {score:.3f}"


def also(handle: str) -> Row:
    """A memory that is named by its reference."""
    kind, _, ref = handle.partition(":")
    return {"ref": handle, "href": memory_path(kind, ref)}


# --- the block ------------------------------------------------------------------------------------


def receipt_shape(receipt: Receipt, words: Mapping[str, str]) -> Row:
    """What became of the budget, in figures and in sentences. `words` are those of what was left out."""
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
                "said": _spent(part),
            }
            for part in receipt.sections
        ],
        "left": [
            {**also(line["ref"]), "words": short_of(words.get(line["ref"], ""), WORDS), "why": why}
            for line, why in _left_out(receipt)
        ],
        "notes": list(_notes(receipt)),
    }


def _spent(part: SectionReceipt) -> str:
    said = f"{part.used_tokens:,} tokens in {counted(part.lines, 'line')}; its share is {part.quota_tokens:,}"
    return f"{said}, the rest is what other sections left" if part.used_tokens > part.quota_tokens else said


def _left_out(receipt: Receipt) -> Iterator[tuple[dict[str, str], str]]:
    """Why each stayed out. In a section the first that does not fit keeps those below it waiting, short ones too."""
    first: dict[str, str] = {}
    for line in receipt.left_out:
        kind = line["ref"].partition(":")[0]
        before = first.setdefault(kind, line["ref"])
        why = _LEFT_OUT.get(line["reason"], line["reason"])
        yield line, why if before == line["ref"] else f"it comes after {before}, which did not fit"


def _notes(receipt: Receipt) -> Iterator[str]:
    for reason, count in sorted(receipt.hidden.items()):
        if not count:
            continue
        # They are the nearest there are, however far away: how relevant they are nobody has looked at.
        they, bear = ("is", "it bears") if count == 1 else ("are", "they bear")
        why = _HIDDEN.get(reason, reason)
        yield f"{count:,} of the memories nearest in meaning {they} {why}; whether {bear} on this was not looked at."
    for said in receipt.degraded:
        yield sentence(said)


def _share(part: int, whole: int) -> float:
    return round(min(100.0, 100 * part / whole), 2) if whole else 0.0


# --- why something is not there -------------------------------------------------------------------


def why_shape(told: Explanation) -> Row:
    """Why a memory is in the answer or not, step by step."""
    return {
        **also(f"{told.type}:{told.ref}"),
        "returned": told.returned,
        "verdict": text_of(told.verdict),
        "briefed": bool(told.briefing and told.briefing.included),
        "briefing": text_of(told.briefing.verdict) if told.briefing else "",
        "steps": [{"name": name, "words": text_of(words), "ok": ok} for name, words, ok in _steps(told)],
        "terms": bar(told.scoring.terms) if told.scoring else [],
        "score": f"{told.scoring.score:.3f}" if told.scoring else "",
    }


def _steps(told: Explanation) -> Iterator[tuple[str, str, bool | None]]:
    """What each step on the way says: whether it let the memory through, if it could have stopped it."""
    yield "The question", _reading(told), None
    failed = [check for check in told.filters if not check.passed]
    for check in failed:
        yield f"Filter: {check.name}", sentence(check.why), False
    if not failed and told.filters:
        yield "Filters", f"It passes all {len(told.filters)}.", True
    yield "By meaning", _listed(told.by_meaning), told.by_meaning.rank is not None
    yield "By words", _listed(told.by_words, told.matched_words), told.by_words.rank is not None
    if told.gate:
        verb = "is enough" if told.gate.passed else "is not enough"
        yield (
            "Relevance",
            f"{told.gate.relevance:.3f} {verb}: {told.gate.min_relevance:g} is asked for.",
            told.gate.passed,
        )
    if told.variety and told.variety.repeats:
        yield "Variety", f"It says the same as {told.variety.repeats}.", False
    if told.scoring:
        place = f"{ordinal(told.scoring.place)} of {told.scoring.candidates} by score, {told.scoring.score:.3f}."
        yield "Score", sentence(place), None


def _reading(told: Explanation) -> str:
    read = told.reading
    said = [f"Compared: “{read.compared}”."]
    said += [f"Names: {', '.join(read.names)}."] if read.names else []
    said += [f"Never heard of: {', '.join(read.unheard)}."] if read.unheard else []
    said += [f"Time: {read.time}."] if read.time else []
    return " ".join(said)


def _listed(listing: Listing, words: Sequence[str] = ()) -> str:
    """Where it stands on a list, and by which words."""
    why = listing.why
    if listing.rank and listing.score is not None:
        why += f", with {listing.score:.3f}"
    return sentence(f"{why} ({', '.join(words)})" if words else why)


def sentence(said: str) -> str:
    """Words with a capital and a full stop."""
    text = text_of(said[:1].upper() + said[1:])
    return text if text.endswith((".", "!", "?")) else f"{text}."
