"""Access to the server of the local shape: programs of the same account, and callers that show the local token.

The token is in a file in the home folder that only its owner can read. Other accounts of the machine can connect to
the port, but can do neither.
"""

import hashlib
import hmac
import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.http.identity import CHALLENGE, OPEN_PATHS
from memory_butler.adapters.http.peer import KNOWS_ACCOUNTS, Peer
from memory_butler.adapters.http.problems import UNAUTHENTICATED, problem_response, request_id_from
from memory_butler.errors import PermissionDenied, TargetUnavailable
from memory_butler.settings import Settings
from memory_butler.store.embedded.operating_system import has_unix_permissions, user_id

TOKEN_FILE = "token"
START = "/start"
MIN_TOKEN_CHARACTERS = 20

log = logging.getLogger(__name__)


class LocalAccess:
    """Decides which requests come from the owner of the local store."""

    def __init__(self, settings: Settings) -> None:
        self._rule = settings.service.local_access
        self.is_needed = settings.service.auth == "off" and self._rule != "open"
        self._file = settings.home / TOKEN_FILE
        home = hashlib.sha256(os.fsencode(settings.home)).hexdigest()[:8]
        # Browsers send a cookie to every port of a host, so each store has its own.
        self.cookie = f"memory_butler_local_{home}"

    def allows(self, scope: Scope) -> bool:
        """True for a request of the owner's account, and for one with the token."""
        if not self.is_needed:
            return True
        peer = scope.get("state", {}).get("peer")
        if isinstance(peer, Peer) and (peer.is_unix or (self._rule == "account" and peer.is_own_account)):
            return True
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _same(given.strip(), read_token(self._file))

    def allows_page(self, scope: Scope) -> bool:
        """The same for a page: a browser shows the cookie that the start link gave it."""
        return self.allows(scope) or _same(
            Request({**scope, "type": "http"}).cookies.get(self.cookie, ""), self._derived("cookie")
        )

    def cookie_for(self, key: str) -> str | None:
        """The value of the cookie, if the key of the start link is right."""
        return self._derived("cookie") if _same(key, self._derived("link")) else None

    def _derived(self, purpose: str) -> str:
        return _derived(read_token(self._file), purpose)


class OwnerOnly:
    """Middleware: requests of other accounts get 401."""

    def __init__(self, app: ASGIApp, access: LocalAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._access.allows(scope):
            return await self._app(scope, receive, send)
        problem = PermissionDenied(
            "This server is open to the account that runs it only.",
            recovery="Send the header `Authorization: Bearer <token>` with the token from the file `token` in the home "
            "folder of Memory Butler, or call it as that account.",
        )
        response = problem_response(
            problem, request_id_from(scope), status=UNAUTHENTICATED, headers={"www-authenticate": CHALLENGE}
        )
        return await response(scope, receive, send)


def read_token(file: Path) -> str:
    """The local token, or an empty text. Read for each use, so that a new token holds at once."""
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def ensure_token(settings: Settings) -> None:
    """Create the token file, if the local shape needs one. A file that others could read gets a new token."""
    if settings.service.auth != "off" or settings.service.local_access == "open":
        return
    file = settings.home / TOKEN_FILE
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = file.stat() if file.exists() else None
        is_private = status is not None and (
            not has_unix_permissions() or (not status.st_mode & 0o077 and status.st_uid == user_id())
        )
        if is_private and len(read_token(file)) >= MIN_TOKEN_CHARACTERS:
            return
        partial = file.with_name(f"{TOKEN_FILE}.{secrets.token_hex(4)}")
        with open(partial, "x", opener=lambda path, flags: os.open(path, flags, 0o600)) as new:
            new.write(f"mbl_{secrets.token_urlsafe(32)}\n")
        if status is None:
            # Of two processes that start together, the first one's token stays.
            with suppress(FileExistsError):
                os.link(partial, file)
            partial.unlink()
        else:
            partial.replace(file)
    except OSError as problem:
        if settings.service.local_access == "account":
            # Programs of this account need no token.
            log.warning("the token file %s cannot be written: %s", file, problem.strerror)
            return
        raise TargetUnavailable(
            f"The file {file} cannot be written: {problem.strerror or problem}.",
            recovery=f"Make {settings.home} belong to the account that runs Memory Butler, and writable.",
        ) from problem


def needs_token(settings: Settings) -> bool:
    """True if programs of the same account must show the token, too: by the setting, or because the system does not
    tell the account of a caller."""
    rule = settings.service.local_access
    return settings.service.auth == "off" and (rule == "token" or (rule == "account" and not KNOWS_ACCOUNTS))


def start_link(settings: Settings, address: str) -> str:
    """The address of the dashboard, with a key that lets a browser in."""
    token = read_token(settings.home / TOKEN_FILE) if settings.service.auth == "off" else ""
    if not token or settings.service.local_access == "open":
        return address
    return f"{address}{START}?{urlencode({'key': _derived(token, 'link')})}"


def dashboard_link(settings: Settings, address: str) -> str:
    """The address to show at the start: with a key only where a browser of the same account needs one."""
    return start_link(settings, address) if needs_token(settings) else address


def _derived(token: str, purpose: str) -> str:
    """A secret of its own for links and cookies: a link in the history of a browser does not hold the token."""
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:40] if token else ""


def _same(given: str, wanted: str) -> bool:
    return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())
