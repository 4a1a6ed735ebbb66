"""The log: one file in the home folder, bounded in size, readable by its owner only, without what is remembered.

The message of an exception may quote a row or an argument, so a fault is logged as its class and where it happened.
"""

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from memory_butler.errors import TargetUnavailable
from memory_butler.settings import Settings

LOG_BYTES: Final = 5_000_000
KEPT_LOGS: Final = 3
# As much as a line usually has at most.
LINE_BYTES: Final = 500
FORMAT: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_OURS: Final = "memory_butler"

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log_path(settings: Settings) -> Path:
    return settings.home / "logs" / "memory-butler.log"


def configure_logging(settings: Settings) -> Path:
    """Send every log line of this process to the file, and none to the terminal; may be called again."""
    path = log_path(settings)
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, _PrivateFile):
            root.removeHandler(handler)
            handler.close()
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise TargetUnavailable(
            f"The home folder {settings.home} cannot be used: {problem.strerror}.",
            recovery="Set MEMORY_BUTLER_HOME (or --home) to a folder that you may write to.",
        ) from problem
    handler = _PrivateFile(path, maxBytes=LOG_BYTES, backupCount=KEPT_LOGS, encoding="utf-8", delay=True)
    handler.setFormatter(_Structured() if settings.log_format == "json" else _Discreet(FORMAT))
    root.addHandler(handler)
    # Libraries speak up from warnings on; at lower levels some of them print what passes through them.
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(settings.log_level)
    # Whoever runs the queue logs what goes wrong in it; the library would say it once more, arguments included.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    return path


def silence_libraries() -> None:
    """For a command that has no settings to say where its log is: nothing goes to the terminal."""
    logging.getLogger().addHandler(logging.NullHandler())


def current_log() -> str | None:
    """The file this process logs to, if it does."""
    files = [handler.baseFilename for handler in logging.getLogger().handlers if isinstance(handler, _PrivateFile)]
    return files[0] if files else None


def describe_fault(fault: BaseException) -> str:
    """Classes and places of a fault and of what caused it, without their words."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = fault
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        kind = type(current)
        state = getattr(current, "sqlstate", None)
        head = f"{kind.__module__}.{kind.__qualname__}" + (f" (sqlstate {state})" if state else "")
        parts.append(head + "\n" + "".join(traceback.format_tb(current.__traceback__)).rstrip())
        current = current.__cause__ or current.__context__
    return "\ncaused by ".join(parts)


class _Structured(logging.Formatter):
    """One JSON object a line, for programs that collect them."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["fault"] = describe_fault(record.exc_info[1])
        return json.dumps({name: value for name, value in line.items() if value is not None}, default=str)


class _Discreet(logging.Formatter):
    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 (the name is logging's)
        return describe_fault(ei[1]) if ei[1] is not None else ""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None
        fields: dict[str, Any] = getattr(record, "fields", {})
        told = "".join(f" {name}={value}" for name, value in fields.items() if value is not None)
        return super().format(record) + told


class _PrivateFile(RotatingFileHandler):
    """A rotating file of mode 0600. A log that cannot be written never stops the work it is about."""

    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, "a", encoding="utf-8", opener=private)

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 (the name is logging's)
        """The library's own way formats every line twice, and asks for the file by its name."""
        return self.stream is not None and os.fstat(self.stream.fileno()).st_size + LINE_BYTES >= self.maxBytes

    def handleError(self, record: logging.LogRecord) -> Any:  # noqa: N802 (the name is logging's)
        kind = sys.exc_info()[0]
        if kind is None or not issubclass(kind, OSError):
            super().handleError(record)
