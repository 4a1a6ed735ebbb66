"""The reference page of the REST door, written from its OpenAPI."""

import tempfile
from collections.abc import Iterator
from typing import Any, Final

from memory_butler.adapters.http.problems import STATUS
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.rest.app import build_rest
from memory_butler.adapters.rest.tools import BASE
from memory_butler.operations.browse.listings import MAX_COUNT
from memory_butler.settings import load_settings
from tools.reference.markdown import HOW, page, schema_words, table

ABOUT: Final = f"""\
`memory-butler serve` has a REST API under `{BASE}`: every [tool](tools.md) as a route, lists of memories, and
administration. `{BASE}/openapi.json` describes it (OpenAPI 3.1); there is no Swagger page, because it would load
scripts from a CDN. Where authentication is required ([service](../guides/service.md)),
every request carries `Authorization: Bearer <token>`; an operator names another tenant with
`Memory-Butler-Tenant: <tenant>`."""
EXAMPLES: Final = """\
Store a fact. The body holds the arguments of the tool:

```console
$ curl -s http://127.0.0.1:8150/api/v1/store_fact -H 'Content-Type: application/json' \\
    -d '{"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."}'
{"type":"fact","id":"01a1e416-957c-7594-bbd4-19228fe9759a","ref":"fact:tdpf","outcome":"created",
 "request_id":"4bee377663b8400bbcc824ebde9242ae"}
```

Search for it, with your own request id (shortened):

```console
$ curl -s http://127.0.0.1:8150/api/v1/search -H 'Content-Type: application/json' -H 'X-Request-Id: demo-1' \\
    -d '{"query": "which color does Anna like?", "limit": 1}'
{"results":[{"ref":"fact:tdpf","type":"fact","content":"Anna likes green.", …, "relevance":0.811481,"score":0.85}],
 "count":1,"request_id":"demo-1"}
```

List the facts about her (shortened):

```console
$ curl -s 'http://127.0.0.1:8150/api/v1/memories/fact?subject=Anna&sort=importance&limit=1'
{"items":[{"type":"fact","ref":"fact:tdpf","content":"Anna likes green.","validity":"active", …}],
 "cursor":null,"total":1,"request_id":"c4a868a7c4c1422599a32520bd212624"}
```

Errors say what to do:

```console
$ curl -s http://127.0.0.1:8150/api/v1/get -H 'Content-Type: application/json' -d '{"type": "fact", "id": "fact:zzzz"}'
{"type":"urn:memory-butler:error:not_found","title":"Not found","status":404,"detail":"There is no fact:zzzz.",
 "error":"not_found","message":"There is no fact:zzzz.","retryable":false,
 "recovery":"Use POST /api/v1/search to find the memory, then pass its reference (for example fact:k3f7) or id.",
 "request_id":"4045695c9c7f4f3b94ce572e858ccda9"}
```"""
REQUEST_IDS: Final = """\
Every request has an id: `request_context.request_id` in the body, the header `X-Request-Id` (1 to 200 visible ASCII
characters), or a generated one; the body takes precedence. The id is stored with every change of the request and
returned in the answer and in the header `X-Request-Id`, where non-ASCII characters are percent-encoded."""
ERRORS: Final = """\
Errors are `application/problem+json`. `error` is the class ([errors](errors.md)), `recovery` says what to do,
`retryable` whether a retry can help. The status follows from the class, with these exceptions: 405 for a wrong method,
413 for a request that is too large, 415 for a body whose content type is not JSON. Unauthenticated requests get 401."""
LIMITS: Final = """\
A server runs a limited number of calls at once and queues some more; it refuses further calls with 429 and
`Retry-After`. The same holds for MCP (`service.limits` in the [settings](settings.md)). Activity streams have their own
limit. A call that exceeds its deadline (`deadline_seconds`) gets 504."""
PAGES: Final = f"""\
Lists are paged. Pass the `cursor` of an answer, with the same filters and order, to get the next page; it is null on
the last page. A cursor that was changed or belongs to another list is refused. Ties in the sort order are broken by id,
so no entry is repeated or skipped. Only the list of memories has a `total`. It is exact up to {MAX_COUNT:,}; beyond
that the response has `total_at_least` instead. Lists contain only what the caller may see: an agent lists the global
scope and its own, an administrator all scopes with `scope=*`."""
TITLES: Final = {"memories": "Memories", "administration": "Administration", "activity": "Activity"}


def rest_page() -> str:
    """Every route with its parameters and answer."""
    with tempfile.TemporaryDirectory() as home:
        lazy = LazyResources(load_settings(home=home))
        described = build_rest(lazy, build_tools(lazy)).openapi()
    routes = list(_routes(described))
    kinds = {"$defs": described["components"]["schemas"]}
    lines = ["# REST", HOW, ABOUT, "## Examples", EXAMPLES, "## Request ids", REQUEST_IDS, "## Errors", ERRORS]
    lines.append(table(("class", "status"), ((f"`{name}`", str(status)) for name, status in STATUS.items())))
    lines += ["## Limits", LIMITS, "## Pages", PAGES, "## Tools"]
    lines.append("`POST` with the arguments of the tool as a JSON object. The answer is that of the tool.")
    rows = [
        (f"`POST {BASE}{path}`", f"[`{about['operationId']}`](tools.md#{about['operationId']})", about["summary"])
        for _, path, about in routes
        if about["tags"] == ["tools"]
    ]
    lines.append(table(("route", "tool", "summary"), rows))
    for tag, title in TITLES.items():
        lines.append(f"## {title}")
        for method, path, about in routes:
            if about["tags"] == [tag]:
                lines += [f"### {method} {path}", about.get("description") or about["summary"], *_tables(about, kinds)]
    return page(lines)


def _routes(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            if method != "parameters":
                yield method.upper(), path, about


def _tables(about: dict[str, Any], kinds: dict[str, Any]) -> Iterator[str]:
    taken = [
        (f"`{one['name']}`", f"in the {one['in']}", _words(one["schema"], kinds), one.get("description", ""))
        for one in about.get("parameters", [])
    ]
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    taken += [
        (f"`{name}`", "in the body", _words(schema, kinds), schema.get("description", ""))
        for name, schema in body.get("properties", {}).items()
    ]
    if taken:
        yield table(("parameter", "where", "type", "meaning"), taken)
    status, answer = next((code, one) for code, one in about["responses"].items() if str(code).startswith("2"))
    schema = answer["content"].get("application/json", {}).get("schema", {})
    if schema:
        names = ", ".join(f"`{name}`" for name in schema["properties"])
        yield f"Response {status}: {names}."


def _words(schema: dict[str, Any], kinds: dict[str, Any]) -> str:
    words = schema_words(schema, kinds)
    bounds = [f"{sign} {schema[name]}" for name, sign in (("minimum", "≥"), ("maximum", "≤")) if name in schema]
    default = schema.get("default")
    shown = [f"`{default}` by default"] if default not in (None, [], {}) else []
    return ", ".join([words, *bounds, *shown])
