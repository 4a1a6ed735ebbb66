"""Downloads from the Hugging Face hub: files of one commit, all verified before any is moved into place."""

import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memory_butler.errors import IntegrityViolation, InvalidInput, TargetUnavailable

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

# The variable that every client of the hub reads, for mirrors.
HUB_URL = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
LISTING_TIMEOUT_SECONDS = 30.0
# ONNX Runtime reads one file of at most 2 GB.
MAX_REPOSITORY_BYTES = 2 << 30
REPOSITORY = re.compile(r"(?P<repo>[\w-][\w.-]*/[\w-][\w.-]*)(@(?P<revision>[\w-][\w./-]*))?", re.ASCII)


def parse_repository(text: str) -> tuple[str, str]:
    """Split `owner/name` or `owner/name@revision` into repository and revision (default: main)."""
    match = REPOSITORY.fullmatch(text)
    if match is None or ".." in text:
        raise InvalidInput(
            f"{text!r} is not the name of a repository on the Hugging Face hub.",
            recovery="Write it as owner/name, or owner/name@revision for a fixed revision.",
        )
    return match["repo"], match["revision"] or "main"


def download(repository: str, files: Sequence[Sequence[str]], folder: Path, hub_url: str) -> None:
    """Download files of `owner/name[@revision]` into `folder`. Blocks: call it off the event loop.

    Each entry of `files` lists alternative paths; the first one that the repository has is downloaded. The commit is
    resolved once, so all files belong together. huggingface_hub shows a progress bar on stderr and resumes a
    connection that breaks; it checks sizes only, so the digests that the hub lists are checked here.
    """
    # Imported here: only the first start without an installed model downloads anything.
    import httpx2  # noqa: PLC0415
    from huggingface_hub import HfApi  # noqa: PLC0415

    repo, revision = parse_repository(repository)
    # Public repositories need no token: the user's own is never sent.
    api = HfApi(endpoint=hub_url.rstrip("/"), token=False, library_name="memory-butler")
    try:
        listing = api.model_info(repo, revision=revision, files_metadata=True, timeout=LISTING_TIMEOUT_SECONDS)
        chosen = _chosen({entry.rfilename: entry for entry in listing.siblings or ()}, files, repository)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder.parent) as staging:
            for entry in chosen:
                path = api.hf_hub_download(repo, entry.rfilename, revision=listing.sha, local_dir=staging)
                _verify(Path(path), entry, f"{hub_url}/{repo}")
            for entry in chosen:
                target = folder / entry.rfilename
                target.parent.mkdir(mode=0o700, exist_ok=True)
                (Path(staging) / entry.rfilename).replace(target)
    # hf_xet reports network failures as RuntimeError; the other non-OS errors are answers that no hub would give.
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, RuntimeError, ValueError, KeyError, TypeError) as failure:
        raise TargetUnavailable(
            f"Downloading {repository} from {hub_url} failed: {_reason(failure)}.",
            recovery="Check the network and the name of the repository, or put its files into a folder and configure"
            " that folder.",
        ) from failure


def _chosen(listed: "dict[str, RepoSibling]", files: Sequence[Sequence[str]], repository: str) -> "list[RepoSibling]":
    chosen = []
    for alternatives in files:
        name = next((name for name in alternatives if name in listed), None)
        if name is None:
            raise InvalidInput(
                f"The repository {repository} has no {' and no '.join(alternatives)}.",
                recovery="Choose a repository that has the file, or put the files into a folder and configure that.",
            )
        chosen.append(listed[name])
    total_bytes = sum(entry.size or 0 for entry in chosen)
    if total_bytes > MAX_REPOSITORY_BYTES:
        raise InvalidInput(
            f"The files of {repository} have {total_bytes / 2**30:.1f} GB; the limit is"
            f" {MAX_REPOSITORY_BYTES / 2**30:.0f} GB.",
            recovery="Choose a smaller model.",
        )
    return chosen


def _verify(path: Path, entry: "RepoSibling", source: str) -> None:
    """Check the digest that the hub lists: sha256 for large files, git's blob id for the others."""
    content = path.read_bytes()
    if entry.lfs:
        expected, digest = entry.lfs.sha256, hashlib.sha256(content).hexdigest()
    else:
        blob = b"blob %d\0" % len(content) + content
        expected, digest = entry.blob_id or "", hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    if digest != expected:
        raise IntegrityViolation(
            f"The downloaded {entry.rfilename} of {source} has the digest {digest}; the hub lists {expected}.",
            recovery="Download it again. If the digest is wrong again, do not use this repository.",
        )


def _reason(failure: BaseException) -> str:
    """Return the first line of the original error: huggingface_hub wraps it in general advice."""
    lines = str(failure.__cause__ or failure).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(failure).__name__
