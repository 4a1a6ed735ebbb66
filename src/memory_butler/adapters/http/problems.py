"""Errors over HTTP: the table from error class to status, and problem documents (RFC 9457)."""

import json
import re
import string
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from memory_butler.adapters.wire.answers import error_json
from memory_butler.errors import MemoryButlerError, OverloadRejected
from memory_butler.models import Principal

STATUS: dict[str, int] = {
    "validation_error": 422,
    "not_found": 404,
    "permission_denied": 403,
    "conflict": 409,
    "integrity_error": 409,
    "target_unavailable": 503,
    "timeout": 504,
    "overload_rejected": 429,
    "internal_error": 500,
}
# Statuses for faults of the HTTP request itself; the error class stays the same.
UNAUTHENTICATED, MISDIRECTED = 401, 421
WRONG_METHOD, TOO_LARGE, WRONG_CONTENT_TYPE, HEAD_TOO_LARGE = 405, 413, 415, 431
MEDIA_TYPE = "application/problem+json"
REQUEST_ID_HEADER = "x-request-id"
REQUEST_ID_PATTERN = r"^[!-~]{1,200}$"
RETRY_SECONDS = 1
_REQUEST_ID = re.compile(REQUEST_ID_PATTERN)


class Busy(OverloadRejected):
    """Too many requests at once; this one was not started."""

    default_recovery = f"Retry after {RETRY_SECONDS} second, with the same idempotency key if it was a write."


def caller_key(scope: Scope) -> tuple[str, ...]:
    """Return a key that all requests of one authenticated caller share; empty without authentication."""
    principal = scope.get("state", {}).get("principal")
    if not isinstance(principal, Principal):
        return ()
    return principal.tenant, principal.actor, principal.butler, str(principal.role)


def request_id_from(scope: Scope) -> str:
    """Return the request id of the header if it is valid, else a new one."""
    value = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
    return value if _REQUEST_ID.fullmatch(value) else uuid.uuid4().hex


def problem_response(
    problem: MemoryButlerError,
    request_id: str | None = None,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return problem_from(error_json(problem), request_id, status=status, headers=headers)


def problem_from(
    error: Mapping[str, Any],
    request_id: str | None = None,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response for an error in the JSON form that tools return."""
    name = str(error["error"])
    status = status or STATUS[name]
    body = {
        "type": f"urn:memory-butler:error:{name}",
        "title": name.replace("_", " ").capitalize(),
        "status": status,
        "detail": error["message"],
        **error,
        **({"request_id": request_id} if request_id else {}),
    }
    more = dict(headers or {})
    if name == OverloadRejected.error_class:
        more["retry-after"] = str(RETRY_SECONDS)
    if request_id:
        more[REQUEST_ID_HEADER] = header_text(request_id)
    return Response(json_bytes(body), status, more, MEDIA_TYPE)


def json_bytes(value: Any) -> bytes:
    """Encode as JSON; lone surrogates, which a bad call may contain, stay escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def header_text(text: str) -> str:
    """Percent-encode everything but printable ASCII, for a header."""
    return quote(text, safe=string.punctuation, errors="backslashreplace")
