"""A stand-in for the hub that models come from: what it serves, and what it was asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Hub(ThreadingHTTPServer):
    """Serves files by the last part of their address; sends so many bytes less than it says."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = dict(files)
        self.asked: list[str] = []
        self.missing_bytes = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def content_at(self, path: str) -> bytes | None:
        return self.files.get(path.rpartition("/")[2])

    @contextmanager
    def running(self) -> Iterator[Self]:
        with self:
            thread = threading.Thread(target=self.serve_forever)
            thread.start()
            yield self
            self.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.content_at(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + self.server.missing_bytes))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return None
