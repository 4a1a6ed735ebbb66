"""Build the answers that callers see from the results of operations. The types define the JSON."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from memory_butler.errors import MemoryButlerError
from memory_butler.models import (
    Activities,
    Activity,
    Answer,
    Briefing,
    Fact,
    HistoryLine,
    Hit,
    Link,
    Maturity,
    Memory,
    MemoryDetails,
    MemoryType,
    Neighbour,
    Ranked,
    Rule,
    Stored,
    UndoReport,
)
from memory_butler.models.answers import FoundMemory
from memory_butler.models.listings import LinkPage, ListedMemory, Page
from memory_butler.models.wire.memory_answers import (
    ActivityEvent,
    ActivityPage,
    BriefingsAnswer,
    BuiltBriefing,
    ChainFact,
    EventLine,
    ForgetAnswer,
    IngestAnswer,
    ItemFailure,
    LinkLine,
    LinksAnswer,
    MemoryDetail,
    MemoryListItem,
    NeighbourMemory,
    RuleWithWarning,
    SearchResult,
    SearchResults,
    StoredMemory,
    TouchedMemory,
    UndoAnswer,
)
from memory_butler.operations.briefing.brief_batch import BriefResult
from memory_butler.operations.trust.forget_about import ForgetReport
from memory_butler.operations.writing.ingest import IngestResult
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.memories.anti_patterns import warning

# A list that may hold thousands of memories names this many; its count covers all.
NAMED = 200
# Fields that a search result takes over from its hit.
_SHARED = {field.name for field in fields(FoundMemory)} & set(Hit._fields)


def search_results(answer: Answer) -> SearchResults:
    results = tuple(_result(entry, answer) for entry in answer.results)
    return SearchResults(results=results, count=len(results), degraded=tuple(answer.degraded))


def _result(entry: Ranked, answer: Answer) -> SearchResult:
    hit, parts = entry.hit, entry.parts
    return SearchResult(
        hit=FoundMemory(
            **{name: getattr(hit, name) for name in _SHARED}
            | {
                "tier": tier_of(hit.type, permanence=hit.permanence, maturity=hit.maturity),
                "scope": hit.scope if hit.type is not MemoryType.EPISODE else None,
                "tags": tuple(hit.tags or ()),
            },
            warning=(
                warning(hit.content, hit.harmful_reasons or []) if hit.maturity == Maturity.ANTI_PATTERN else None
            ),
        ),
        relevance=parts.relevance,
        score=parts.score,
        also=tuple(entry.also),
        parts=parts,
        neighbours=tuple(map(_neighbour, answer.neighbours[hit.id])) if answer.neighbours else None,
    )


def _neighbour(entry: Neighbour) -> NeighbourMemory:
    named = NeighbourMemory(ref=entry.ref, type=entry.type, relation=entry.relation)
    if entry.content is None:
        return named
    return replace(
        named,
        content=entry.content,
        subject_label=entry.subject_label,
        predicate_label=entry.predicate_label,
        created_at=entry.created_at,
        observed_at=entry.observed_at,
        valid_at=entry.valid_at,
    )


def stored_memory(memory: Memory) -> StoredMemory:
    """A memory with its warning if it is an anti-pattern."""
    if not isinstance(memory, Rule):
        return memory
    text = warning(memory.content, memory.harmful_reasons) if memory.maturity is Maturity.ANTI_PATTERN else None
    return RuleWithWarning(**_values(memory), warning=text)


def listed_memory(one: ListedMemory) -> MemoryListItem:
    return MemoryListItem(
        memory=stored_memory(one.memory), tier=one.tier, effective_confidence=one.effective_confidence
    )


def memory_detail(details: MemoryDetails) -> MemoryDetail:
    return MemoryDetail(
        memory=stored_memory(details.memory),
        aliases=details.aliases,
        tier=details.tier,
        effective_confidence=details.effective_confidence,
        fades_at=details.fades_at,
        expires_at=details.expires_at,
        outlook=details.outlook,
        links=tuple(link_line(one, details.memory.id) for one in details.links),
        hidden_links=details.hidden_links,
        chain=tuple(map(_chain_fact, details.chain)),
        events=tuple(map(event_line, details.story)),
    )


def _chain_fact(fact: Fact) -> ChainFact:
    return ChainFact(ref=fact.ref, content=fact.content, validity=fact.validity, created_at=fact.created_at)


def link_line(link: Link, here: UUID) -> LinkLine:
    outward = link.source_id == here
    other_type, other_id = (link.target_type, link.target_id) if outward else (link.source_type, link.source_id)
    return LinkLine(
        direction="out" if outward else "in",
        relation=link.relation,
        ref=f"{other_type}:{link.other_ref}" if link.other_ref else None,
        id=other_id,
        availability=link.availability,
        created_at=link.created_at,
    )


def link_page(links: LinkPage) -> LinksAnswer:
    items = tuple(link_line(link, links.memory) for link in links.page.items)
    return LinksAnswer(items=items, cursor=links.page.cursor, hidden_links=links.hidden)


def event_line(line: HistoryLine) -> EventLine:
    event = line.event
    return EventLine(
        seq=event.seq,
        id=event.id,
        event=event.event_type,
        words=line.words,
        at=event.occurred_at,
        actor=event.actor,
        request_id=event.request_id,
        group_id=event.group_id,
        undoes=event.undoes,
        undone=line.undone,
    )


def page_of(page: Page[Any], items: Iterable[Any]) -> Page[Any]:
    """The same page with its entries as callers see them."""
    return replace(page, items=tuple(items))


def forget_answer(report: ForgetReport) -> ForgetAnswer:
    touched = [
        TouchedMemory(ref=f"{entry.type}:{entry.ref}", why=", ".join(entry.why), line=entry.line)
        for entry in report.touched[:NAMED]
    ]
    return ForgetAnswer(
        dry_run=report.dry_run,
        count=len(report.touched),
        touched=tuple(touched),
        group_id=report.group_id,
        names=tuple(report.names),
        aliases=len(report.aliases),
        mentions=report.mentions,
    )


def undo_answer(report: UndoReport) -> UndoAnswer:
    gone = report.not_brought_back
    return UndoAnswer(**{**_values(report), "not_brought_back": gone[:NAMED]}, not_brought_back_count=len(gone))


def activity_page(activities: Activities) -> ActivityPage:
    items = tuple(map(activity_event, activities.items))
    return ActivityPage(items=items, cursor=activities.cursor, more=activities.more)


def activity_event(item: Activity) -> ActivityEvent:
    event = item.event
    return ActivityEvent(
        event=event.event_type,
        ref=item.ref,
        words=item.words,
        at=event.occurred_at,
        actor=event.actor,
        id=event.id,
        group_id=event.group_id,
        undoes=event.undoes,
        lineage=item.lineage,
    )


def ingest_answer(entries: Iterable[IngestResult | MemoryButlerError]) -> IngestAnswer:
    results = tuple(map(_ingested, entries))
    return IngestAnswer(results=results, **Counter(result.outcome for result in results))


def _ingested(entry: IngestResult | MemoryButlerError) -> ItemFailure | Stored:
    problem = entry if isinstance(entry, MemoryButlerError) else entry.problem
    if problem:
        return _failure(problem)
    assert isinstance(entry, IngestResult) and entry.stored
    return replace(entry.stored, outcome="repeated" if entry.repeated else "stored")


def briefings_answer(entries: Iterable[BriefResult | MemoryButlerError]) -> BriefingsAnswer:
    results = tuple(map(_briefed, entries))
    return BriefingsAnswer(results=results, **Counter(str(result.outcome) for result in results))


def _briefed(entry: BriefResult | MemoryButlerError) -> ItemFailure | BuiltBriefing:
    problem = entry if isinstance(entry, MemoryButlerError) else entry.problem
    if problem:
        return _failure(problem)
    assert isinstance(entry, BriefResult) and isinstance(entry.briefing, Briefing)
    return BuiltBriefing(outcome="built", briefing=entry.briefing)


def _failure(problem: MemoryButlerError) -> ItemFailure:
    return ItemFailure(outcome="failed", **error_json(problem))


def error_json(problem: MemoryButlerError) -> dict[str, Any]:
    """An error as JSON. Text quoted from a bad call may hold characters that UTF-8 cannot encode; they are escaped."""
    return {
        key: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for key, value in problem.as_dict().items()
    }


def _values(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
