"""Tools over REST: the same answers and errors as over MCP, whatever is sent."""

import json
import time
from typing import Any

import httpx
import psycopg
import pytest
from fastmcp import Client
from tests.adapters.rest.conftest import Post, problem_of

from memory_butler.adapters.http.problems import STATUS, problem_response
from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import ERROR_CLASSES
from memory_butler.models.calls import CallFilter
from memory_butler.operations.system import call_log
from memory_butler.resources import Resources

FACT = {"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."}


async def test_every_tool_has_a_route_with_its_own_schema(web: httpx.AsyncClient, resources: Resources) -> None:
    """The OpenAPI page has each tool of the MCP server, and asks for exactly the arguments that the tool takes."""
    paths = (await web.get("/openapi.json")).json()["paths"]
    for tool in await build_server(resources).list_tools():
        route = paths["/" + tool.name.removeprefix("memory_")]["post"]
        schema = route["requestBody"]["content"]["application/json"]["schema"]
        assert set(schema["properties"]) == set(tool.parameters["properties"]) - {"detail"}
        assert set(schema.get("required", [])) == set(tool.parameters.get("required", []))
        assert route["operationId"] == tool.name


async def test_a_route_answers_what_the_tool_answers(web: httpx.AsyncClient, post: Post, resources: Resources) -> None:
    """What was stored over REST is found over both doors, in the same words."""
    stored = await post("store_fact", **FACT)
    asked = {"query": "green", "request_context": {"request_id": "r-1"}}
    found = await post("search", **asked)
    async with Client(build_server(resources)) as client:
        over_mcp = (await client.call_tool("memory_search", {**asked, "detail": "full"})).structured_content
    assert [result["ref"] for result in found["results"]] == [stored["ref"]]
    assert over_mcp is not None
    for answer in (found, over_mcp):
        answer["results"][0].pop("last_referenced_at", None)
    assert found == over_mcp


@pytest.mark.parametrize(
    "case",
    [
        ("h-1", None, "h-1"),
        (None, {"request_id": "b-1"}, "b-1"),
        ("h-1", {"request_id": "b-1", "segment_id": "s-1"}, "b-1"),
        ("h-1", {"segment_id": "s-1"}, "h-1"),
        (None, {"request_id": "Anfrage für Ödön"}, "Anfrage für Ödön"),
    ],
)
async def test_the_id_of_a_request_is_kept_and_returned(
    web: httpx.AsyncClient,
    owner: psycopg.Connection[tuple[Any, ...]],
    tenant: str,
    case: tuple[str | None, dict[str, str] | None, str],
) -> None:
    """From the body or, if that has none, from the header; it is in the answer, in its header and in the event."""
    header, context, named = case
    body = {**FACT, **({"request_context": context} if context else {})}
    reply = await web.post("/store_fact", json=body, headers={"X-Request-Id": header} if header else {})
    assert reply.json()["request_id"] == named
    assert httpx.URL(f"http://x/{reply.headers['x-request-id']}").path == f"/{named}"
    query = "SELECT request_id, segment_id FROM memory.memory_events WHERE tenant_id = %s"
    assert owner.execute(query, [tenant]).fetchall() == [(named, (context or {}).get("segment_id"))]


async def test_a_request_without_an_id_gets_one(
    web: httpx.AsyncClient, owner: psycopg.Connection[tuple[Any, ...]], tenant: str
) -> None:
    """It is another one each time, and also what the event is kept under."""
    replies = [await web.post("/store_fact", json=FACT) for _ in range(2)]
    ids = [reply.json()["request_id"] for reply in replies]
    assert ids[0] != ids[1] and ids == [reply.headers["x-request-id"] for reply in replies]
    query = "SELECT request_id FROM memory.memory_events WHERE tenant_id = %s ORDER BY seq"
    assert [row[0] for row in owner.execute(query, [tenant])] == ids


@pytest.mark.parametrize("bad", [b"", b"a b", b"x" * 201, "ümlaut".encode()])
async def test_an_id_that_no_header_can_carry_is_refused(web: httpx.AsyncClient, bad: bytes) -> None:
    """And the refusal has an id of its own."""
    reply = await web.post("/stats", headers={b"X-Request-Id": bad})
    assert problem_of(reply) == (422, "validation_error")
    assert len(reply.headers["x-request-id"]) == 32


@pytest.mark.parametrize("name", ERROR_CLASSES)
async def test_every_class_of_error_has_its_status(name: str) -> None:
    """One table, no class without a row; what is overloaded also says when to come again."""
    reply = problem_response(ERROR_CLASSES[name](), "r-1")
    body = json.loads(bytes(reply.body))
    assert reply.status_code == STATUS[name] == body["status"]
    assert (body["error"], body["request_id"], reply.headers["x-request-id"]) == (name, "r-1", "r-1")
    assert reply.headers.get("retry-after") == ("1" if name == "overload_rejected" else None)
    assert set(STATUS) == set(ERROR_CLASSES)


ERRORS: dict[str, tuple[str, dict[str, Any], tuple[int, str]]] = {
    "an argument is missing": ("search", {}, (422, "validation_error")),
    "an argument is unknown": ("stats", {"tenant": "other"}, (422, "validation_error")),
    "no such memory": ("get", {"type": "fact", "id": "fact:zzzz"}, (404, "not_found")),
    "it contradicts what is stored": ("reverse", {"rule_id": "RULE"}, (409, "conflict")),
}


@pytest.mark.parametrize("kind", ERRORS)
async def test_errors_of_tools(web: httpx.AsyncClient, post: Post, kind: str) -> None:
    """Each comes with the status of its class."""
    tool, arguments, expected = ERRORS[kind]
    rule = await post("store_rule", content="Ask before deleting anything.")
    arguments = {name: rule["ref"] if value == "RULE" else value for name, value in arguments.items()}
    reply = await web.post(f"/{tool}", json=arguments, headers={"X-Request-Id": "r-1"})
    assert problem_of(reply) == expected
    assert reply.json()["request_id"] == reply.headers["x-request-id"] == "r-1"


JSON = "application/json"
BODIES: dict[str, tuple[bytes, str | None, int]] = {
    "cut off": (b'{"query": "x', JSON, 422),
    "no object": (b'["query"]', JSON, 422),
    "a number": (b"1", JSON, 422),
    "not a number": (b'{"query": "x", "min_confidence": NaN}', JSON, 422),
    "infinite": (b'{"query": "x", "min_confidence": 1e999}', JSON, 422),
    "a number of 5000 digits": (b'{"query": "x", "limit": ' + b"9" * 5000 + b"}", JSON, 422),
    "too deep to read": (b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", JSON, 422),
    "deep": (b'{"query": ' + b"[" * 200 + b"]" * 200 + b"}", JSON, 422),
    "a NUL": (b'{"query": "a\\u0000b"}', JSON, 422),
    "half a character": (b'{"query": "\\ud800"}', JSON, 422),
    "half a character as a name": (b'{"query": "x", "\\udfff": 1}', JSON, 422),
    "not UTF-8": (b'{"query": "\xff\xfe"}', JSON, 422),
    "a form": (b"query=x", "application/x-www-form-urlencoded", 415),
    "no type": (b'{"query": "x"}', None, 415),
    "text": (b'{"query": "x"}', "text/plain", 415),
}


@pytest.mark.parametrize("kind", BODIES)
async def test_a_body_that_cannot_be_used(web: httpx.AsyncClient, kind: str) -> None:
    """Whatever comes in, the answer is a problem of the closed set that says what to do."""
    body, media_type, status = BODIES[kind]
    request = web.build_request("POST", "/search", content=body, headers={"Content-Type": media_type or ""})
    if media_type is None:
        del request.headers["content-type"]
    assert problem_of(await web.send(request)) == (status, "validation_error")


async def test_json_of_another_make_is_json(web: httpx.AsyncClient) -> None:
    """A charset, upper case and a +json type are understood; no body at all is no arguments."""
    for media_type in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"):
        reply = await web.post("/search", content=b'{"query": "x"}', headers={"Content-Type": media_type})
        assert reply.status_code == 200
    assert (await web.post("/stats")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "not_found")),
        ("POST", "/memory_search", (404, "not_found")),
        ("POST", "/search/", (404, "not_found")),
        ("GET", "/docs", (404, "not_found")),
        ("GET", "/runs/%0A/x", (404, "not_found")),
        ("GET", "/search", (405, "validation_error")),
        ("DELETE", "/memories/fact", (405, "validation_error")),
    ],
)
async def test_what_is_not_there(web: httpx.AsyncClient, method: str, path: str, expected: tuple[int, str]) -> None:
    """An unknown address and a method that is not offered are problems too, and lead to what there is."""
    reply = await web.request(method, path)
    assert problem_of(reply) == expected
    assert "/api/v1/openapi.json" in reply.json()["recovery"]
    assert ("allow" in reply.headers) == (expected[0] == 405)


async def test_a_fault_inside_is_an_internal_error(
    web: httpx.AsyncClient, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also outside of tools; the caller hears no more of it than that, and where to look."""

    async def broken(*given: Any, **more: Any) -> None:
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr("memory_butler.operations.lifecycle.job_status.listed", broken)
    reply = await web.get("/jobs")
    assert problem_of(reply) == (500, "internal_error")
    assert "secret" not in reply.text


async def test_errors_name_routes_instead_of_tools(web: httpx.AsyncClient) -> None:
    """The recovery and the subject of the message; words of the caller stay as they are."""
    missing = (await web.post("/get", json={"type": "fact", "id": "fact:zzzz"})).json()
    assert "Use POST /api/v1/search to find" in missing["recovery"]
    unknown = (await web.post("/stats", json={"memory_search": 1})).json()
    assert unknown["message"] == "POST /api/v1/stats has no argument 'memory_search'."
    assert unknown["recovery"].endswith("POST /api/v1/stats takes: scope, request_context.")


async def test_no_argument_of_any_tool_can_keep_the_server_busy(web: httpx.AsyncClient) -> None:
    """Sorting 200,000 combining marks takes the server 15 seconds. Every text is refused before it is normalized."""
    marks = "a" + "\u0316\u0301" * 100_000
    paths = (await web.get("/openapi.json")).json()["paths"]
    for path, route in paths.items():
        body = route.get("post", {}).get("requestBody")
        schema = body["content"]["application/json"]["schema"] if body else {}
        for name in schema.get("properties", {}):
            given = dict.fromkeys(schema.get("required", []), "x")
            value = {"request_id": marks, "session_id": marks} if name == "request_context" else marks
            started = time.process_time()
            reply = await web.post(path, json={**given, name: value})
            assert time.process_time() - started < 2, (path, name)
            # A query may have 100,000 characters once its marks are cut.
            assert reply.status_code in (200, 201, 403, 404, 422), (path, name, reply.text[:300])
            assert len(reply.content) < 10_000, (path, name)


async def test_the_call_log_names_the_product_of_the_user_agent(
    web: httpx.AsyncClient, post: Post, resources: Resources
) -> None:
    await post("store_fact", **FACT)
    await web.post("/search", json={"query": "green"}, headers={"User-Agent": "my-agent/2.0 (linux)"})
    await web.post("/search", json={"query": "green"}, headers={"User-Agent": ""})
    await call_log.store_waiting(resources)
    logged = await call_log.logged_calls(resources, CallFilter())
    assert sorted(call.client for call in logged.items) == ["my-agent", "rest"]
