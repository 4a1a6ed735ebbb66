"""Findings of the doctor, and the context that its checks share."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Settings

Status = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    status: Status
    message: str
    advice: str | None = None

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(slots=True)
class CheckContext:
    """Results of earlier checks that later checks need."""

    settings: Settings
    diagnostics: Any = None
    revision: str | None = None
    unreachable: str | None = None
    model_found: bool = False
    clocks_apart_seconds: float = 0.0


Check = Callable[[CheckContext], Iterator[Finding]]


def advice_for(problem: MemoryButlerError, home: Path) -> str:
    """Return the recovery of the error, unless it only says to run the doctor."""
    if problem.recovery == problem.default_recovery:
        return f"Fix the problem that the message names; see also the logs in {home / 'logs'}."
    return problem.recovery
