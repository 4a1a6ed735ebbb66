"""Importers for other memory products: one module per format, named like it, with a function `parse`."""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.operations.transfer.import_foreign import Parsed

# Parses the file or folder at a path. Notes without a subject are stored about the butler.
Parser = Callable[[Path, str], "Parsed"]
_SHARED = ("notes", "output")


def format_names() -> list[str]:
    modules = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name.replace("_", "-") for name in modules if name not in _SHARED)


def parser_of(name: str) -> Parser:
    if name not in format_names():
        raise InvalidInput(
            f"--from {name!r} is not a known format.", recovery=f"Choose one of: {', '.join(format_names())}."
        )
    parser: Parser = import_module(f"{__name__}.{name.replace('-', '_')}").parse
    return parser
