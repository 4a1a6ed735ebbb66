"""Entities, requests and results: frozen values without I/O."""

# `X as X` exports X. Sorting would give each name an import statement of its own.
# ruff: isort: skip_file

from memory_butler.models.answers import (
    Answer as Answer,
    Briefing as Briefing,
    BriefingLine as BriefingLine,
    Hit as Hit,
    MemoryDetails as MemoryDetails,
    Ranked as Ranked,
    Receipt as Receipt,
    ScoreParts as ScoreParts,
    SectionReceipt as SectionReceipt,
    DerivedMemory as DerivedMemory,
    Stored as Stored,
)
from memory_butler.models.history import (
    Activities as Activities,
    Activity as Activity,
    HistoryLine as HistoryLine,
    MemoryState as MemoryState,
    SkippedEvent as SkippedEvent,
    UndoCandidate as UndoCandidate,
    UndoneEvent as UndoneEvent,
    UndoReport as UndoReport,
)
from memory_butler.models.identity import Login as Login, NewToken as NewToken, Token as Token
from memory_butler.models.memories import (
    Episode as Episode,
    Event as Event,
    Fact as Fact,
    Link as Link,
    Memory as Memory,
    NewEpisode as NewEpisode,
    NewFact as NewFact,
    MemoryChanges as MemoryChanges,
    NewNote as NewNote,
    NewRule as NewRule,
    Rule as Rule,
)
from memory_butler.models.neighbours import Neighbour as Neighbour, NeighbourRelation as NeighbourRelation
from memory_butler.models.proposals import (
    Batch as Batch,
    CheckedProposal as CheckedProposal,
    DistillerResult as DistillerResult,
    EmptyEpisode as EmptyEpisode,
    Item as Item,
    ItemKind as ItemKind,
    ItemResult as ItemResult,
    KnownMemory as KnownMemory,
    RefusalReason as RefusalReason,
    RefusedItem as RefusedItem,
    RunReport as RunReport,
    Usage as Usage,
)
from memory_butler.models.requests import (
    BriefRequest as BriefRequest,
    Caller as Caller,
    Lineage as Lineage,
    Principal as Principal,
    Question as Question,
    Reach as Reach,
)
from memory_butler.models.vocabulary import (
    EVERY_SCOPE as EVERY_SCOPE,
    GLOBAL_SCOPE as GLOBAL_SCOPE,
    USER_KEYS as USER_KEYS,
    USER_SUBJECTS as USER_SUBJECTS,
    LIVE as LIVE,
    ConsolidationStatus as ConsolidationStatus,
    Maturity as Maturity,
    MemoryType as MemoryType,
    Mode as Mode,
    Origin as Origin,
    Outcome as Outcome,
    Permanence as Permanence,
    Relation as Relation,
    Role as Role,
    Tier as Tier,
    Validity as Validity,
)
