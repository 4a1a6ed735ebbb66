"""Parsing of tool arguments. Accepts the common ways in which models write them; errors say what to write instead."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Lineage, MemoryType, Origin, Permanence, Tier
from memory_butler.models.vocabulary import WRITABLE
from memory_butler.policy.memories.validation import clean_id

_WHOLE = re.compile(r"^[+-]?\d{1,18}(\.0+)?$", re.ASCII)
_DECIMAL = re.compile(r"^[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})$", re.ASCII)
_MAX_PROBLEMS = 5
_ARGUMENT = "argument"


def _refuse(message: str) -> PydanticCustomError:
    # Passed as a value: braces in the message are not placeholders.
    return PydanticCustomError(_ARGUMENT, "{message}", {"message": message})


def _from_json(text: str, kind: type, wanted: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _refuse(f"is not valid JSON; pass {wanted}") from None
    if not isinstance(value, kind):
        raise _refuse(f"must be {wanted}")
    return value


def as_list(value: object) -> object:
    """A list of strings. Also accepts JSON text, comma-separated words and a single word."""
    wanted = 'a list of words, for example ["food", "health"]'
    if isinstance(value, str):
        text = value.strip()
        value = _from_json(text, list, wanted) if text.startswith("[") else text.split(",")
        value = [word.strip() if isinstance(word, str) else word for word in value if word != ""]
    if value is not None and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise _refuse(f"must be {wanted}")
    return value


def as_object(value: object) -> object:
    """An object. Also accepts JSON text."""
    wanted = 'an object, for example {"key": "value"}'
    if isinstance(value, str):
        value = _from_json(value, dict, wanted)
    if value is not None and not isinstance(value, dict | BaseModel):
        raise _refuse(f"must be {wanted}")
    return value


def as_links(value: object) -> object:
    """References by relation. Also accepts JSON text, and a single reference."""
    wanted = 'an object of references by relation, for example {"supports": ["fact:k3f7"]}'
    if isinstance(value, str):
        value = _from_json(value, dict, wanted)
    if isinstance(value, dict):
        value = {relation: as_list(references) for relation, references in value.items()}
    if value is not None and not (isinstance(value, dict) and all(isinstance(refs, list) for refs in value.values())):
        raise _refuse(f"must be {wanted}")
    return value


def as_items(value: object) -> object:
    """A list. Also accepts JSON text. The items are validated one by one later."""
    wanted = "a list of objects"
    if isinstance(value, str):
        value = _from_json(value, list, wanted)
    if not isinstance(value, list):
        raise _refuse(f"must be {wanted}")
    return value


def as_whole_number(value: object) -> object:
    """An integer. Also accepts text and 5.0; refuses true and 2.5."""
    if isinstance(value, str) and _WHOLE.match(value.strip()):
        return int(value.strip().partition(".")[0])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _refuse("must be a whole number, for example 5")
    return value


def as_number(value: object) -> object:
    """A number. Also accepts text."""
    if isinstance(value, str) and _DECIMAL.match(value.strip()):
        return float(value.strip())
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _refuse("must be a number, for example 0.5")
    return value


def as_flag(value: object) -> object:
    """A boolean. Also accepts "true" and "false", but no other word: "yes" might not mean consent."""
    if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
        return value.strip().casefold() == "true"
    if value is not None and not isinstance(value, bool):
        raise _refuse("must be true or false")
    return value


def as_moment(value: object) -> object:
    """A date and time with time zone. A day alone is refused: it is ambiguous without a zone."""
    example = "write the date, the time and the zone, for example 2026-03-01T09:30:00+01:00, or with a Z for UTC"
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise _refuse(f"must be text in ISO 8601 format; {example}")
    text = value.strip()
    if _is_day(text):
        raise _refuse(f"is a date without a time; {example}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _refuse(f"is not a date and time in ISO 8601 format; {example}") from None
    if moment.tzinfo is None:
        raise _refuse(f"has no time zone; {example}")
    return moment


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def as_lineage_id(value: object) -> object:
    """An id as text. Lineage never makes a call fail: numbers become text, and what cannot be an id is left out."""
    if isinstance(value, bool | dict | list):
        return None
    return value if value is None or isinstance(value, str) else str(value)


LineageId = Annotated[str | None, BeforeValidator(as_lineage_id)]


class RequestContext(BaseModel):
    """Ids of the caller's request. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    request_id: LineageId = None
    subrequest_id: LineageId = None
    segment_id: LineageId = None
    session_id: LineageId = None


def as_lineage(value: object) -> object:
    """A request context as an object or a model. Also accepts JSON text; anything else counts as none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict | BaseModel) else None


def lineage_of(context: RequestContext | None) -> Lineage:
    if context is None:
        return Lineage()
    return Lineage(**{name: _usable_id(value) for name, value in context.model_dump().items()})


def request_id_of(arguments: Mapping[str, Any]) -> str | None:
    """The request id to return, from arguments that may be invalid otherwise."""
    context = as_lineage(arguments.get("request_context"))
    return _usable_id(as_lineage_id(context.get("request_id"))) if isinstance(context, dict) else None


def _usable_id(value: object) -> str | None:
    """The id as it is stored; None if it cannot be stored."""
    try:
        return clean_id(value, "request_context")
    except MemoryButlerError:
        return None


def explain(tool: str, known: list[str], problem: ValidationError) -> InvalidInput:
    """Validation errors as one error message for the caller."""
    takes = f"{tool} takes: {', '.join(known)}."
    errors = problem.errors(include_url=False, include_input=False)
    lines = [_sentence(tool, error) for error in errors[:_MAX_PROBLEMS]]
    return InvalidInput(" ".join(dict.fromkeys(lines)), recovery=f"Fix the arguments and retry. {takes}")


def _sentence(tool: str, error: Any) -> str:
    name = ".".join(str(part)[:60] for part in error["loc"] if part != "RequestContext") or "arguments"
    kind = error["type"]
    if kind.startswith("missing"):
        return f"{name} is missing."
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{tool} has no argument {name!r}."
    if kind == "string_type":
        return f"{name} must be text."
    return f"{name} {error['msg']}." if kind == _ARGUMENT else f"{name}: {error['msg']}."


def one_of(values: Iterable[str], description: str) -> Any:
    """A text of which the schema lists the usual values. Operations also accept plurals and other cases."""
    return Field(description=description, json_schema_extra={"enum": [*map(str, values), None]})


# Arguments that several tools share. Models read the descriptions.
Words = Annotated[list[str] | None, BeforeValidator(as_list)]
Tags = Annotated[Words, Field(description="Short labels.")]
WithTags = Annotated[Words, Field(description="Only with all of these.")]
Whole = Annotated[int | None, BeforeValidator(as_whole_number)]
Number = Annotated[float | None, BeforeValidator(as_number)]
Importance = Annotated[Whole, Field(description="1 to 10; default 5.")]
Limit = Annotated[Whole, Field(description="1 to 100.")]
Expand = Annotated[Whole, Field(description="Neighbours to return with each result, 1-5 of each kind; default none.")]
MinConfidence = Annotated[Number, Field(description="0 to 1.")]
MinRelevance = Annotated[Number, Field(description="Minimum relevance, 0-1 (0 returns the best matches regardless).")]
TokenBudget = Annotated[
    Whole,
    Field(description="Default 3000."),
]
Moment = Annotated[datetime | None, BeforeValidator(as_moment)]
TimeFrom = Annotated[
    Moment, Field(description="Only memories that happened (or, without a time, were stored) at this time or later.")
]
TimeTo = Annotated[
    Moment, Field(description="Only memories that happened (or, without a time, were stored) before this time.")
]
ObservedAt = Annotated[Moment, Field(description="Date and time with time zone when it happened; default now.")]
Metadata = Annotated[
    dict[str, Any] | None, BeforeValidator(as_object), Field(description="JSON object to store with the memory.")
]
Links = Annotated[
    dict[str, list[str]] | None,
    BeforeValidator(as_links),
    Field(description='Other memories by relation: {"supports": ["fact:k3f7"]}; also contradicts, related_to.'),
]
RelationName = Annotated[str, one_of(WRITABLE, "What the first memory does to the second.")]
Key = Annotated[
    str | None,
    Field(description="Idempotency key: retrying with the same key has no further effect."),
]
Context = Annotated[
    RequestContext | None,
    BeforeValidator(as_lineage),
    Field(description="Ids of your request, stored with the change; request_id is returned in the response."),
]
Scope = Annotated[str | None, Field(description="'global' (default) or a butler's name.")]
ReadScope = Annotated[str | None, Field(description="Default: 'global' and the butler's own.")]
PermanenceName = Annotated[str | None, one_of(Permanence, "How slowly it fades; default standard.")]
TierName = Annotated[
    str | None, one_of(Tier, "Only this tier: eden (episodes), mid (recent or unproven) or long (lasting).")
]
TypeName = Annotated[str | None, one_of(MemoryType, "Optional: `id` is enough.")]
Handle = Annotated[str, Field(description="Reference (fact:k3f7) or id.")]
RuleHandle = Annotated[str, Field(description="Reference (rule:k3f7) or id.")]
FactHandle = Annotated[str, Field(description="Reference (fact:k3f7) or id.")]
Detail = Annotated[str | None, one_of(("brief", "full"), "full: all fields and scores.")]
Flag = Annotated[bool | None, BeforeValidator(as_flag)]
Reason = Annotated[str | None, Field(description="Why, in one sentence.")]
SourceEpisode = Annotated[str | None, Field(description="Reference or id of the episode that it was learned from.")]
Source = Annotated[
    str | None,
    one_of(Origin, "Who says so; default agent."),
]
EpisodeContent = Annotated[str, Field(description="A summary, not a transcript.")]
OwnButler = Annotated[str | None, Field(description="Your butler name, if you have one.")]
SessionId = Annotated[str | None, Field(description="Id of the agent session.")]
TriggerPrompt = Annotated[str, Field(description="The task, as the user wrote it.")]
Deep = Annotated[
    Flag,
    Field(
        description="Let a cross-encoder look at the best candidates again: better for paraphrases, takes up to 3 "
        "seconds more. English only; needs a model that the user has fetched. `degraded` says if it could not be used."
    ),
]
WithOwn = Annotated[
    Flag,
    Field(
        description="Also include the butler's own scope regardless of the task; for sessions that start without a "
        "task."
    ),
]
