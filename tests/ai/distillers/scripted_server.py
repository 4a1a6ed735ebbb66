"""A server of language models that answers what it was told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def answer(text: str | None, *, finish: str = "stop", refusal: str | None = None, usage: bool = True) -> dict[str, Any]:
    """A chat completion with this text."""
    said: dict[str, Any] = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1_772_000_000,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
            }
        ],
    }
    if usage:
        said["usage"] = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    return said


def called(arguments: str) -> dict[str, Any]:
    """A chat completion that calls the tool `proposal` instead of writing text."""
    said = answer(None, finish="tool_calls")
    said["choices"][0]["message"]["tool_calls"] = [
        {"id": "call-1", "type": "function", "function": {"name": "proposal", "arguments": arguments}}
    ]
    return said


def responded(arguments: str) -> dict[str, Any]:
    """The same in OpenAI's newer interface."""
    call = {"type": "function_call", "id": "fc-1", "call_id": "call-1", "name": "proposal", "arguments": arguments}
    return {
        "id": "resp-1",
        "object": "response",
        "created_at": 1_772_000_000,
        "model": "tiny",
        "status": "completed",
        "output": [call | {"status": "completed"}],
        "parallel_tool_calls": False,
        "tool_choice": "required",
        "tools": [],
        "usage": {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 1050,
        },
    }


def messaged(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same in Anthropic's interface."""
    return {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": "tiny",
        "content": [{"type": "tool_use", "id": "call-1", "name": "proposal", "input": arguments}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 50},
    }


def error(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


class ScriptedServer(ThreadingHTTPServer):
    """Each request gets the next step of the script, the last step over and over.

    A step is a body to answer with 200, a (status, body), or the name of a misbehaviour: "hang", "hang up", "page".
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.asked = threading.Event()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.requests.append({"path": self.path, **asked})
        server.keys.append(self.headers.get("Authorization") or self.headers.get("X-Api-Key"))
        server.asked.set()
        step = server.script[min(len(server.requests), len(server.script)) - 1]
        if step == "hang":
            server.released.wait(60)
        elif step == "hang up":
            self._send(200, b'{"id": "chat-1", "choi', more=500)
        elif step == "page":
            self._send(200, b"<html>hunter2</html>", kind="text/html")
        else:
            status, body = step if isinstance(step, tuple) else (200, step)
            self._send(status, json.dumps(body).encode())

    def _send(self, status: int, content: bytes, *, more: int = 0, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) + more))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return None


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
