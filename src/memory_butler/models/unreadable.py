"""Texts that are stored encrypted and cannot be shown."""

from enum import StrEnum

# The beginning of every encrypted text.
SEALED_MARK = "enc:v1:"


class Because(StrEnum):
    """Reasons why an encrypted text cannot be shown, as callers read them."""

    NO_KEY = "no key is configured"
    WRONG_KEY = "the configured key is not the one it was encrypted with"
    DESTROYED = "its key was destroyed"
    NOT_ALLOWED = "your role may not read encrypted text"
    DAMAGED = "integrity_error: the stored text was changed, or moved here from another row"


# Reasons that can go away.
LATER = (Because.NO_KEY, Because.WRONG_KEY, Because.NOT_ALLOWED)


class Unreadable(str):
    """The words that stand in the place of an encrypted text that cannot be shown. It says why."""

    __slots__ = ("because",)
    because: Because

    def __new__(cls, because: Because) -> "Unreadable":
        made = super().__new__(cls, f"[encrypted: {because}]")
        made.because = because
        return made
