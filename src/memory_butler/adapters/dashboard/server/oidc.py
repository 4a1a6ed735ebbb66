"""Login through an identity provider: OpenID Connect, authorization code flow with PKCE.

State, nonce and code verifier are derived from one random secret that only the browser's cookie holds: any server
process can check the callback without shared state.
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
    from memory_butler.adapters.http.jwt_identity import JwtIdentity

# Time to log in at the provider.
LOGIN_MINUTES = 10
TIMEOUT_SECONDS = 4.0
MAX_RESPONSE_BYTES = 200_000
MAX_CODE_CHARACTERS = 4096
TRY_AGAIN = "Try to log in again."


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def state_of(secret: str) -> str:
    """The state parameter. Neither the secret nor the other derived values can be computed from it."""
    return _derive(secret, "state")


def is_state_of(secret: str, state: str) -> bool:
    return hmac.compare_digest(state_of(secret).encode(), state.encode("utf-8", "replace"))


def _derive(secret: str, use: str) -> str:
    digest = hmac.new(secret.encode("utf-8", "replace"), use.encode(), hashlib.sha256).digest()
    return _base64(digest)


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class IdentityProvider:
    def __init__(self, settings: Settings) -> None:
        login = settings.dashboard.login
        assert login.authorize_url and login.token_url and login.client_id
        self.name = login.name
        self._authorize_url, self._token_url, self._client_id = login.authorize_url, login.token_url, login.client_id
        self._client_secret, self._scopes = login.client_secret, login.scopes
        self._settings = settings
        self._identities: tuple[JwtIdentity, JwtIdentity] | None = None

    def authorization_url(self, secret: str, callback_url: str) -> str:
        """The provider's URL where the user logs in."""
        challenge = hashlib.sha256(_derive(secret, "verifier").encode()).digest()
        params = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": callback_url,
            "scope": self._scopes,
            "state": state_of(secret),
            "nonce": _derive(secret, "nonce"),
            "code_challenge": _base64(challenge),
            "code_challenge_method": "S256",
        }
        separator = "&" if urlsplit(self._authorize_url).query else "?"
        return self._authorize_url + separator + urlencode(params)

    async def authenticate(self, callback: Mapping[str, str], secret: str, callback_url: str) -> Principal:
        """The principal for the parameters of the provider's redirect back."""
        if not is_state_of(secret, callback.get("state", "")):
            raise _refused("The response does not belong to a login that was started in this browser.")
        if callback.get("iss", self._settings.service.jwt.issuer) != self._settings.service.jwt.issuer:
            raise _refused("The response came from another identity provider.")
        if "error" in callback or not callback.get("code"):
            body = " ".join(
                f"{callback.get('error', 'it sent no code')} {callback.get('error_description', '')}".split()
            )
            raise _refused(f"The identity provider did not log you in: {body[:300]}.")
        return await self._principal(
            await self._tokens(callback["code"][:MAX_CODE_CHARACTERS], secret, callback_url), secret
        )

    async def _tokens(self, code: str, secret: str, callback_url: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback_url,
            "client_id": self._client_id,
            "code_verifier": _derive(secret, "verifier"),
        }
        auth = None
        if self._client_secret:
            auth = (quote_plus(self._client_id), quote_plus(self._client_secret.get_secret_value()))
        is_here = is_loopback_host(urlsplit(self._token_url).hostname)
        try:
            async with (
                httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=not is_here, auth=auth) as web,
                web.stream("POST", self._token_url, data=form, headers={"accept": "application/json"}) as response,
            ):
                content = await _read(response)
        except (httpx.HTTPError, OSError) as problem:
            raise _unreachable(type(problem).__name__) from problem
        if response.status_code >= 500:
            raise _unreachable(f"status {response.status_code}")
        body = _json(content)
        if response.status_code != 200:
            reason = str(body.get("error", f"status {response.status_code}"))[:100]
            raise _refused(f"The identity provider did not accept its own code: {reason}.")
        return body

    async def _principal(self, tokens: Mapping[str, Any], secret: str) -> Principal:
        """The principal of the ID token or, if that names no tenant, of the access token for this service."""
        id_verifier, access_verifier = self._verifiers()
        claims = await id_verifier.claims(str(tokens.get("id_token") or ""))
        if claims is None:
            raise _refused("The identity provider sent no ID token.")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), _derive(secret, "nonce").encode()):
            raise _refused("The ID token was issued for another login.")
        if claims.get("azp", self._client_id) != self._client_id:
            raise _refused("The ID token was issued for another client.")
        if id_verifier.names_tenant(claims):
            return id_verifier.principal(claims)
        access_claims = await access_verifier.claims(str(tokens.get("access_token") or ""))
        if access_claims is None or access_claims.get("sub") != claims.get("sub"):
            # Raises an error that names the missing claim.
            return id_verifier.principal(claims)
        return access_verifier.principal(access_claims)

    def _verifiers(self) -> "tuple[JwtIdentity, JwtIdentity]":
        """Verifiers for ID tokens (audience: this client) and for access tokens (audience: this service)."""
        if self._identities is None:
            # Only imported where an identity provider is configured: verifying signatures needs another library.
            from memory_butler.adapters.http.jwt_identity import JwtIdentity  # noqa: PLC0415

            callback = self._settings.service.jwt
            as_client = callback.model_copy(update={"audience": self._client_id})
            butler = self._settings.butler
            self._identities = (JwtIdentity(as_client, butler), JwtIdentity(callback, butler))
        return self._identities


async def _read(response: httpx.Response) -> bytes:
    content = b""
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_RESPONSE_BYTES:
            raise httpx.HTTPError("the response is too long")
    return content


def _json(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _refused(reason: str) -> MemoryButlerError:
    return PermissionDenied(reason, recovery=TRY_AGAIN)


def _unreachable(reason: str) -> MemoryButlerError:
    return TargetUnavailable(
        f"The identity provider cannot be reached ({reason}).", recovery="Try again later, or log in with a token."
    )
