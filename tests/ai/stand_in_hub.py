"""A local stand-in for the Hugging Face hub: it lists and serves the files of any repository, over real HTTP."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".onnx")


class Hub(ThreadingHTTPServer):
    """Serves `files` at one commit. `served` may differ from what is listed; `breaks` connections end early."""

    def __init__(self, files: dict[str, bytes], repo: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repo = repo
        self.files = dict(files)
        self.served = dict(files)
        self.listing: Any = {"id": repo, "sha": COMMIT, "siblings": [self.entry(name) for name in files]}
        self.requests: list[str] = []
        self.breaks = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def entry(self, name: str) -> dict[str, Any]:
        content = self.files[name]
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
        if name.endswith(LARGE):
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return entry

    def content_at(self, path: str) -> bytes | None:
        if path.startswith(f"/api/models/{self.repo}/revision/"):
            return json.dumps(self.listing).encode()
        prefix = f"/{self.repo}/resolve/{COMMIT}/"
        return self.served.get(path.removeprefix(prefix)) if path.startswith(prefix) else None

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

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        content = self.server.content_at(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if with_body:
            ends_early = self.server.breaks > 0 and "/resolve/" in self.path
            self.server.breaks -= ends_early
            self.wfile.write(content[start : len(content) // 2] if ends_early else content[start:])

    def log_message(self, *_: object) -> None:
        return None
