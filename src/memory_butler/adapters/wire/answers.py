"""Build the answers that callers see from the results of operations. The types define the JSON."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from memory_butler import models
from memory_butler.errors import MemoryButlerError
from memory_butler.models.answers import FoundMemory
from memory_butler.models.listings import LinkPage, ListedMemory, Page
from memory_butler.models.wire import memory_answers as wire
from memory_butler.models.wire.codec import copy_fields
from memory_butler.operations.briefing.brief_batch import BriefResult
from memory_butler.operations.trust.forget_about import ForgetReport
from memory_butler.operations.trust.purge import PurgeReport
from memory_butler.operations.writing.ingest import IngestResult
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.memories.anti_patterns import warning
from memory_butler.policy.memories.text import day, trust_mark
from memory_butler.policy.retrieval.relevance import level_of
from memory_butler.policy.trust.redaction import redact

Entry = TypeVar("Entry", IngestResult, BriefResult)
Done = TypeVar("Done")
# A list that may hold thousands of memories names this many; its count covers all.
NAMED = 200


def search_results(answer: models.Answer) -> wire.SearchResults:
    results = tuple(_result(entry, answer) for entry in answer.results)
    return wire.SearchResults(
        results=results,
        count=len(results),
        degraded=tuple(answer.degraded),
        overview=answer.overview,
        reembedding=answer.reembedding,
    )


def _result(entry: models.Ranked, answer: models.Answer) -> wire.SearchResult:
    hit = entry.hit
    found = copy_fields(
        FoundMemory,
        hit,
        tier=tier_of(hit.type, permanence=hit.permanence, maturity=hit.maturity),
        scope=hit.scope if hit.type is not models.MemoryType.EPISODE else None,
        tags=tuple(hit.tags or ()),
        unverified=trust_mark(hit),
        warning=warning(hit.content, hit.harmful_reasons or [])
        if hit.maturity == models.Maturity.ANTI_PATTERN
        else None,
    )
    return wire.SearchResult(
        hit=found,
        when=day(hit.valid_at or hit.observed_at or hit.created_at),
        confidence=None if hit.type is models.MemoryType.EPISODE else entry.parts.effective_confidence,
        relevance=entry.parts.relevance,
        relevance_level=level_of(entry.parts.relevance),
        score=entry.parts.score,
        also=tuple(entry.also),
        parts=entry.parts,
        neighbours=tuple(map(_neighbour, answer.neighbours[hit.id])) if answer.neighbours else None,
    )


def _neighbour(entry: models.Neighbour) -> wire.NeighbourMemory:
    if entry.content is None:
        return wire.NeighbourMemory(ref=entry.ref, type=entry.type, relation=entry.relation)
    return copy_fields(wire.NeighbourMemory, entry)


def stored_memory(memory: models.Memory) -> wire.StoredMemory:
    """A memory with its warning if it is an anti-pattern."""
    if not isinstance(memory, models.Rule):
        return memory
    text = warning(memory.content, memory.harmful_reasons) if memory.maturity is models.Maturity.ANTI_PATTERN else None
    return copy_fields(wire.RuleWithWarning, memory, warning=text)


def listed_memory(one: ListedMemory) -> wire.MemoryListItem:
    return copy_fields(wire.MemoryListItem, one, memory=stored_memory(one.memory))


def memory_detail(details: models.MemoryDetails) -> wire.MemoryDetail:
    return copy_fields(
        wire.MemoryDetail,
        details,
        memory=stored_memory(details.memory),
        links=tuple(link_line(one, details.memory.id) for one in details.links),
        chain=tuple(copy_fields(wire.ChainFact, fact) for fact in details.chain),
        events=tuple(map(event_line, details.story)),
    )


def link_line(link: models.Link, here: UUID) -> wire.LinkLine:
    outward = link.source_id == here
    other_type, other_id = (link.target_type, link.target_id) if outward else (link.source_type, link.source_id)
    ref = f"{other_type}:{link.other_ref}" if link.other_ref else None
    return copy_fields(wire.LinkLine, link, direction="out" if outward else "in", ref=ref, id=other_id)


def link_page(links: LinkPage) -> wire.LinksAnswer:
    items = tuple(link_line(link, links.memory) for link in links.page.items)
    return wire.LinksAnswer(items=items, cursor=links.page.cursor, hidden_links=links.hidden)


def event_line(line: models.HistoryLine) -> wire.EventLine:
    event = line.event
    said = {"event": event.event_type, "words": line.words, "at": event.occurred_at, "undone": line.undone}
    return copy_fields(wire.EventLine, event, **said)


def page_of(page: Page[Any], to_entry: Callable[[Any], Any]) -> Page[Any]:
    """The same page with its entries as callers see them."""
    return replace(page, items=tuple(map(to_entry, page.items)))


def forget_answer(report: ForgetReport) -> wire.ForgetAnswer:
    return copy_fields(wire.ForgetAnswer, report, **_touched(report))


def purge_answer(report: PurgeReport) -> wire.PurgeAnswer:
    return copy_fields(wire.PurgeAnswer, report, **_touched(report))


def _touched(report: ForgetReport | PurgeReport) -> dict[str, Any]:
    touched = tuple(
        wire.TouchedMemory(ref=f"{entry.type}:{entry.ref}", why=", ".join(entry.why), line=entry.line)
        for entry in report.touched[:NAMED]
    )
    similar = tuple(copy_fields(wire.SimilarText, entry) for entry in report.similar)
    return {"touched": touched, "count": len(report.touched), "aliases": len(report.aliases), "similar": similar}


def undo_answer(report: models.UndoReport) -> wire.UndoAnswer:
    gone = report.not_brought_back
    return copy_fields(wire.UndoAnswer, report, not_brought_back=gone[:NAMED], not_brought_back_count=len(gone))


def activity_page(activities: models.Activities) -> wire.ActivityPage:
    return copy_fields(wire.ActivityPage, activities, items=tuple(map(activity_event, activities.items)))


def activity_event(item: models.Activity) -> wire.ActivityEvent:
    event = item.event
    said = {"ref": item.ref, "words": item.words, "lineage": item.lineage}
    return copy_fields(wire.ActivityEvent, event, event=event.event_type, at=event.occurred_at, **said)


def ingest_answer(entries: Iterable[IngestResult | MemoryButlerError]) -> wire.IngestAnswer:
    results = tuple(_item(entry, _ingested) for entry in entries)
    return wire.IngestAnswer(results=results, **Counter(result.outcome for result in results))


def _ingested(entry: IngestResult) -> models.Stored:
    assert entry.stored
    return replace(entry.stored, outcome="repeated" if entry.repeated else "stored")


def briefings_answer(entries: Iterable[BriefResult | MemoryButlerError]) -> wire.BriefingsAnswer:
    results = tuple(_item(entry, _briefed) for entry in entries)
    return wire.BriefingsAnswer(results=results, **Counter(str(result.outcome) for result in results))


def _briefed(entry: BriefResult) -> wire.BuiltBriefing:
    assert isinstance(entry.briefing, models.Briefing)
    return wire.BuiltBriefing(outcome="built", briefing=entry.briefing)


def _item(entry: Entry | MemoryButlerError, to_answer: Callable[[Entry], Done]) -> wire.ItemFailure | Done:
    """The outcome of one item of a batch."""
    problem = entry if isinstance(entry, MemoryButlerError) else entry.problem
    if problem:
        return wire.ItemFailure(outcome="failed", **error_json(problem))
    assert not isinstance(entry, MemoryButlerError)
    return to_answer(entry)


def error_json(problem: MemoryButlerError) -> dict[str, Any]:
    """An error as JSON. Text quoted from a bad call may hold characters that UTF-8 cannot encode, which are escaped, or
    secrets, which are redacted."""
    return {
        key: redact(value.encode("utf-8", "backslashreplace").decode()).text if isinstance(value, str) else value
        for key, value in problem.as_dict().items()
    }
