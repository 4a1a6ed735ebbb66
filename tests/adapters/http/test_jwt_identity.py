"""Tokens of an identity provider: only what it signed, for us, for now, and with a tenant in it, opens the door."""

import asyncio
import base64
import hmac
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from tests.support.service import Service, called, serving

from memory_butler.adapters.http.identity import Identities, token_verifiers
from memory_butler.adapters.http.jwt_identity import REFETCH_SECONDS, JwtIdentity
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import InvalidInput, PermissionDenied, TargetUnavailable
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources
from memory_butler.settings import JwtSettings, load_settings

ISSUER, AUDIENCE = "https://login.example.org/", "memory"
NOW = 1_800_000_000
CLAIMS = {
    "iss": ISSUER,
    "aud": AUDIENCE,
    "exp": NOW + 600,
    "iat": NOW - 10,
    "sub": "anna@example.org",
    "tenant": "acme",
    "butler": "chef",
    "role": "agent",
}
RSA = RSAKey.generate_key(2048, {"kid": "rsa-1"})
CURVE = ECKey.generate_key("P-256", {"kid": "ec-1"})
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "ed-1"})
SIGNED_WITH: dict[str, Key] = {"RS256": RSA, "ES256": CURVE, "EdDSA": EDWARDS}


@dataclass
class Provider:
    """A key-set server on loopback: what it publishes, and how often it was asked."""

    keys: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    body: bytes | None = None
    asked: int = 0
    url: str = ""

    def publish(self, *keys: Key) -> None:
        self.keys = [key.as_dict(private=False) for key in keys]


@pytest.fixture(scope="module")
def server() -> Iterator[list[Provider]]:
    """Answers for whichever provider is the current one."""
    current = [Provider()]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider = current[0]
            provider.asked += 1
            body = json.dumps({"keys": provider.keys}).encode() if provider.body is None else provider.body
            self.send_response(provider.status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    thread.start()
    current[0].url = f"http://127.0.0.1:{listening.server_port}/keys"
    yield current
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.fixture
def provider(server: list[Provider]) -> Provider:
    server[0] = Provider(url=server[0].url)
    server[0].publish(*SIGNED_WITH.values())
    return server[0]


@dataclass
class Ticking:
    """Seconds that pass when the test says so."""

    seconds: float = 0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def recogniser(provider: Provider, ticking: Ticking) -> JwtIdentity:
    return recogniser_of(provider.url, ticking)


def recogniser_of(key_set: str, ticking: Callable[[], float] = Ticking(), **more: Any) -> JwtIdentity:  # noqa: B008
    settings = JwtSettings(issuer=ISSUER, audience=AUDIENCE, key_set=key_set, **more)
    return JwtIdentity(settings, "main", clock=lambda: NOW, ticking=ticking)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def signed(
    algorithm: str = "RS256", key: Key | None = None, *, header: dict[str, Any] | None = None, **over: Any
) -> str:
    """A token with the usual claims, some of them changed; a claim that is None is left out."""
    claims = {name: value for name, value in (CLAIMS | over).items() if value is not None}
    key = key or SIGNED_WITH[algorithm]
    return jwt.encode({"alg": algorithm, "kid": key.kid, **(header or {})}, claims, key, algorithms=[algorithm])


@pytest.mark.parametrize("algorithm", SIGNED_WITH)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
async def test_a_good_token_says_who_its_bearer_is(recogniser: JwtIdentity, algorithm: str) -> None:
    """Tenant, butler, role and name are the claims', whichever of the usual signatures it bears."""
    found = await recogniser(signed(algorithm))
    assert found == Principal("acme", "chef", Role.AGENT, name="anna@example.org")
    assert found.expires_at == datetime.fromtimestamp(NOW + 600, UTC)


@pytest.mark.parametrize("bearer", ["mbt_abc", "a.b.c", "", "eyJ.eyJ.x", f"{base64.b64encode(b'[]').decode()}.e30.x"])
async def test_what_is_no_jwt_is_for_others_to_recognise(recogniser: JwtIdentity, bearer: str) -> None:
    """None, and the provider is not asked for its keys."""
    assert await recogniser(bearer) is None


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "expired": ({"exp": NOW - 31}, "has expired"),
    "not yet": ({"nbf": NOW + 31}, "nbf"),
    "issued in the future": ({"iat": NOW + 31}, "iat"),
    "never ends": ({"exp": None}, "lacks a claim"),
    "ends as text": ({"exp": str(NOW + 600)}, "exp"),
    "another audience": ({"aud": "billing"}, "aud"),
    "no audience": ({"aud": None}, "lacks a claim"),
    "another issuer": ({"iss": "https://login.example.org"}, "iss"),
    "no issuer": ({"iss": None}, "lacks a claim"),
    "no tenant": ({"tenant": None}, "lacks the claim tenant"),
    "a tenant that is no name": ({"tenant": ["acme"]}, "tenant"),
    "a tenant that would become another": ({"tenant": "ACME"}, "tenant"),
    "no butler": ({"butler": None}, "lacks the claim butler"),
    "a role there is not": ({"role": "superuser"}, "names no role"),
    "several roles": ({"role": ["agent", "admin"]}, "names no role"),
    "a name that is none": ({"sub": "x" * 1000}, "sub"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_token_that_does_not_fit_is_refused(recogniser: JwtIdentity, case: str) -> None:
    """Signed by the provider and all, and it says which of its claims was the reason."""
    over, why = REFUSED[case]
    with pytest.raises(PermissionDenied, match=why):
        await recogniser(signed(**over))


@pytest.mark.parametrize(
    "over", [{"exp": NOW - 29}, {"nbf": NOW + 29}, {"aud": ["billing", AUDIENCE]}, {"role": "operator"}]
)
async def test_a_token_that_just_fits_is_good(recogniser: JwtIdentity, over: dict[str, Any]) -> None:
    """Clocks may differ by the leeway, and the audience may be one of several."""
    assert await recogniser(signed(**over))


async def test_leeway_and_how_long_keys_are_used_can_be_set(provider: Provider, ticking: Ticking) -> None:
    """Without leeway a token ends on time; keys are asked for again when the minutes are over, not before."""
    strict = recogniser_of(provider.url, ticking, leeway_seconds=0, key_set_minutes=30)
    with pytest.raises(PermissionDenied, match="has expired"):
        await strict(signed(exp=NOW - 2))
    for minutes, asked in ((29, 1), (31, 2)):
        ticking.seconds = minutes * 60
        assert await strict(signed())
        assert provider.asked == asked


@pytest.mark.parametrize(("role", "butler"), [("admin", "main"), ("operator", "main")])
async def test_who_governs_needs_no_butler(recogniser: JwtIdentity, role: str, butler: str) -> None:
    """A person who looks after a tenant is no butler; one without a role is a reader, and needs one."""
    assert await recogniser(signed(role=role, butler=None)) == Principal(
        "acme", butler, Role(role), name="anna@example.org"
    )
    assert (found := await recogniser(signed(role=None))) and found.role is Role.READER
    with pytest.raises(PermissionDenied, match="butler"):
        await recogniser(signed(role=None, butler=None))


def _with_shared_secret(secret: bytes, algorithm: str) -> str:
    """Signed with a shared secret, by hand: the library refuses to take a public key for one."""
    text = _unsigned({"alg": algorithm, "kid": "rsa-1"}).rpartition(".")[0]
    signature = hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _unsigned(header: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(CLAIMS).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


async def test_a_signature_that_is_not_the_providers_is_refused(recogniser: JwtIdentity) -> None:
    """A key of somebody else under a known id, another key's id, a changed body, no signature, and the public key used
    as a shared secret."""
    public = RSA.as_pem(private=False)
    stranger = RSAKey.generate_key(2048, {"kid": "rsa-1"})
    head, _, tail = signed().split(".")
    body = _unsigned({}).split(".")[1]
    forged = [
        signed(key=stranger),
        signed(header={"kid": "ec-1"}),
        f"{head}.{body}.{tail}",
        signed() + "A",
        _unsigned({"alg": "RS256", "kid": "rsa-1"}),
        _unsigned({"alg": "none", "kid": "rsa-1"}),
        _unsigned({"alg": "None"}),
        _unsigned({"alg": ["RS256"], "kid": "rsa-1"}),
        _unsigned({"alg": "RS256", "kid": {"a": 1}}),
        _with_shared_secret(public, "HS256"),
        _with_shared_secret(public, "RS256"),
        signed(key=stranger, header={"jku": "https://stranger.example.org/keys"}),
    ]
    for bearer in forged:
        with pytest.raises(PermissionDenied, match="refused"):
            await recogniser(bearer)
    assert await recogniser(signed())


async def test_a_token_without_a_key_id_is_tried_with_every_key(recogniser: JwtIdentity) -> None:
    """Small providers name none; what they did not sign is refused all the same."""
    nameless = jwt.encode({"alg": "RS256"}, CLAIMS, RSA)
    assert await recogniser(nameless)
    with pytest.raises(PermissionDenied):
        await recogniser(jwt.encode({"alg": "RS256"}, CLAIMS, RSAKey.generate_key(2048)))


async def test_keys_of_other_uses_do_not_count(provider: Provider, recogniser: JwtIdentity) -> None:
    """Neither a shared secret, nor a key for encryption, nor one for another algorithm, though all are in the set."""
    secret = OctKey.generate_key(256, {"kid": "shared"})
    provider.keys = [
        {**secret.as_dict(private=True), "alg": "RS256"},
        {**RSA.as_dict(private=False), "use": "enc"},
        {**RSA.as_dict(private=False), "kid": "rsa-2", "alg": "PS256"},
        {**CURVE.as_dict(private=False), "alg": "ES256"},
        {"kty": "quantum"},
        "no key at all",  # type: ignore[list-item]
    ]
    for bearer in (signed(), signed(header={"kid": "rsa-2"}), signed(header={"kid": "shared"})):
        with pytest.raises(PermissionDenied):
            await recogniser(bearer)
    assert await recogniser(signed("ES256"))


async def test_a_rotated_key_is_fetched_once_and_not_too_often(
    provider: Provider, recogniser: JwtIdentity, ticking: Ticking
) -> None:
    """Keys are fetched once for many tokens; an unknown id makes for one more look, and then for none for a while."""
    await asyncio.gather(*(recogniser(signed()) for _ in range(20)))
    assert provider.asked == 1
    fresh = RSAKey.generate_key(2048, {"kid": "rsa-2"})
    provider.publish(fresh)
    ticking.seconds = REFETCH_SECONDS + 1
    assert await recogniser(signed(key=fresh))
    assert provider.asked == 2
    with pytest.raises(PermissionDenied):
        await recogniser(signed())
    for number in range(20):
        with pytest.raises(PermissionDenied):
            await recogniser(signed(header={"kid": f"invented-{number}"}))
    assert provider.asked == 2
    ticking.seconds += REFETCH_SECONDS + 1
    with pytest.raises(PermissionDenied):
        await recogniser(signed(header={"kid": "invented"}))
    assert provider.asked == 3


async def test_keys_are_looked_at_again_when_their_time_is_over(
    provider: Provider, recogniser: JwtIdentity, ticking: Ticking
) -> None:
    """A key that the provider has withdrawn ends with it; while the provider is away, what is known stays good."""
    assert await recogniser(signed())
    ticking.seconds = 10 * 60 + 1
    provider.status = 500
    assert await recogniser(signed())
    assert provider.asked == 2
    provider.status = 200
    provider.publish(CURVE)
    ticking.seconds += REFETCH_SECONDS + 1
    with pytest.raises(PermissionDenied):
        await recogniser(signed())
    assert await recogniser(signed("ES256"))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"keys": 7}', b'{"keys": []}', b"x" * 1_100_000])
async def test_without_keys_nobody_is_recognised(provider: Provider, recogniser: JwtIdentity, body: bytes) -> None:
    """Not a refusal, which would blame the token: the provider cannot be reached, and that passes."""
    provider.body = body
    for _ in range(2):
        with pytest.raises(TargetUnavailable):
            await recogniser(signed())
    assert provider.asked == 1


async def test_keys_may_be_in_a_file(tmp_path: Path) -> None:
    """A file is as good as an address, and is looked at again like one."""
    ticking, file = Ticking(), tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [RSA.as_dict(private=False)]}))
    recogniser = recogniser_of(str(file), ticking)
    assert await recogniser(signed())
    file.write_text(json.dumps({"keys": [CURVE.as_dict(private=False)]}))
    ticking.seconds = REFETCH_SECONDS + 1
    assert await recogniser(signed("ES256"))


async def test_claims_go_by_the_names_that_are_set(provider: Provider) -> None:
    """Each of the four, also inside another claim, and a name with dots in it as it stands."""
    recogniser = recogniser_of(
        provider.url,
        tenant_claim="https://example.org/tenant",
        butler_claim="memory.butler",
        role_claim="memory.role",
        name_claim="email",
    )
    own = {"https://example.org/tenant": "umbrella", "memory": {"butler": "nurse", "role": "admin"}, "email": "a@b.c"}
    assert await recogniser(signed(**own)) == Principal("umbrella", "nurse", Role.ADMIN, name="a@b.c")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"issuer": ISSUER}, "audience and key_set not set"),
        ({"issuer": ISSUER, "key_set": "keys.json"}, "audience not set"),
        ({"issuer": ISSUER, "audience": AUDIENCE}, "key_set not set"),
        ({"audience": AUDIENCE, "key_set": "keys.json"}, "issuer not set"),
        ({"issuer": ISSUER, "audience": AUDIENCE, "key_set": "http://login.example.org/keys"}, "https"),
        ({"issuer": ISSUER, "audience": AUDIENCE, "key_set": "ftp://127.0.0.1/keys"}, "https"),
        ({"algorithms": ["HS256"]}, "algorithms"),
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
    ],
)
def test_settings_that_would_open_the_door_too_wide_are_refused(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    """At start, with the reason."""
    with pytest.raises(InvalidInput, match=said):
        load_settings(home=tmp_path, service={"auth": "required", "jwt": given})


async def test_a_jwt_and_a_token_open_the_same_door(
    shared_resources: Resources, provider: Provider, tenant: str, service: Service
) -> None:
    """Over HTTP: both are recognised beside each other, and a bad one of either kind is 401."""
    good = signed(tenant=tenant, iat=int(time.time()), exp=int(time.time()) + 60)
    bad = signed(tenant=tenant, exp=int(time.time()) - 3600)
    async with service.mcp(good) as person, service.mcp(await service.token(tenant, butler="chef")) as program:
        stored = await called(person, "memory_store_fact", subject="Anna", predicate="color", content="green")
        assert stored["outcome"] == "created"
        seen = await called(program, "memory_get", id=stored["ref"], detail="full")
        assert seen["memory"]["source_butler"] == "chef"
        assert seen["events"][0]["actor"] == "anna@example.org"
    async with service.web(bad) as web:
        reply = await web.post("/api/v1/stats", json={})
        assert (reply.status_code, reply.json()["error"]) == (401, "permission_denied")
        assert "has expired" in reply.json()["message"]


@pytest.fixture(scope="module")
async def service(shared_resources: Resources, server: list[Provider]) -> AsyncIterator[Service]:
    given = JwtSettings(issuer=ISSUER, audience=AUDIENCE, key_set=server[0].url)
    async with serving(shared_resources, jwt=given) as opened:
        yield opened


def test_without_an_issuer_there_is_no_such_door(resources: Resources) -> None:
    """A JWT is then just an unknown token."""
    assert token_verifiers(resources.settings) == ()
    assert Identities(LazyResources.already_open(resources))
