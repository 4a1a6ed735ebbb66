"""The name of the program that calls, for the call log."""

from contextvars import ContextVar
from typing import Final

from fastmcp.server.dependencies import get_context
from starlette.requests import Request

from memory_butler.policy.memories.visible_text import visible_text

_CHARACTERS: Final = 60
MCP, REST = "mcp", "rest"
# Set by REST, which calls tools in process.
rest_client: ContextVar[str | None] = ContextVar("rest_client", default=None)


def client_name() -> str:
    """The name that the client of the current call gives itself, else the name of the protocol."""
    if name := rest_client.get():
        return name
    try:
        parameters = get_context().session.client_params
    except RuntimeError:
        return MCP
    return _clean(parameters.client_info.name if parameters else "") or MCP


def name_of_request(request: Request) -> str:
    """The product in the `User-Agent` of a request."""
    return _clean(request.headers.get("user-agent", "").partition("/")[0]) or REST


def _clean(name: str) -> str:
    return " ".join(visible_text(name).split())[:_CHARACTERS]
