"""Many rows as one parameter: a statement that takes many rows costs hardly more than one that takes a single row."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Json


def recordset(rows: Sequence[dict[str, Any]]) -> Json:
    """Encode rows for `json_to_recordset`; the statement declares the types of the columns."""
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
