"""Tool arguments as models write them: forgiven where the meaning is plain, else refused with the way out."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Lineage, Permanence
from memory_butler.policy.admission import admit_lineage, optional_label

_WHOLE = re.compile(r"^[+-]?\d{1,18}(\.0+)?$", re.ASCII)
_DECIMAL = re.compile(r"^[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})$", re.ASCII)
_SHOWN_PROBLEMS = 5
_OURS = "argument"


def _refuse(message: str) -> PydanticCustomError:
    # The words go in as a value: braces in them are not places to fill.
    return PydanticCustomError(_OURS, "{message}", {"message": message})


def _from_json(text: str, kind: type, wanted: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _refuse(f"is text that is not valid JSON; pass {wanted}") from None
    if not isinstance(value, kind):
        raise _refuse(f"must be {wanted}")
    return value


def as_list(value: object) -> object:
    """A list; a JSON list as text, words between commas or one word are taken for one."""
    wanted = 'a list of words, for example ["food", "health"]'
    if isinstance(value, str):
        text = value.strip()
        value = _from_json(text, list, wanted) if text.startswith("[") else text.split(",")
        value = [word.strip() if isinstance(word, str) else word for word in value if word != ""]
    if value is not None and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise _refuse(f"must be {wanted}")
    return value


def as_object(value: object) -> object:
    """An object, also as JSON text."""
    wanted = 'an object, for example {"key": "value"}'
    if isinstance(value, str):
        value = _from_json(value, dict, wanted)
    if value is not None and not isinstance(value, dict | BaseModel):
        raise _refuse(f"must be {wanted}")
    return value


def as_items(value: object) -> object:
    """A list of objects, also as JSON text; the objects are looked at one by one, later."""
    wanted = "a list of objects"
    if isinstance(value, str):
        value = _from_json(value, list, wanted)
    if not isinstance(value, list):
        raise _refuse(f"must be {wanted}")
    return value


def as_whole_number(value: object) -> object:
    """A whole number, also as text; true and 2.5 are none."""
    if isinstance(value, str) and _WHOLE.match(value.strip()):
        return int(value.strip().partition(".")[0])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _refuse("must be a whole number, for example 5")
    return value


def as_number(value: object) -> object:
    """A number, also as text."""
    if isinstance(value, str) and _DECIMAL.match(value.strip()):
        return float(value.strip())
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _refuse("must be a number, for example 0.5")
    return value


def as_flag(value: object) -> object:
    """True or false, also as text. Nothing else: a word that only looks like yes must not set anything off."""
    if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
        return value.strip().casefold() == "true"
    if value is not None and not isinstance(value, bool):
        raise _refuse("must be true or false")
    return value


def as_moment(value: object) -> object:
    """A date and time with its zone. A day alone is refused: it is another moment in every zone."""
    example = "write the date, the time and the zone, for example 2026-03-01T09:30:00+01:00, or with a Z for UTC"
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise _refuse(f"must be text in ISO form; {example}")
    text = value.strip()
    if _is_day(text):
        raise _refuse(f"is a day without a time; {example}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _refuse(f"is not a date and time in ISO form; {example}") from None
    if moment.tzinfo is None:
        raise _refuse(f"has no time zone; {example}")
    return moment


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


class RequestContext(BaseModel):
    """Which of your requests this call belongs to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    request_id: str | None = None
    subrequest_id: str | None = None
    segment_id: str | None = None
    session_id: str | None = None


def lineage_of(context: RequestContext | None) -> Lineage:
    return admit_lineage(Lineage(**context.model_dump())) if context else Lineage()


def request_id_of(arguments: Mapping[str, Any]) -> str | None:
    """The request id to echo, read from arguments that may be wrong in every other way."""
    given = arguments.get("request_context")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    try:
        return optional_label(given.get("request_id"), "request_id") if isinstance(given, dict) else None
    except MemoryButlerError:
        return None


def explain(tool: str, known: list[str], problem: ValidationError) -> InvalidInput:
    """What is wrong with the arguments, in words for the one who wrote them."""
    takes = f"{tool} takes: {', '.join(known)}."
    found = problem.errors(include_url=False, include_input=False)
    lines = [_sentence(tool, error) for error in found[:_SHOWN_PROBLEMS]]
    return InvalidInput(" ".join(dict.fromkeys(lines)), recovery=f"Correct this and call again. {takes}")


def _sentence(tool: str, error: Any) -> str:
    name = ".".join(str(part)[:60] for part in error["loc"] if part != "RequestContext") or "arguments"
    kind = error["type"]
    if kind.startswith("missing"):
        return f"{name} is missing."
    if kind == "unexpected_keyword_argument" or (kind == "extra_forbidden" and len(error["loc"]) == 1):
        return f"{tool} has no argument {name!r}."
    if kind == "extra_forbidden":
        fields = ", ".join(RequestContext.model_fields)
        return f"{name} is not known; request_context takes: {fields}."
    if kind == "string_type":
        return f"{name} must be text."
    return f"{name} {error['msg']}." if kind == _OURS else f"{name}: {error['msg']}."


# The arguments that several tools share. Each is described once, for the model that reads the schema.
Words = Annotated[list[str] | None, BeforeValidator(as_list)]
Tags = Annotated[Words, Field(description='Up to 20 short labels, for example ["food", "health"].')]
Importance = Annotated[
    int | None, BeforeValidator(as_whole_number), Field(description="1 (trivial) to 10 (vital); 5 if left out.")
]
Limit = Annotated[int | None, BeforeValidator(as_whole_number), Field(description="Most results: 1 to 100.")]
Expand = Annotated[
    int | None,
    BeforeValidator(as_whole_number),
    Field(description="1 to 5: show so many neighbours of each result, too; none if left out."),
]
MinConfidence = Annotated[
    float | None,
    BeforeValidator(as_number),
    Field(description="0 to 1: leave out what is less certain by now."),
]
MinRelevance = Annotated[
    float | None,
    BeforeValidator(as_number),
    Field(description="0 to 1: leave out what is less likely to bear on the question; 0 returns the best there is."),
]
TokenBudget = Annotated[
    int | None,
    BeforeValidator(as_whole_number),
    Field(description="Most tokens the text may have, headings included; 3000 unless configured otherwise."),
]
Moment = Annotated[datetime | None, BeforeValidator(as_moment)]
TimeFrom = Annotated[
    Moment, Field(description="Only what happened (or, if it has no time, was stored) at this moment or later.")
]
TimeTo = Annotated[
    Moment, Field(description="Only what happened (or, if it has no time, was stored) before this moment.")
]
Metadata = Annotated[
    dict[str, Any] | None, BeforeValidator(as_object), Field(description="Anything to keep with it, as a JSON object.")
]
Key = Annotated[
    str | None,
    Field(description="Your own name for this request. A repeat with the same key changes nothing: safe to retry."),
]
Context = Annotated[
    RequestContext | None,
    BeforeValidator(as_object),
    Field(description="Which of your requests this belongs to; request_id comes back in the answer."),
]
Scope = Annotated[str | None, Field(description="'global' (everybody) or one butler's own name; 'global' if left out.")]
ReadScope = Annotated[
    str | None, Field(description="Only this scope; left out, it is 'global' and the butler's own together.")
]
PermanenceName = Annotated[
    str | None, Field(description=f"How slowly it fades: {', '.join(Permanence)}; 'standard' if left out.")
]
TierName = Annotated[str | None, Field(description="Only this generation: eden, mid or long.")]
TypeName = Annotated[str, Field(description="fact, rule or episode.")]
Handle = Annotated[str, Field(description="Short reference (fact:k3f7) or id, as shown with the memory.")]
RuleHandle = Annotated[str, Field(description="Short reference of the rule (rule:k3f7) or its id.")]
FactHandle = Annotated[str, Field(description="Short reference of the fact (fact:k3f7) or its id.")]
Flag = Annotated[bool | None, BeforeValidator(as_flag)]
Reason = Annotated[str | None, Field(description="Why, in a sentence; kept with the memory.")]
Source = Annotated[str | None, Field(description="Reference or id of the episode this was learned from.")]
