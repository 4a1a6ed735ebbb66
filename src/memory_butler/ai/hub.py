"""Fetching files from the Hugging Face hub, or whatever answers like it: whole, proven, and with a progress bar."""

import hashlib
import http.client
import json
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from memory_butler.errors import IntegrityViolation, InvalidInput, MemoryButlerError, TargetUnavailable

HUB_URL = "https://huggingface.co"
DOWNLOAD_TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20
MAX_LISTING_BYTES = 16 << 20
# Nothing above it could become a graph: a serialised one has at most 2 GB.
MAX_REPOSITORY_BYTES = 2 << 30
REPOSITORY = re.compile(r"(?P<repo>[\w-][\w.-]*/[\w-][\w.-]*)(@(?P<revision>[\w-][\w./-]*))?", re.ASCII)

# What goes wrong on the way, the network's and the server's part of it.
DOWNLOAD_FAILURES = (OSError, ValueError, http.client.HTTPException)


@dataclass(frozen=True)
class RemoteFile:
    """One file as it must be: how long it is, and its digest, which is git's for small files of a repository."""

    name: str
    size_bytes: int
    digest: str
    by_git: bool = False

    def hasher(self) -> Any:
        if self.by_git:
            return hashlib.sha1(b"blob %d\0" % self.size_bytes, usedforsecurity=False)
        return hashlib.sha256()


def require_web_address(url: str) -> None:
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("the address must start with https:// or http://")


def fetch(
    url: str, file: RemoteFile, folder: Path, advance: Callable[[int], None], wrong: Callable[[str], MemoryButlerError]
) -> None:
    """Fetch one file beside its place and move it there once its digest is right: a reader never sees half a file."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=folder)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as target, _opened(url) as answer:
            found = _copy(answer, target, file, advance)
            if answer.length and target.tell() <= file.size_bytes:
                raise ConnectionError(f"{file.name} ended {answer.length} bytes early")
        if found != file.digest:
            raise wrong(found)
        temporary.replace(folder / file.name)
    finally:
        temporary.unlink(missing_ok=True)


def fetch_repository(named: str, names: Sequence[str], folder: Path, hub_url: str, what: str) -> None:
    """Fetch files of one commit of `owner/name` or `owner/name@revision` into `folder`: all of them or none."""
    try:
        require_web_address(hub_url)
        repo, revision = split_repository(named)
        commit, files = _listed(hub_url.rstrip("/"), repo, revision, names)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            with progress(what, sum(file.size_bytes for file in files)) as advance:
                for file in files:
                    url = f"{hub_url.rstrip('/')}/{repo}/resolve/{commit}/{file.name}"
                    fetch(url, file, beside, advance, partial(_tampered, url))
            if not all((folder / name).is_file() for name in names):  # another process may have been quicker
                shutil.rmtree(folder, ignore_errors=True)
                beside.replace(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except DOWNLOAD_FAILURES as failure:
        raise TargetUnavailable(
            f"{named} could not be fetched from {hub_url}: {failure}",
            recovery="Check the name of the repository and the network, or put its files into a folder and name that.",
        ) from failure


def split_repository(named: str) -> tuple[str, str]:
    """The repository and the revision that a setting names."""
    found = REPOSITORY.fullmatch(named)
    if found is None or ".." in named:
        raise InvalidInput(
            f"{named!r} is not the name of a repository on the hub.",
            recovery="Write it as owner/name, or owner/name@revision for a fixed revision.",
        )
    return found["repo"], found["revision"] or "main"


def _listed(hub_url: str, repo: str, revision: str, names: Sequence[str]) -> tuple[str, list[RemoteFile]]:
    """The commit that a revision is now, and what its files must be."""
    quoted = urllib.parse.quote(revision, safe="")
    with _opened(f"{hub_url}/api/models/{repo}/revision/{quoted}?blobs=true") as answer:
        described = json.loads(answer.read(MAX_LISTING_BYTES))
    try:
        commit = str(described["sha"])
        there = {entry["rfilename"]: entry for entry in described["siblings"]}
        files = [_described(there[name]) for name in names if name in there]
    except (KeyError, TypeError) as fault:
        raise ValueError("the hub's answer is not a list of files") from fault
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise ValueError("the hub's answer names no commit")
    if missing := [name for name in names if name not in there]:
        raise InvalidInput(
            f"{repo} has no {' and no '.join(missing)} at revision {revision}.",
            recovery="Choose a repository that has its weights as one model.safetensors, with a tokenizer.json.",
        )
    if sum(file.size_bytes for file in files) > MAX_REPOSITORY_BYTES:
        raise InvalidInput(
            f"{repo} is too large: its files have more than {MAX_REPOSITORY_BYTES >> 30} GB.",
            recovery="Choose a smaller model.",
        )
    return commit, files


def _described(entry: Any) -> RemoteFile:
    large = entry.get("lfs")
    if large:
        return RemoteFile(entry["rfilename"], int(large["size"]), large["sha256"])
    return RemoteFile(entry["rfilename"], int(entry["size"]), entry["blobId"], by_git=True)


def _tampered(url: str, found: str) -> IntegrityViolation:
    return IntegrityViolation(
        f"{url} is not what the hub lists: its digest is {found}.", recovery="Try again; if it stays, do not use it."
    )


def _opened(url: str) -> Any:
    request = urllib.request.Request(url, headers={"User-Agent": "memory-butler"})
    try:
        return urllib.request.urlopen(request, timeout=DOWNLOAD_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as refusal:
        with refusal:  # it holds the connection open
            raise ConnectionError(f"{url} answered {refusal.code} {refusal.reason}") from None


def _copy(source: IO[bytes], target: IO[bytes], file: RemoteFile, advance: Callable[[int], None]) -> str:
    """Copy at most one byte more than the file should have, which is enough to spoil its digest."""
    hasher, left = file.hasher(), file.size_bytes + 1
    while left > 0 and (chunk := source.read(min(left, CHUNK_BYTES))):
        left -= len(chunk)
        hasher.update(chunk)
        target.write(chunk)
        advance(len(chunk))
    return str(hasher.hexdigest())


@contextmanager
def progress(what: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    from rich import progress as bars  # noqa: PLC0415 (for the one time that something is fetched)
    from rich.console import Console  # noqa: PLC0415

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TimeRemainingColumn(),
    )
    # On stderr, because the stdout of a stdio server belongs to the protocol.
    with bars.Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(f"Downloading {what}", total=total_bytes)
        yield lambda count: shown.advance(task, count)
