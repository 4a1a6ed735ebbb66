"""The kinds of values that settings have, and what every group of them is."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
SqlName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Share = Annotated[float, Field(ge=0, le=1)]
LONGEST_DAYS = 36_500
Days = Annotated[float, Field(gt=0, le=LONGEST_DAYS)]
Times = Annotated[int, Field(ge=1, le=1_000_000)]
Capacity = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def said_of(error: Any) -> str:
    """What one entry of a validation error says, without the library's own prefix."""
    return str(error["msg"]).removeprefix("Value error, ")
