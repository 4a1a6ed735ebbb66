"""Bodies of requests: not longer than they may be, and not slower."""

import asyncio
import json
from dataclasses import replace
from urllib.parse import urlsplit

from tests.support.service import serving

from memory_butler.resources import Resources

PATHS = ("/mcp", "/api/v1/stats", "/hooks/session-end")
HEADERS = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n"
BEGINNINGS = ("Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")


async def answer_to(url: str, token: str, path: str, beginning: str) -> bytes:
    """What a server says to a request whose body begins and never ends."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
    writer.write((head + HEADERS + beginning).encode())
    try:
        return await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for(resources: Resources, tenant: str) -> None:
    """At every door it is answered at the deadline, whether its length is announced or not, and its place is free."""
    settings = resources.settings.model_copy(update={"deadline_seconds": 2.0})
    requests = [(path, beginning) for path in PATHS for beginning in BEGINNINGS]
    limits = settings.service.limits.model_copy(update={"concurrency": len(requests), "waiting": 0})
    async with serving(replace(resources, settings=settings), limits=limits) as service:
        token = await service.token(tenant, role="admin")
        answers = await asyncio.gather(*(answer_to(service.url, token, *request) for request in requests))
        for answer in answers:
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 504 ") and json.loads(body)["error"] == "timeout", answer
        async with service.web(token) as web:
            assert (await web.post("/api/v1/stats", json={})).status_code == 200
