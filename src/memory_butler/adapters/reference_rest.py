"""The reference page of the REST door, written from its OpenAPI."""

import tempfile
from collections.abc import Iterator
from typing import Any, Final

from memory_butler.adapters.mcp import build_tools
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.problems import STATUS
from memory_butler.adapters.reference_pieces import HOW, page, schema_words, table
from memory_butler.adapters.rest.app import BASE, build_rest
from memory_butler.operations.browse import COUNTED
from memory_butler.settings import load_settings

ABOUT: Final = f"""\
`memory-butler serve` answers plain HTTP under `{BASE}`: every [tool](tools.md) as a route, and lists for people. The
machine-readable description is at `{BASE}/openapi.json` (OpenAPI 3.1); there is no page to try things out, because
such pages load their scripts from elsewhere. Where authentication is required ([service](service.md)), every request
carries `Authorization: Bearer <token>`; an operator names another tenant with `Memory-Butler-Tenant: <tenant>`."""
EXAMPLES: Final = """\
Store a fact. The body is what the tool takes, the answer what it returns:

```console
$ curl -s http://127.0.0.1:8150/api/v1/store_fact -H 'Content-Type: application/json' \\
    -d '{"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."}'
{"type":"fact","id":"01a1e416-957c-7594-bbd4-19228fe9759a","ref":"fact:tdpf","outcome":"created",
 "request_id":"4bee377663b8400bbcc824ebde9242ae"}
```

Ask for it, under a request id of your own (shortened):

```console
$ curl -s http://127.0.0.1:8150/api/v1/search -H 'Content-Type: application/json' -H 'X-Request-Id: demo-1' \\
    -d '{"query": "which color does Anna like?", "limit": 1}'
{"results":[{"ref":"fact:tdpf","type":"fact","content":"Anna likes green.", …, "relevance":0.811481,"score":0.85}],
 "count":1,"request_id":"demo-1"}
```

List what is known of her (shortened):

```console
$ curl -s 'http://127.0.0.1:8150/api/v1/memories/fact?subject=Anna&sort=importance&limit=1'
{"items":[{"type":"fact","ref":"fact:tdpf","content":"Anna likes green.","validity":"active", …}],
 "cursor":null,"total":1,"request_id":"c4a868a7c4c1422599a32520bd212624"}
```

What goes wrong says what to do:

```console
$ curl -s http://127.0.0.1:8150/api/v1/get -H 'Content-Type: application/json' -d '{"type": "fact", "id": "fact:zzzz"}'
{"type":"urn:memory-butler:error:not_found","title":"Not found","status":404,"detail":"There is no fact:zzzz.",
 "error":"not_found","message":"There is no fact:zzzz.","retryable":false,
 "recovery":"Use memory_search to find the memory, then pass its reference (for example fact:k3f7) or id.",
 "request_id":"4045695c9c7f4f3b94ce572e858ccda9"}
```"""
REQUEST_IDS: Final = """\
Every request has an id: yours, from `request_context.request_id` in the body or from the header `X-Request-Id` (1 to
200 visible ASCII characters), or one that is made for it. It is kept with everything that the request changes, and
comes back in the answer and in the header `X-Request-Id`, where what is not plain ASCII is written as %XX. If both
are given, the body's counts."""
ERRORS: Final = """\
Errors are `application/problem+json`. `error` is the class ([errors](errors.md)), `recovery` says what to do,
`retryable` whether a retry can help. The status follows from the class; where HTTP has a more exact one for a request
that is not valid, that is used: 405 for the wrong method, 413 for too large a request, 415 for a body that is not
said to be JSON. Who does not say who they are is told 401."""
LIMITS: Final = """\
A server works on so many calls at a time, lets some more wait for their turn, and refuses the rest at once with 429
and `Retry-After`; the same goes for callers over their rate, and for MCP (`service.limits` in the
[settings](settings.md)). Activity streams have places of their own. Every call has a deadline (`deadline_seconds`):
past it, it is 504."""
PAGES: Final = f"""\
Lists come in pages. `cursor` in an answer leads to the next page, given back with the same filters and order; it is
null on the last. A cursor that was changed or is another list's is refused. Entries that are equal in what the list
is sorted by stand in the order of their ids, so nothing is shown twice or left out. `total` is exact up to
{COUNTED:,}; beyond that there is `total_at_least` instead. Lists are bounded by what the caller may see: an agent
lists what is everybody's and its own, and an administrator every scope with `scope=*`."""
TITLES: Final = {"memories": "Memories", "governing": "Governing a tenant", "activity": "Activity"}


def rest_page() -> str:
    """Every route: what it does, what it takes, what it answers."""
    with tempfile.TemporaryDirectory() as home:
        late = LateButler(load_settings(home=home))
        described = build_rest(late, build_tools(late)).openapi()
    routes = list(_routes(described))
    kinds = {"$defs": described["components"]["schemas"]}
    lines = ["# REST", HOW, ABOUT, "## By hand", EXAMPLES, "## Request ids", REQUEST_IDS, "## Errors", ERRORS]
    lines.append(table(("class", "status"), ((f"`{name}`", str(status)) for name, status in STATUS.items())))
    lines += ["## Limits", LIMITS, "## Pages", PAGES, "## Tools"]
    lines.append("`POST`, with the tool's arguments as a JSON object; the answer is the tool's.")
    rows = [
        (f"`POST {BASE}{path}`", f"[`{about['operationId']}`](tools.md#{about['operationId']})", about["summary"])
        for _, path, about in routes
        if about["tags"] == ["tools"]
    ]
    lines.append(table(("route", "tool", "in short"), rows))
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
        yield f"Answers {status} with {names}."


def _words(schema: dict[str, Any], kinds: dict[str, Any]) -> str:
    said = schema_words(schema, kinds)
    bounds = [f"{sign} {schema[name]}" for name, sign in (("minimum", "≥"), ("maximum", "≤")) if name in schema]
    default = schema.get("default")
    shown = [f"`{default}` if left out"] if default not in (None, [], {}) else []
    return ", ".join([said, *bounds, *shown])
