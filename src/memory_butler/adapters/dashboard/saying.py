"""Words and numbers as pages say them, the same everywhere. Nothing is drawn here."""

from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.models import Validity


def counted(number: int, one: str, many: str | None = None) -> str:
    """So many of something: 1 change, 1,200 changes."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def short_of(words: str, most: int) -> str:
    """The beginning of what is too long to be shown."""
    return text_of(words if len(words) <= most else f"{words[:most].rstrip()} …")


def state_of(validity: str | None) -> str:
    """What people call the state of a memory."""
    return "forgotten" if validity == Validity.RETRACTED else str(validity)
