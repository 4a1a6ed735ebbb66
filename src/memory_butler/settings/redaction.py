"""Settings of redaction: the action for each kind of secret, own patterns, and an allow list."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from memory_butler.settings.values import Group

PATTERN_CHARACTERS = 500
MAX_REPEATS = 256
# Ways to match a pattern at one place. Bounds the time of a search, which is proportional to the length of the text.
MAX_CHOICES = 1024
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")
_BOUNDED = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")

KindName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
ActionName = Literal["redact", "refuse", "quarantine", "keep"]


class RedactionSettings(Group):
    """Secrets in what is stored."""

    actions: dict[KindName, ActionName] = Field(
        default_factory=dict,
        description="Action for a kind of secret (such as `iban`), for a group (`credential`, `card`, `bank_account`,"
        " `national_id`) or for `all`: `redact`, `refuse`, `quarantine` or `keep`. Default: `redact`.",
    )
    patterns: dict[KindName, str] = Field(
        default_factory=dict,
        description="Own kinds of secrets: a name and a regular expression without unbounded repetition.",
    )
    allow: tuple[str, ...] = Field(
        (), description="Values that are never redacted; an asterisk at the end stands for any ending."
    )

    @model_validator(mode="after")
    def _check_patterns(self) -> Self:
        for name, pattern in self.patterns.items():
            if problem := pattern_problem(pattern):
                raise ValueError(f"the pattern {name!r} {problem}")
        if any(not one.strip("*") for one in self.allow):
            raise ValueError("an entry of allow is empty or only an asterisk; use actions to keep a kind")
        return self

    def changed(self, values: dict[str, Any]) -> "RedactionSettings":
        """These settings with those of a tenant or a butler: actions and patterns are added, allow lists joined."""
        if not values:
            return self
        own = RedactionSettings.model_validate(values)
        return RedactionSettings(
            actions={**self.actions, **own.actions},
            patterns={**self.patterns, **own.patterns},
            allow=(*self.allow, *own.allow),
        )


def pattern_problem(pattern: str) -> str | None:
    """The reason why a pattern is refused, or None. An accepted pattern takes time linear in the text."""
    if not 1 <= len(pattern) <= PATTERN_CHARACTERS:
        return f"has {len(pattern)} characters; it must have 1 to {PATTERN_CHARACTERS}"
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        return f"is no regular expression: {problem}"
    if compiled.match(""):
        return "matches an empty text"
    return _repetition_problem(pattern)


class _Refused(Exception):
    pass


def _repetition_problem(pattern: str) -> str | None:
    """Refuse unbounded repetition, repeated groups and back references."""
    try:
        choices = _choices(pattern)
    except _Refused as problem:
        return str(problem)
    if choices > MAX_CHOICES:
        return f"can match in {choices:,} ways at one place; the limit is {MAX_CHOICES:,}. Use shorter ranges"
    return None


def _choices(pattern: str) -> int:
    """The number of ways in which a pattern can match at one place, at most."""
    choices, place, after_group = 1 + pattern.count("|"), 0, False
    while place < len(pattern):
        char = pattern[place]
        if char in "*+":
            raise _Refused(f"repeats without limit ({char!r}); write a limit, for example {{1,64}}")
        if _BACK_REFERENCE.match(pattern, place):
            raise _Refused("has a back reference")
        bounded = _BOUNDED.match(pattern, place)
        if bounded:
            choices *= _range(bounded, after_group=after_group)
            place = bounded.end()
            # A lazy or possessive mark belongs to the repetition.
            place += pattern[place : place + 1] in ("?", "+")
        elif char == "\\":
            place += 2
        elif char == "[":
            place = _class_end(pattern, place)
        elif pattern.startswith("(?", place):
            place += 2
        else:
            choices *= 2 if char == "?" else 1
            place += 1
        after_group = char == ")"
    return choices


def _range(bounded: re.Match[str], *, after_group: bool) -> int:
    low = int(bounded[1])
    if bounded[2] and not bounded[3]:
        raise _Refused(f"repeats without limit ({bounded[0]}); write a limit, for example {{1,64}}")
    high = int(bounded[3]) if bounded[2] else low
    if after_group:
        raise _Refused(f"repeats a group ({bounded[0]}); repeat single characters or classes only")
    if high > MAX_REPEATS:
        raise _Refused(f"repeats more than {MAX_REPEATS} times ({bounded[0]})")
    return high - low + 1


def _class_end(pattern: str, place: int) -> int:
    """The place after a character class."""
    place += 2 if pattern[place + 1 : place + 2] == "^" else 1
    place += pattern[place : place + 1] == "]"
    while place < len(pattern) and pattern[place] != "]":
        place += 2 if pattern[place] == "\\" else 1
    return place + 1
