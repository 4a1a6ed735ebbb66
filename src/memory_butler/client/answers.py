"""Results of the batch calls, with failed items as exceptions."""

import re
from dataclasses import dataclass, replace

from memory_butler.errors import ERROR_CLASSES, MemoryButlerError
from memory_butler.models import Briefing, Stored
from memory_butler.models.wire.codec import JsonObject, Unreadable, encode
from memory_butler.models.wire.memory_answers import BriefingsAnswer, IngestAnswer, ItemFailure

# REST names the route where the other adapters name the tool.
_ROUTE = re.compile(r"POST /api/v1/(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """Outcome of one episode of a batch: stored now, stored before (`repeated`), or failed."""

    stored: Stored | None = None
    repeated: bool = False
    problem: MemoryButlerError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefed:
    """Outcome of one request of a batch: a briefing or an error."""

    briefing: Briefing | None = None
    problem: MemoryButlerError | None = None


def ingested(answer: IngestAnswer) -> list[Ingested]:
    return [
        Ingested(problem=error_of(encode(one)))
        if isinstance(one, ItemFailure)
        else Ingested(stored=_created(one), repeated=one.outcome == "repeated")
        for one in answer.results
    ]


def _created(one: Stored) -> Stored:
    return replace(one, outcome="created")


def briefed(answer: BriefingsAnswer) -> list[Briefed]:
    return [
        Briefed(problem=error_of(encode(one))) if isinstance(one, ItemFailure) else Briefed(briefing=one.briefing)
        for one in answer.results
    ]


def error_of(body: JsonObject) -> MemoryButlerError:
    """The error in a response, as the exception that the operation raises in process."""
    kind = ERROR_CLASSES.get(str(body.get("error")))
    message, recovery = body.get("message"), body.get("recovery")
    if kind is None or not isinstance(message, str):
        raise Unreadable("an error of no known class")
    return kind(_tools_named(message), recovery=_tools_named(recovery) if isinstance(recovery, str) else None)


def _tools_named(text: str) -> str:
    return _ROUTE.sub(r"memory_\1", text)
