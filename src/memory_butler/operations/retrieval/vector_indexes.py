"""Vector indexes: their status with measured recall, and their migration to the settings on a running store."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from memory_butler.errors import OverloadRejected
from memory_butler.models import Caller, MemoryType, Reach
from memory_butler.models.vector_index import Shape
from memory_butler.policy.access.roles import require_admin
from memory_butler.policy.retrieval.index_choice import PostureRules, wanted_shape
from memory_butler.policy.retrieval.passages import MAX_PASSAGES
from memory_butler.resources import Resources
from memory_butler.settings import VectorIndex
from memory_butler.store.retrieval import vector_index
from memory_butler.store.retrieval.search import SearchQuery
from memory_butler.store.retrieval.vector_index import NEAR, NEXT, PAST, Index, Overseer, Place, Progress

LARGEST = 10
RECALL_AT = 10
SAMPLED = (
    "the questions that were asked last (live) and, where they are too few, stored passages, half of them the newest,"
    " half drawn; a passage's own memory does not count"
)
# Questions with which a new index is measured before it is used.
SWITCH_QUERIES = 40
_SEED = 20_260_301

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a migration: `build` an index, put a finished one `in place`, or `drop` one, and the reason."""

    action: str
    tenant: str | None
    memory_type: str
    version: int
    dimensions: int = 0
    index: str
    rows: int
    shape: Shape | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a tenant's memories of one type are searched. Without an index the fields about it are None.

    Recall was measured with `queries`, of which `live_queries` were recent questions of callers.
    """

    tenant: str
    memory_type: str
    version: int
    rows: int
    in_force: str
    wanted: str
    valid: bool | None = None
    bytes: int | None = None
    bloat: float | None = None
    built_at: str | None = None
    recall: float | None = None
    fell_back: int | None = None
    queries: int = 0
    live_queries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The settings, the status of the largest tenants and of those with an index, and the steps of a migration."""

    rules: VectorIndex
    memories: dict[str, int]
    standings: tuple[Standing, ...]
    due: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    memories: dict[str, int]
    places: list[Place]
    indexes: list[Index]

    def index_of(self, place: Place, stage: str) -> Index | None:
        wanted = place.tenant, place.memory_type, place.version, stage
        for index in self.indexes:
            if (index.tenant, index.memory_type, index.version, index.stage) == wanted:
                return index
        return None


async def status(resources: Resources, caller: Caller | None = None, *, queries: int = 20) -> Status:
    """Status of every large tenant, with the recall of each index measured by this number of queries."""
    require_admin((caller or resources.local_caller()).principal, "manage vector indexes")
    async with vector_index.overseen(resources.database) as overseer:
        survey = await _survey(resources, overseer)
    rules = _rules(resources.settings.vector_index)
    standings = [await _standing(resources, survey, place, queries) for place in survey.places]
    return Status(
        rules=resources.settings.vector_index,
        memories=survey.memories,
        standings=tuple(standings),
        due=tuple(_steps(survey, rules, rebuild=False)),
    )


async def migrate(
    resources: Resources,
    caller: Caller | None = None,
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> tuple[Step, ...]:
    """Build missing indexes and drop those that the settings no longer want; returns the steps, also of a dry run.

    Reads and writes continue. After a kill at any point it can be run again: it drops unfinished indexes.
    """
    require_admin((caller or resources.local_caller()).principal, "manage vector indexes")
    rules = _rules(resources.settings.vector_index)
    async with vector_index.overseen(resources.database) as overseer:
        if not dry_run:
            await overseer.take_turn()
        survey = await _survey(resources, overseer)
        steps = _steps(survey, rules, rebuild=rebuild)
        for number, step in enumerate(steps, start=1):
            if not dry_run:
                await _take(resources, overseer, step, _numbered(progress, step, number, len(steps)))
        if not dry_run:
            await overseer.end_turn()
    resources.database.indexed_tenants.clear()
    return tuple(steps)


async def _take(resources: Resources, overseer: Overseer, step: Step, progress: Progress) -> None:
    progress("", 0, 0)
    if step.action == "drop":
        await overseer.drop(step.index)
        if step.tenant:
            async with resources.database.unlocked_write(step.tenant) as transaction:
                await transaction.send(
                    "vector_index.drop_needless_questions", embedding_version=step.version, stage=NEAR
                )
        return
    assert step.tenant and step.shape
    place = Place(step.tenant, step.memory_type, step.version, step.dimensions, step.rows)
    if step.action == "build":
        await overseer.build(place, step.shape, resources.clock(), progress)
    else:
        await overseer.put_in_place(place)


def _numbered(progress: Progress, step: Step, number: int, steps: int) -> Progress:
    head = f"{number}/{steps} {step.action} {step.memory_type}s of {step.tenant or 'nobody'}"
    return lambda phase, done, total: progress(f"{head}: {phase}" if phase else head, done, total)


def _steps(survey: _Survey, rules: PostureRules, *, rebuild: bool) -> list[Step]:
    steps = [
        Step(action="drop", tenant=None, memory_type=index.memory_type, version=index.version, index=index.name, rows=0,
             shape=index.shape, why="its tenant is gone")
        for index in survey.indexes if index.tenant is None
    ]  # fmt: skip
    for place in survey.places:
        steps += _steps_at(
            place, {stage: survey.index_of(place, stage) for stage in (NEAR, NEXT, PAST)}, rules, rebuild
        )
    return steps


def _steps_at(place: Place, there: Mapping[str, Index | None], rules: PostureRules, rebuild: bool) -> list[Step]:
    """The steps for a tenant's memories of one type, in order."""
    near, following, past = there[NEAR], there[NEXT], there[PAST]
    present = near.shape if near and near.valid else None
    want = wanted_shape(place.rows, rules, present)
    steps = []
    if past:
        steps.append(_step("drop", place, past.name, past.shape, "its successor is in place"))
    finished = following is not None and following.valid and following.shape == want
    if following and not finished:
        why = "it is not wanted" if following.valid else "its build was interrupted"
        steps.append(_step("drop", place, following.name, following.shape, why))
    if want is None:
        if near:
            steps.append(_step("drop", place, near.name, near.shape, f"{place.rows} passages are searched exactly"))
        return steps
    if present == want and not rebuild and not finished:
        return steps
    name = vector_index.name_of(place, NEXT)
    if not finished:
        why = f"there is {present}" if present else "there is none"
        if present == want:
            why = "it is rebuilt"
        steps.append(_step("build", place, name, want, why))
    steps.append(_step("in place", place, name, want, "it is complete"))
    if near:
        steps.append(_step("drop", place, vector_index.name_of(place, PAST), near.shape, "its successor is in place"))
    return steps


def _step(action: str, place: Place, index: str, shape: Shape, why: str) -> Step:
    return Step(
        action=action,
        tenant=place.tenant,
        memory_type=place.memory_type,
        version=place.version,
        dimensions=place.dimensions,
        index=index,
        rows=place.rows,
        shape=shape,
        why=why,
    )


async def switch_if_due(resources: Resources, tenant: str) -> dict[str, str]:
    """Under the posture `auto`: build, replace or drop the indexes of a tenant that has grown or shrunk. A new index is
    used if its recall, measured with recent questions, is at least `min_recall`; else it is dropped, and the next
    cleanup tries again. Returns what happened by index; empty if nothing is due or another migration runs."""
    settings = resources.settings.vector_index
    if settings.posture != "auto" or not await _may_be_due(resources, tenant):
        return {}
    async with vector_index.overseen(resources.database) as overseer:
        steps = _steps(await _survey(resources, overseer, tenant), _rules(settings), rebuild=False)
        if not steps:
            return {}
        try:
            await overseer.take_turn()
        except OverloadRejected:
            return {}
        done: dict[str, str] = {}
        for step in steps:
            if step.action == "in place" and (found := await _refusal(resources, overseer, step)):
                done[step.index] = found
                break
            await _take(resources, overseer, step, lambda stage, done, total: None)
            done[step.index] = f"{step.action}: {step.why}"
        await overseer.end_turn()
    resources.database.indexed_tenants.clear()
    return done


async def _may_be_due(resources: Resources, tenant: str) -> bool:
    """Whether the tenant is so large that it has, had or needs an index, without a connection of the owner."""
    limit = resources.settings.vector_index.exact_below
    async with resources.database.read(tenant) as transaction:
        counted = await vector_index.places(transaction, tenant)
    return any(place.rows >= limit for place in counted) or resources.database.indexed_tenants.includes(
        tenant, resources.embedding_version
    )


async def _refusal(resources: Resources, overseer: Overseer, step: Step) -> str | None:
    """Measure a new index before a search uses it. Why it must not be used, after it was dropped; None if it may."""
    assert step.tenant
    place = Place(step.tenant, step.memory_type, step.version, step.dimensions, step.rows)
    measured = await _measure(resources, place, SWITCH_QUERIES, stage=NEXT)
    recall, least = measured["recall"] or 0.0, resources.settings.vector_index.min_recall
    if recall >= least:
        return None
    await overseer.drop(step.index)
    log.warning("a new vector index of %s finds %.3f of the nearest; it is not used", step.memory_type, recall)
    return f"dropped: its recall of {recall:.3f} is below {least:g}"


async def _survey(resources: Resources, overseer: Overseer, only: str | None = None) -> _Survey:
    """The passages of every tenant that is large, could be, or has an index; or of one tenant."""
    indexes = [index for index in await overseer.indexes() if only is None or index.tenant == only]
    at_least = max(1, resources.settings.vector_index.exact_below // MAX_PASSAGES)
    memories = {} if only else await overseer.tenants(at_least, LARGEST)
    places = []
    for tenant in [only] if only else dict.fromkeys([*memories, *(one.tenant for one in indexes if one.tenant)]):
        async with resources.database.read(tenant) as transaction:
            counted = await vector_index.places(transaction, tenant)
        there = {(place.memory_type, place.version) for place in counted}
        left = {(one.memory_type, one.version) for one in indexes if one.tenant == tenant} - there
        # Of these there is an index, but not a single passage any more.
        empty = [Place(tenant, kind, version, 0, 0) for kind, version in left]
        places += sorted([*counted, *empty], key=lambda place: (place.memory_type, place.version))
    return _Survey(memories=memories, places=places, indexes=indexes)


async def _standing(resources: Resources, survey: _Survey, place: Place, queries: int) -> Standing:
    near = survey.index_of(place, NEAR)
    usable = near is not None and near.valid
    used = usable and resources.settings.vector_index.posture != "exact"
    want = wanted_shape(place.rows, _rules(resources.settings.vector_index), near.shape if near and usable else None)
    shown = Standing(
        tenant=place.tenant,
        memory_type=place.memory_type,
        version=place.version,
        rows=place.rows,
        in_force=str(near.shape) if near and used else "exact",
        wanted=str(want) if want else "exact",
    )
    if near is None:
        return shown
    measured = await _measure(resources, place, queries) if used and queries else {}
    return replace(
        shown,
        valid=near.valid,
        bytes=near.bytes,
        bloat=near.bloat(place.rows),
        built_at=near.built_at.isoformat(timespec="seconds") if near.built_at else None,
        **measured,
    )


async def _measure(resources: Resources, place: Place, queries: int, stage: str = NEAR) -> dict[str, Any]:
    """Recall of the index against exact search, at ten. Of equally near memories any will do."""
    database = resources.database
    asked = await _questions(resources, place, queries)
    shares, fell_back = [], 0
    for own, vector in asked:
        params = {**_query(resources, place).params(), "embedding": vector, "dimensions": place.dimensions}
        async with database.read(place.tenant) as transaction:
            by_index = await vector_index.nearest_by_index(database, transaction, params, stage)
        if not by_index:
            fell_back += 1
            continue
        async with database.read(place.tenant) as transaction:
            exactly = await vector_index.nearest(transaction, params)
        shares.append(
            recall_of([score for one, score in by_index if one != own], [score for one, score in exactly if one != own])
        )
    return {
        "recall": sum(shares) / len(shares) if shares else None,
        "fell_back": fell_back,
        "queries": len(asked),
        "live_queries": sum(own is None for own, _ in asked),
    }


async def _questions(resources: Resources, place: Place, count: int) -> list[tuple[UUID | None, Any]]:
    """Vectors to query with: recent questions and, if there are too few, stored passages with the memory of each."""
    async with resources.database.read(place.tenant) as transaction:
        live = await vector_index.recent_questions(transaction, place.version, count)
        missing = count - len(live)
        # Drawn in two halves of the same size, so of an odd number there is one too many.
        stored = await vector_index.sample(transaction, place, missing + 1, seed=_SEED)
    return [*((None, vector) for vector in live), *stored[:missing]]


def recall_of(found: Sequence[float], exact: Sequence[float], at: int = RECALL_AT) -> float:
    """The share of the found scores that are as good as those of exact search."""
    best = exact[:at]
    return sum(score >= best[-1] for score in found[:at]) / len(best) if best else 1.0


def _query(resources: Resources, place: Place) -> SearchQuery:
    """A search for all memories of one type and embedding version, without filters."""
    retrieval = resources.settings.retrieval
    return SearchQuery(
        words="",
        embedding=None,
        embedding_version=place.version,
        types=[MemoryType(place.memory_type)],
        reach=Reach(scopes=None, butlers=None),
        min_confidence=0,
        text_search=retrieval.text_search,
        k1=retrieval.bm25_k1,
        b=retrieval.bm25_b,
        scan_limit=retrieval.scan_limit,
        candidates=retrieval.candidates,
        now=resources.clock(),
    )


def _rules(settings: VectorIndex) -> PostureRules:
    return PostureRules(
        posture=settings.posture,
        exact_below=settings.exact_below,
        hnsw_from=settings.hnsw_from,
        lists=settings.ivfflat.lists,
        m=settings.hnsw.m,
        ef_construction=settings.hnsw.ef_construction,
    )
