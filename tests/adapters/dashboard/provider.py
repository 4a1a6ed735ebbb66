"""A small identity provider: its page to log in, its codes and tokens, its keys. It checks what a real one checks."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT, CLIENT_SECRET, AUDIENCE = "dash board", "s&cret %", "memory"
CODE_SECONDS = 60.0


def one_each(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


@dataclass
class Provider:
    """What a test may change is what goes wrong: claims, codes, the key it signs with, the status it answers with."""

    port: int = 0
    claims: dict[str, Any] = field(default_factory=dict)
    access_claims: dict[str, Any] | None = None
    refusal: dict[str, str] | None = None
    late_seconds: float = 0.0
    status: int = 200
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    signing: ECKey | None = None

    @property
    def url(self) -> str:
        # Another name than the pages have, so that to the browser it is another site.
        return f"http://localhost:{self.port}"

    def authorized(self, query: dict[str, str]) -> str:
        """Where a person goes back to who has just said who they are."""
        code = secrets.token_urlsafe(16)
        self.asked[code] = {**query, "at": str(time.monotonic())}
        given = self.refusal or {"code": code}
        return query["redirect_uri"] + "?" + urlencode({**given, "state": query["state"], "iss": self.url})

    def exchanged(self, form: dict[str, str], shown: str) -> tuple[int, dict[str, Any]]:
        kind, _, told = shown.partition(" ")
        name, _, password = base64.b64decode(told).decode().partition(":")
        if kind != "Basic" or (unquote_plus(name), unquote_plus(password)) != (CLIENT, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        asked = self.asked.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        age = time.monotonic() + self.late_seconds - float(asked["at"]) if asked else 0
        good = asked and asked["code_challenge"] == challenge.decode() and asked["redirect_uri"] == form["redirect_uri"]
        if not asked or not good or age > CODE_SECONDS:
            return 400, {"error": "invalid_grant"}
        usual = {"iss": self.url, "sub": "anna", "iat": int(time.time()), "exp": int(time.time()) + 300}
        said = {"id_token": self._signed({**usual, "aud": CLIENT, "nonce": asked["nonce"], **self.claims})}
        if self.access_claims is not None:
            said["access_token"] = self._signed({**usual, "aud": AUDIENCE, **self.access_claims})
        return 200, said

    def _signed(self, claims: dict[str, Any]) -> str:
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "ES256", "kid": "one"}, kept, self.signing or self.key, algorithms=["ES256"])

    def access_token(self, **claims: Any) -> str:
        """A token for the service, such as people copy from elsewhere."""
        return self._signed({"iss": self.url, "sub": "anna", "aud": AUDIENCE, **self.claims, **claims})

    def key_set(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}


@contextmanager
def running_provider() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self._answer(302, location=provider.authorized(one_each(parts.query)))
            else:
                self._answer(200, provider.key_set())

        def do_POST(self) -> None:
            form = one_each(self.rfile.read(int(self.headers["content-length"])).decode())
            status, said = provider.exchanged(form, self.headers.get("authorization", ""))
            self._answer(status if provider.status == 200 else provider.status, said)

        def _answer(self, status: int, said: dict[str, Any] | None = None, **headers: str) -> None:
            body = json.dumps(said).encode() if said else b""
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield provider
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
