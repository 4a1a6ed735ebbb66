"""The client has everything that the server offers, and nothing else: compared with the server's own page."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
from tests.client.scripted import Request, problem, scripted

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import TOOLS, build_tools
from memory_butler.adapters.rest.app import build_rest
from memory_butler.adapters.rest.tools import BASE
from memory_butler.client import MemoryClient
from memory_butler.client.requests import Options
from memory_butler.errors import Conflict, MemoryButlerError
from memory_butler.models import BriefRequest, MemoryType, NewEpisode, NewFact, NewNote, NewRule, Question
from memory_butler.models.listings import Listing
from memory_butler.settings import Settings

# Something for every argument that a method cannot do without.
GIVEN: dict[str, Any] = {
    "type": "fact",
    "id": "k3f7",
    "run": "k3f7",
    "relation": "supports",
    "target": "rule:k3f7",
    "rule_id": "k3f7",
    "fact_id": "k3f7",
    "content": "tea",
    "butler": "main",
    "proposal": {"version": 1},
    "question": Question(query="tea"),
    "request": BriefRequest(trigger_prompt="tea", butler="main"),
    "requests": [],
    "episodes": [],
    "listing": Listing(type=MemoryType.FACT),
}
NEW = {
    "store_episode": NewEpisode(content="tea", butler="main"),
    "store_fact": NewFact(subject="Anna", predicate="drink", content="tea"),
    "store_rule": NewRule(content="Make tea."),
    "store": NewNote(content="tea"),
}
# The connection itself.
NOT_OPERATIONS = {"close", "url", "call"}
# What the client says in another way: the topic is the question's query, and its own keys and lineage it adds itself.
OTHERWISE = {"request_context", "idempotency_key", "reason", "topic", "query", "detail"}


@pytest.fixture(scope="module")
def lazy(settings: Settings) -> LazyResources:
    """A server where agents distil, so that those tools are there, too; it is only asked for its page."""
    agents = settings.consolidation.model_copy(update={"distiller": "agent"})
    return LazyResources(settings.model_copy(update={"consolidation": agents}))


def offered(lazy: LazyResources) -> dict[tuple[str, str], str]:
    """The routes of the server, each with the name of its operation."""
    page = build_rest(lazy, build_tools(lazy)).openapi()
    return {
        (method.upper(), path): about["operationId"]
        for path, methods in page["paths"].items()
        for method, about in methods.items()
        if method != "parameters"
    }


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods of the client, one for each operation; `call` reaches any tool and is tested by itself."""
    for name, method in inspect.getmembers(MemoryClient, inspect.isfunction):
        if not name.startswith("_") and name not in NOT_OPERATIONS:
            yield name, method


async def asks(client: MemoryClient, name: str, method: Callable[..., Any]) -> None:
    """Use a method with no more than it needs; the server refuses everything."""
    needed = [
        one.name
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD and one.name != "self"
    ]
    said = getattr(client, name)(**{one: NEW[name] if one == "new" else GIVEN[one] for one in needed})
    with pytest.raises(MemoryButlerError):
        await (anext(said) if isinstance(said, AsyncIterator) else said)


async def test_the_client_reaches_every_route_and_no_other(lazy: LazyResources) -> None:
    """Each method is used once; what it asks the server for is a route of the page, and no route is left over. A tool's
    method has its name; a tool without a method is reached with `call`."""
    routes = offered(lazy)
    reached: dict[tuple[str, str], list[str]] = {}
    async with scripted([problem(409, Conflict("No."))]) as server, MemoryClient(server.url) as client:
        for name, method in methods():
            server.requests.clear()
            await asks(client, name, method)
            [request] = server.requests
            reached.setdefault(_route(request, routes), []).append(name)
        for operation in set(TOOLS) - {f"memory_{name}" for name, _ in methods()}:
            server.requests.clear()
            with pytest.raises(Conflict):
                await client.call(operation, {"since": "start"})
            [request] = server.requests
            reached.setdefault(_route(request, routes), []).append(operation)
    assert set(reached) == set(routes)
    for route, operation in routes.items():
        tool = operation.removeprefix("memory_")
        if operation in TOOLS and route[0] == "POST" and tool != "activity_stream":
            assert reached[route] in ([tool], [operation])


def _route(request: Request, routes: dict[tuple[str, str], str]) -> tuple[str, str]:
    path = request.path.partition("?")[0].removeprefix(BASE)
    fitting = [
        (method, template)
        for method, template in routes
        if method == request.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path)
    ]
    assert fitting, f"{request.method} {path} is no route of the server"
    # One without places to fill in is the more exact one.
    return min(fitting, key=lambda one: one[1].count("{"))


def test_whatever_a_tool_takes_can_be_said_with_the_client(lazy: LazyResources) -> None:
    """Each parameter of each tool is a parameter of its method, or a field of the request that the method takes."""
    ours = dict(methods())
    for tool in build_tools(lazy):
        name = tool.name.removeprefix("memory_")
        if name not in ours and name != "activity_stream":
            continue  # it is called with `call`, which takes any argument
        method = ours["activity_page" if name == "activity_stream" else name]
        missing = set(tool.parameters["properties"]) - OTHERWISE - set(_sayable(method))
        assert not missing, f"{name} cannot say {missing}"


def _sayable(method: Callable[..., Any]) -> Iterator[str]:
    hints = get_type_hints(method)
    for name, one in inspect.signature(method).parameters.items():
        kind = hints.get(name)
        if one.kind is one.VAR_KEYWORD:
            yield from get_type_hints(get_args(kind)[0] if get_args(kind) else Options)
        elif is_dataclass(kind):
            yield from (field.name for field in fields(kind))
        else:
            yield name
