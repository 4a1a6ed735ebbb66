"""Entities, requests and results: frozen values without I/O."""

from memory_butler.models.answers import (
    Answer as Answer,
)
from memory_butler.models.answers import (
    Briefing as Briefing,
)
from memory_butler.models.answers import (
    Hit as Hit,
)
from memory_butler.models.answers import (
    MemoryDetails as MemoryDetails,
)
from memory_butler.models.answers import (
    Ranked as Ranked,
)
from memory_butler.models.answers import (
    Receipt as Receipt,
)
from memory_butler.models.answers import (
    ScoreParts as ScoreParts,
)
from memory_butler.models.answers import (
    SectionReceipt as SectionReceipt,
)
from memory_butler.models.answers import (
    Stored as Stored,
)
from memory_butler.models.history import (
    Activities as Activities,
)
from memory_butler.models.history import (
    Activity as Activity,
)
from memory_butler.models.history import (
    HistoryLine as HistoryLine,
)
from memory_butler.models.history import (
    MemoryState as MemoryState,
)
from memory_butler.models.history import (
    SkippedEvent as SkippedEvent,
)
from memory_butler.models.history import (
    UndoCandidate as UndoCandidate,
)
from memory_butler.models.history import (
    UndoneEvent as UndoneEvent,
)
from memory_butler.models.history import (
    UndoReport as UndoReport,
)
from memory_butler.models.identity import Login as Login
from memory_butler.models.identity import NewToken as NewToken
from memory_butler.models.identity import Token as Token
from memory_butler.models.memories import (
    Episode as Episode,
)
from memory_butler.models.memories import (
    Event as Event,
)
from memory_butler.models.memories import (
    Fact as Fact,
)
from memory_butler.models.memories import (
    Link as Link,
)
from memory_butler.models.memories import (
    Memory as Memory,
)
from memory_butler.models.memories import (
    NewEpisode as NewEpisode,
)
from memory_butler.models.memories import (
    NewFact as NewFact,
)
from memory_butler.models.memories import (
    NewNote as NewNote,
)
from memory_butler.models.memories import (
    NewRule as NewRule,
)
from memory_butler.models.memories import (
    Rule as Rule,
)
from memory_butler.models.neighbours import Neighbour as Neighbour
from memory_butler.models.neighbours import NeighbourRelation as NeighbourRelation
from memory_butler.models.proposals import (
    Batch as Batch,
)
from memory_butler.models.proposals import (
    CheckedProposal as CheckedProposal,
)
from memory_butler.models.proposals import (
    DistillerResult as DistillerResult,
)
from memory_butler.models.proposals import (
    Item as Item,
)
from memory_butler.models.proposals import (
    ItemKind as ItemKind,
)
from memory_butler.models.proposals import (
    ItemResult as ItemResult,
)
from memory_butler.models.proposals import (
    KnownMemory as KnownMemory,
)
from memory_butler.models.proposals import (
    RefusalReason as RefusalReason,
)
from memory_butler.models.proposals import (
    RefusedItem as RefusedItem,
)
from memory_butler.models.proposals import (
    RunReport as RunReport,
)
from memory_butler.models.proposals import (
    Usage as Usage,
)
from memory_butler.models.requests import (
    BriefRequest as BriefRequest,
)
from memory_butler.models.requests import (
    Caller as Caller,
)
from memory_butler.models.requests import (
    Lineage as Lineage,
)
from memory_butler.models.requests import (
    Principal as Principal,
)
from memory_butler.models.requests import (
    Question as Question,
)
from memory_butler.models.requests import (
    Reach as Reach,
)
from memory_butler.models.vocabulary import (
    EVERY_SCOPE as EVERY_SCOPE,
)
from memory_butler.models.vocabulary import (
    GLOBAL_SCOPE as GLOBAL_SCOPE,
)
from memory_butler.models.vocabulary import (
    LIVE as LIVE,
)
from memory_butler.models.vocabulary import (
    ConsolidationStatus as ConsolidationStatus,
)
from memory_butler.models.vocabulary import (
    Maturity as Maturity,
)
from memory_butler.models.vocabulary import (
    MemoryType as MemoryType,
)
from memory_butler.models.vocabulary import (
    Mode as Mode,
)
from memory_butler.models.vocabulary import (
    Outcome as Outcome,
)
from memory_butler.models.vocabulary import (
    Permanence as Permanence,
)
from memory_butler.models.vocabulary import (
    Relation as Relation,
)
from memory_butler.models.vocabulary import (
    Role as Role,
)
from memory_butler.models.vocabulary import (
    Tier as Tier,
)
from memory_butler.models.vocabulary import (
    Validity as Validity,
)
