"""Value types of settings and the base class of every group of settings."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
SqlName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Share = Annotated[float, Field(ge=0, le=1)]
LONGEST_DAYS = 36_500
Days = Annotated[float, Field(gt=0, le=LONGEST_DAYS)]
Times = Annotated[int, Field(ge=1, le=1_000_000)]
Capacity = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DeprecatedGroup(Group):
    """A group that still accepts names of earlier versions, with a warning for each."""

    # Path of the group in the settings, and for each old name the new one (None: the setting is ignored).
    path: ClassVar[str]
    deprecated: ClassVar[dict[str, str | None]]
    _warnings: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="wrap")
    @classmethod
    def _accept_old_names(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        old = [name for name in cls.deprecated if isinstance(values, dict) and name in values]
        if not old:
            return handler(values)
        renamed = {new: values[name] for name in old if (new := cls.deprecated[name])}
        group = handler(renamed | {name: value for name, value in values.items() if name not in old})
        group._warnings = tuple(
            f"{cls.path}.{name} is deprecated; rename it to {cls.path}.{new}."
            if (new := cls.deprecated[name])
            else f"{cls.path}.{name} is no longer supported and is ignored; remove it."
            for name in old
        )
        return group

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._warnings


def said_of(error: Any) -> str:
    """Return the message of one validation error without pydantic's prefix."""
    return str(error["msg"]).removeprefix("Value error, ")
