"""Enumerations: types, states, relations, roles, and the names of special scopes."""

from enum import StrEnum


class MemoryType(StrEnum):
    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"


class Validity(StrEnum):
    ACTIVE = "active"
    FADING = "fading"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"

    @classmethod
    def _missing_(cls, value: object) -> "Validity | None":
        """Accepts `forgotten` as another name of `retracted`."""
        return cls.RETRACTED if value == "forgotten" else None


LIVE = frozenset({Validity.ACTIVE, Validity.FADING})


class Maturity(StrEnum):
    CANDIDATE = "candidate"
    ESTABLISHED = "established"
    PROVEN = "proven"
    ANTI_PATTERN = "anti_pattern"


class Permanence(StrEnum):
    PERMANENT = "permanent"
    STABLE = "stable"
    STANDARD = "standard"
    VOLATILE = "volatile"
    EPHEMERAL = "ephemeral"


class ConsolidationStatus(StrEnum):
    PENDING = "pending"
    CONSOLIDATED = "consolidated"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"


class Origin(StrEnum):
    """Where a memory comes from: the user said it, an agent concluded it, it was imported from the user's own files or
    memories, a tool or file returned it, or a web page, mail or third party said it."""

    USER = "user"
    AGENT = "agent"
    IMPORT = "import"
    TOOL = "tool"
    EXTERNAL = "external"


class Tier(StrEnum):
    EDEN = "eden"
    MID = "mid"
    LONG = "long"


class Relation(StrEnum):
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"


# Relations that callers may write; the others come with supersession and provenance.
WRITABLE = (Relation.SUPPORTS, Relation.CONTRADICTS, Relation.RELATED_TO)


class Outcome(StrEnum):
    HELPFUL = "helpful"
    HARMFUL = "harmful"


class Mode(StrEnum):
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


class Role(StrEnum):
    """Permissions: read, write as one butler, administrate a tenant, or operate the service."""

    READER = "reader"
    AGENT = "agent"
    ADMIN = "admin"
    OPERATOR = "operator"

    @property
    def governs(self) -> bool:
        """True if the role may see and change the memories of other butlers of its tenant."""
        return self in (Role.ADMIN, Role.OPERATOR)


GLOBAL_SCOPE = "global"
# Subjects that stand for the user, as written and as keys.
# Key in an episode's metadata: a person stored it, and not an agent.
BY_HAND = "by_hand"
USER_SUBJECTS = frozenset({"user", "the user", "me", "i", "myself", "self", "owner"})
USER_KEYS = tuple(sorted(subject.replace(" ", "_") for subject in USER_SUBJECTS))
EVERY_SCOPE = "*"
