"""What a host tells about a session, and what it is told: a block to begin with, and what became of its end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from memory_butler.adapters.host.config import SessionChoices
from memory_butler.errors import InvalidInput
from memory_butler.models import Lineage
from memory_butler.policy.admission import admit_lineage
from memory_butler.policy.session_episode import Exchange

UNAVAILABLE = "Memory cannot be reached in this session. This does not mean that there are no memories."


@dataclass(frozen=True, slots=True)
class SessionStart:
    """What a session begins with. `text` belongs into the system prompt; degraded, it says so there, too."""

    text: str
    degraded: bool = False
    # Why it is degraded, or empty: an error of the closed set and its message, the parts of the search that did not
    # work, or that there is no memory.
    reason: str | None = None
    used_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """What became of a session's end: `stored` with the episode's reference, `pending` while a model is asked, or
    `none` with the reason; degraded if the memory failed."""

    outcome: str
    ref: str | None = None
    degraded: bool = False
    reason: str | None = None


class SessionDetails(TypedDict, total=False):
    """What a host may tell of a session beside its id, its summary and whether it went well. More is not looked at."""

    exchanges: Iterable[Any] | None
    tools: Iterable[Any] | None
    trigger_source: str | None
    maintenance: bool
    request_context: object
    butler_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session that is over, as its host tells it."""

    session_id: str | None
    summary: str
    success: bool
    exchanges: tuple[Exchange, ...] = ()
    tools: tuple[str, ...] = ()
    trigger_source: str | None = None
    maintenance: bool = False
    lineage: Lineage = field(default_factory=Lineage)

    @property
    def all_tools(self) -> tuple[str, ...]:
        return (*self.tools, *(tool for turn in self.exchanges for tool in turn.tools))

    def leaves_nothing(self, choices: SessionChoices) -> str | None:
        """Why it is not to be remembered, if so. Upkeep that was remembered would feed on itself."""
        source = (self.trigger_source or "").casefold()
        if self.maintenance or any(fnmatchcase(source, pattern.casefold()) for pattern in choices.maintenance_sources):
            return "a session of upkeep leaves no episode"
        if not self.success:
            return "a failed session leaves no episode"
        if choices.episode == "off":
            return "sessions of this butler leave no episodes"
        return None


def ended(session_id: object, summary: object, success: object, details: SessionDetails) -> Ended:
    """A session as its host tells it, or an error about what cannot be read."""
    name = None if session_id is None else str(session_id)
    return Ended(
        session_id=name,
        summary=summary if isinstance(summary, str) else "",
        success=bool(success),
        exchanges=exchanges_in(details.get("exchanges") or ()),
        tools=names_of(tuple(details.get("tools") or ())),
        trigger_source=None if (source := details.get("trigger_source")) is None else str(source),
        maintenance=bool(details.get("maintenance")),
        lineage=lineage_in(details.get("request_context"), name),
    )


def lineage_in(given: object, session_id: str | None = None) -> Lineage:
    """The host's request context: a mapping or an object with the ids of the request; what else it holds is its own."""
    names = ("request_id", "subrequest_id", "segment_id", "session_id")
    found = {name: given.get(name) if isinstance(given, Mapping) else getattr(given, name, None) for name in names}
    found["session_id"] = session_id or found["session_id"]
    return admit_lineage(Lineage(**{name: None if value is None else str(value) for name, value in found.items()}))


def exchanges_in(given: Iterable[Any]) -> tuple[Exchange, ...]:
    """Exchanges as they are, or as mappings with role, text (or content) and tools."""
    return tuple(one if isinstance(one, Exchange) else _exchange(one) for one in given)


def _exchange(given: Any) -> Exchange:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"An exchange is {type(given).__name__}; it must be an Exchange, or an object with role, text and tools."
        )
    text, tools = given.get("text") or given.get("content") or "", given.get("tools") or ()
    return Exchange(str(given.get("role", "")), text if isinstance(text, str) else "", names_of(tools))


def names_of(tools: Sequence[Any]) -> tuple[str, ...]:
    """The names of tools, from names or from records of their calls."""
    found = (tool.get("name") if isinstance(tool, Mapping) else tool for tool in tools)
    return tuple(name for name in found if isinstance(name, str) and name)
