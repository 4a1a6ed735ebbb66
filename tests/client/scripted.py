"""A server on a real socket that does what the test says, well-behaved or not."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from memory_butler.errors import MemoryButlerError

# What becomes of one request: these bytes, or nothing for as long as the client waits.
Reply = bytes | None
HANGS: None = None
CUTS = b""


def http(status: int, body: str | bytes, content_type: str = "application/json", **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Told", f"Content-Type: {content_type}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def answer(**shape: Any) -> bytes:
    return http(200, json.dumps(shape))


def problem(status: int, error: MemoryButlerError, **headers: str) -> bytes:
    return http(status, json.dumps(error.as_dict()), "application/problem+json", **headers)


STORED = answer(type="fact", id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", ref="fact:k3f7", outcome="created")
RECEIPT = {
    "token_budget": 3000,
    "used_tokens": 9,
    "tokenizer": "t",
    "sections": [],
    "left_out": [],
    "hidden": {},
    "degraded": [],
    "request_id": None,
}
BRIEFED = answer(context="# What I remember\n- tea", receipt=RECEIPT)


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Scripted:
    """Its address, what it was asked, and over how many connections."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    hung: asyncio.Event = field(default_factory=asyncio.Event)


async def _request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split(" ")
    return Request(method, path, headers, json.loads(body) if body else None)


@asynccontextmanager
async def scripted(replies: Iterable[Reply] | Callable[[Request], Reply]) -> AsyncIterator[Scripted]:
    """Answers with one reply after the other, the last of them again and again; b"" ends the connection."""
    script = Scripted()
    left = [] if callable(replies) else list(replies)
    writers: set[asyncio.StreamWriter] = set()

    def reply_to(request: Request) -> Reply:
        if callable(replies):
            return replies(request)
        return left.pop(0) if len(left) > 1 else left[0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script.connections += 1
        writers.add(writer)
        try:
            while True:
                request = await _request(reader)
                script.requests.append(request)
                reply = reply_to(request)
                if reply is HANGS:
                    script.hung.set()
                    await reader.read()
                    return
                writer.write(reply)
                await writer.drain()
                if reply == CUTS or b"Content-Length" not in reply or b"Connection: close" in reply:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()
