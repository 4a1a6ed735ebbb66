"""A client that does not send its request: it is disconnected, and nothing else changes."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from memory_butler.adapters.http.app import listening
from memory_butler.adapters.http.protocol import HEAD_BYTES, BoundedHead
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.settings import load_settings

SECONDS = 0.3


class Impatient(BoundedHead):
    head_seconds = SECONDS


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def name(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"|{request.headers['mcp-name']}|")


async def chat(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    routes = [Route("/", echo, methods=["GET", "POST"]), Route("/name", name), WebSocketRoute("/ws", chat)]
    app = Starlette(routes=routes)
    config: uvicorn.Config = uvicorn_config(app)
    assert config.http is BoundedHead
    config.http = Impatient
    listener: socket.socket = listening(load_settings(host="127.0.0.1", port=0))
    server = Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    yield listener.getsockname()[1]
    server.should_exit = True
    await running


@pytest.mark.parametrize("start", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: "])
async def test_a_head_that_does_not_end_is_given_up(port: int, start: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(start)
    assert b" 408 " in await asyncio.wait_for(reader.read(), 30)
    writer.close()


async def test_a_head_that_is_too_large_is_refused(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"x" * (HEAD_BYTES + 300_000))
    try:
        said = await asyncio.wait_for(reader.read(), 30)
    except ConnectionResetError:
        said = b" 431 "
    assert b" 431 " in said or b" 400 " in said
    writer.close()


async def test_whitespace_around_the_value_of_a_header_is_left_out(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /name HTTP/1.1\r\nhost: x\r\nmcp-name: \t memory_get \t \r\n\r\n")
    assert (await reader.readuntil(b"memory_get|")).endswith(b"|memory_get|")
    writer.close()


async def test_the_second_request_of_a_connection_has_the_same_limit(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n0")).startswith(b"HTTP/1.1 200")
    writer.write(b"GET / HTTP/1.1\r\nhost:")
    assert b" 408 " in await asyncio.wait_for(reader.read(), 30)
    writer.close()


async def test_requests_and_websockets_live_longer_than_the_limit_of_a_head(port: int) -> None:
    async with connect(f"ws://127.0.0.1:{port}/ws") as websocket, httpx.AsyncClient() as web:

        async def slow() -> AsyncIterator[bytes]:
            for _ in range(4):
                await asyncio.sleep(SECONDS / 2)
                yield b"x"

        assert (await web.post(f"http://127.0.0.1:{port}/", content=slow())).text == "4"
        assert (await web.get(f"http://127.0.0.1:{port}/")).text == "0"
        await websocket.send("still here")
        assert await websocket.recv() == "still here"
