"""Agent sessions of a host: the details that it passes to the hooks, and the results of the hooks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from memory_butler.adapters.host.config import SessionChoices
from memory_butler.errors import InvalidInput
from memory_butler.models import Lineage
from memory_butler.policy.agent_sessions.observations import Exchange
from memory_butler.policy.memories.validation import validate_lineage

UNAVAILABLE = "Memory is unavailable in this session. This does not mean that there are no memories."


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Briefing for the start of a session. The host adds `text` to the system prompt; if degraded, `text` says so."""

    text: str
    degraded: bool = False
    # Reason for being degraded or empty: an error class with its message, the failed search stages, or "no memory".
    reason: str | None = None
    used_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Result of a session's end: `stored` with the episode's reference, `pending` while a model writes notes, or
    `none` with the reason. `degraded`: the memory failed."""

    outcome: str
    ref: str | None = None
    degraded: bool = False
    reason: str | None = None


class SessionDetails(TypedDict, total=False):
    """Optional details of a session, besides its id, summary and success."""

    exchanges: Iterable[Any] | None
    tools: Iterable[Any] | None
    trigger_source: str | None
    maintenance: bool
    request_context: object
    butler_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
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

    def skip_reason(self, choices: SessionChoices) -> str | None:
        """Return the reason for storing no episode, if there is one.

        Maintenance sessions store none: memory about the memory's own maintenance would grow without end.
        """
        source = (self.trigger_source or "").casefold()
        if self.maintenance or any(fnmatchcase(source, pattern.casefold()) for pattern in choices.maintenance_sources):
            return "a maintenance session stores no episode"
        if not self.success:
            return "a failed session stores no episode"
        if choices.episode == "off":
            return "episodes of sessions are switched off for this butler"
        return None


def ended_session(session_id: object, summary: object, success: object, details: SessionDetails) -> EndedSession:
    """Parse the arguments of `after_session`; raises `InvalidInput` if an exchange or the lineage is invalid."""
    name = None if session_id is None else str(session_id)
    return EndedSession(
        session_id=name,
        summary=summary if isinstance(summary, str) else "",
        success=bool(success),
        exchanges=parse_exchanges(details.get("exchanges") or ()),
        tools=tool_names(tuple(details.get("tools") or ())),
        trigger_source=None if (source := details.get("trigger_source")) is None else str(source),
        maintenance=bool(details.get("maintenance")),
        lineage=parse_lineage(details.get("request_context"), name),
    )


def parse_lineage(context: object, session_id: str | None = None) -> Lineage:
    """Read the ids of a request from the host's context, a mapping or an object. Its other fields are ignored."""
    names = ("request_id", "subrequest_id", "segment_id", "session_id")
    ids = {name: context.get(name) if isinstance(context, Mapping) else getattr(context, name, None) for name in names}
    ids["session_id"] = session_id or ids["session_id"]
    return validate_lineage(Lineage(**{name: None if value is None else str(value) for name, value in ids.items()}))


def parse_exchanges(exchanges: Iterable[Any]) -> tuple[Exchange, ...]:
    """Accepts `Exchange` objects and mappings with role, text (or content) and tools."""
    return tuple(entry if isinstance(entry, Exchange) else _exchange(entry) for entry in exchanges)


def _exchange(entry: Any) -> Exchange:
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            f"An exchange is {type(entry).__name__}; it must be an Exchange, or an object with role, text and tools."
        )
    text, tools = entry.get("text") or entry.get("content") or "", entry.get("tools") or ()
    return Exchange(str(entry.get("role", "")), text if isinstance(text, str) else "", tool_names(tools))


def tool_names(tools: Sequence[Any]) -> tuple[str, ...]:
    """Accepts names and records of tool calls with `name`."""
    names = (tool.get("name") if isinstance(tool, Mapping) else tool for tool in tools)
    return tuple(name for name in names if isinstance(name, str) and name)
