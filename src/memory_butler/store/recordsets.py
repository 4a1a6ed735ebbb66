"""Rows as one value: a statement that takes many at once costs hardly more than one that takes a single row."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Json


def recordset(rows: Sequence[dict[str, Any]]) -> Json:
    """Rows for `json_to_recordset`, which reads every value as the type that the statement gives its column."""
    return Json(rows, dumps=_dumps)


def _dumps(rows: Sequence[dict[str, Any]]) -> str:
    return json.dumps(rows, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> str:
    match value:
        case bytes():
            return f"\\x{value.hex()}"
        case datetime():
            return value.isoformat()
    return str(value)
