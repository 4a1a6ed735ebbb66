"""The log: one file in the home folder, bounded in size, readable by its owner only, without memories.

The message of an exception may quote a row or an argument, so an exception is logged as its class and stack. Tokens and
keys in a line are redacted.
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
from memory_butler.policy.trust.redaction import redact_token
from memory_butler.settings import Settings

LOG_BYTES: Final = 5_000_000
MAX_BACKUPS: Final = 3
# Upper bound of a usual line.
LINE_BYTES: Final = 500
FORMAT: Final = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
_OURS: Final = "memory_butler"

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def log_path(settings: Settings) -> Path:
    return settings.home / "logs" / "memory-butler.log"


def configure_logging(settings: Settings) -> Path:
    """Send every log line of this process to the file and none to the terminal. May be called again."""
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
            recovery="Set MEMORY_BUTLER_HOME (or --home) to a writable folder.",
        ) from problem
    handler = _PrivateFile(path, maxBytes=LOG_BYTES, backupCount=MAX_BACKUPS, encoding="utf-8", delay=True)
    handler.setFormatter(_JsonFormatter() if settings.log_format == "json" else _TextFormatter(FORMAT))
    root.addHandler(handler)
    # Libraries log from WARNING on; below that, some log the data that passes through them.
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(settings.log_level)
    # The worker logs failed jobs itself; procrastinate would log them again, with their arguments.
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    return path


def silence_libraries() -> None:
    """Keep library logs off the terminal, for commands without settings."""
    logging.getLogger().addHandler(logging.NullHandler())


def current_log() -> str | None:
    """Return the path of this process's log file, if it has one."""
    files = [handler.baseFilename for handler in logging.getLogger().handlers if isinstance(handler, _PrivateFile)]
    return files[0] if files else None


def describe_fault(fault: BaseException) -> str:
    """Return classes and stacks of an exception and its causes, without their messages."""
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


class _JsonFormatter(logging.Formatter):
    """One JSON object per line, for log collectors."""

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
        text = json.dumps({name: value for name, value in line.items() if value is not None}, default=str)
        return redact_token(text).text


class _TextFormatter(logging.Formatter):
    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 (the name is logging's)
        return describe_fault(ei[1]) if ei[1] is not None else ""

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None
        fields: dict[str, Any] = getattr(record, "fields", {})
        suffix = "".join(f" {name}={value}" for name, value in fields.items() if value is not None)
        return redact_token(super().format(record) + suffix).text


class _PrivateFile(RotatingFileHandler):
    """A rotating file of mode 0600. An OSError while logging is ignored, so that a full disk stops no call."""

    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, "a", encoding="utf-8", opener=private)

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 (the name is logging's)
        """Check the open file: the base class formats every line twice and looks the file up by name."""
        return self.stream is not None and os.fstat(self.stream.fileno()).st_size + LINE_BYTES >= self.maxBytes

    def handleError(self, record: logging.LogRecord) -> Any:  # noqa: N802 (the name is logging's)
        kind = sys.exc_info()[0]
        if kind is None or not issubclass(kind, OSError):
            super().handleError(record)
