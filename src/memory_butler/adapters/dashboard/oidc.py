"""Logging in through an identity provider: OpenID Connect, a code in exchange for a token, with PKCE.

Everything that ties an answer to its question is made of one random secret, which is in the person's browser alone:
whichever process the answer comes to, it needs nothing but the browser's cookie to check it.
"""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx

from memory_butler.errors import MemoryButlerError, PermissionDenied, TargetUnavailable
from memory_butler.models import Principal
from memory_butler.settings import Settings, is_loopback_host

if TYPE_CHECKING:
    from memory_butler.adapters.jwt_identity import JwtIdentity

# A person has so long to say who they are.
MINUTES = 10
ASK_SECONDS = 4.0
ANSWER_BYTES = 200_000
LONGEST_CODE = 4096
AGAIN = "Try to log in again."


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def state_of(secret: str) -> str:
    """What comes back with the answer. Nobody finds the secret from it, nor one of the others from another."""
    return _made_of(secret, "state")


def is_state_of(secret: str, state: str) -> bool:
    return hmac.compare_digest(state_of(secret).encode(), state.encode("utf-8", "replace"))


def _made_of(secret: str, use: str) -> str:
    made = hmac.new(secret.encode("utf-8", "replace"), use.encode(), hashlib.sha256).digest()
    return _base64(made)


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    """The identity provider, as the settings name it."""

    def __init__(self, settings: Settings) -> None:
        login = settings.dashboard.login
        assert login.authorize_url and login.token_url and login.client_id
        self.name = login.name
        self._authorize_url, self._token_url, self._client_id = login.authorize_url, login.token_url, login.client_id
        self._client_secret, self._scopes = login.client_secret, login.scopes
        self._settings = settings
        self._identities: tuple[JwtIdentity, JwtIdentity] | None = None

    def question(self, secret: str, back_to: str) -> str:
        """The address at the provider where the person says who they are; it leads back to ours."""
        challenge = hashlib.sha256(_made_of(secret, "verifier").encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": back_to,
            "scope": self._scopes,
            "state": state_of(secret),
            "nonce": _made_of(secret, "nonce"),
            "code_challenge": _base64(challenge),
            "code_challenge_method": "S256",
        }
        joint = "&" if urlsplit(self._authorize_url).query else "?"
        return self._authorize_url + joint + urlencode(asked)

    async def answer(self, given: Mapping[str, str], secret: str, back_to: str) -> Principal:
        """Who it is, by what the provider sent the person back with."""
        if not is_state_of(secret, given.get("state", "")):
            raise _refused("The answer does not belong to a login that was begun in this browser.")
        if given.get("iss", self._settings.service.jwt.issuer) != self._settings.service.jwt.issuer:
            raise _refused("The answer came from another identity provider.")
        if "error" in given or not given.get("code"):
            said = " ".join(f"{given.get('error', 'it sent no code')} {given.get('error_description', '')}".split())
            raise _refused(f"The identity provider did not log you in: {said[:300]}.")
        return await self._principal(await self._tokens(given["code"][:LONGEST_CODE], secret, back_to), secret)

    async def _tokens(self, code: str, secret: str, back_to: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back_to,
            "client_id": self._client_id,
            "code_verifier": _made_of(secret, "verifier"),
        }
        known = None
        if self._client_secret:
            known = (quote_plus(self._client_id), quote_plus(self._client_secret.get_secret_value()))
        is_here = is_loopback_host(urlsplit(self._token_url).hostname)
        try:
            async with (
                httpx.AsyncClient(timeout=ASK_SECONDS, trust_env=not is_here, auth=known) as web,
                web.stream("POST", self._token_url, data=form, headers={"accept": "application/json"}) as reply,
            ):
                text = await _read(reply)
        except (httpx.HTTPError, OSError) as problem:
            raise _away(type(problem).__name__) from problem
        if reply.status_code >= 500:
            raise _away(f"status {reply.status_code}")
        said = _json(text)
        if reply.status_code != 200:
            why = str(said.get("error", f"status {reply.status_code}"))[:100]
            raise _refused(f"The identity provider did not accept its own code: {why}.")
        return said

    async def _principal(self, tokens: Mapping[str, Any], secret: str) -> Principal:
        """Whom the ID token names; where it names no tenant, whom the access token for this service does."""
        to_us, for_service = self._recognisers()
        claims = await to_us.claims(str(tokens.get("id_token") or ""))
        if claims is None:
            raise _refused("The identity provider sent no ID token.")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), _made_of(secret, "nonce").encode()):
            raise _refused("The ID token was made for another login.")
        if claims.get("azp", self._client_id) != self._client_id:
            raise _refused("The ID token was made for another program.")
        if to_us.names_tenant(claims):
            return to_us.principal(claims)
        found = await for_service.claims(str(tokens.get("access_token") or ""))
        if found is None or found.get("sub") != claims.get("sub"):
            # Says which claim is missing.
            return to_us.principal(claims)
        return for_service.principal(found)

    def _recognisers(self) -> "tuple[JwtIdentity, JwtIdentity]":
        """Of ID tokens, which are made for us as a client, and of access tokens, which are made for the service."""
        if self._identities is None:
            # Checking signatures takes a library that no other server needs.
            from memory_butler.adapters.jwt_identity import JwtIdentity  # noqa: PLC0415

            given = self._settings.service.jwt
            as_client = given.model_copy(update={"audience": self._client_id})
            butler = self._settings.butler
            self._identities = (JwtIdentity(as_client, butler), JwtIdentity(given, butler))
        return self._identities


async def _read(reply: httpx.Response) -> bytes:
    text = b""
    async for piece in reply.aiter_bytes():
        text += piece
        if len(text) > ANSWER_BYTES:
            raise httpx.HTTPError("longer than any answer")
    return text


def _json(text: bytes) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {}


def _refused(why: str) -> MemoryButlerError:
    return PermissionDenied(why, recovery=AGAIN)


def _away(why: str) -> MemoryButlerError:
    return TargetUnavailable(
        f"The identity provider cannot be reached ({why}).", recovery="Try again later, or log in with a token."
    )
