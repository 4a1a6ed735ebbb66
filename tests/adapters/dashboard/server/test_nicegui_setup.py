"""Private names of NiceGUI: only those listed here, with a reason in the code, and they still work as expected."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import nicegui.nicegui

from memory_butler.adapters import dashboard

PRIVATE_IMPORTS = {("server/nicegui_setup.py", "_shutdown"), ("server/nicegui_setup.py", "_startup")}
FOLDER = Path(dashboard.__file__).parent


def private_imports(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "nicegui":
            yield from (alias.name for alias in node.names if alias.name.startswith("_"))


def private_attributes(module: ast.Module) -> Iterator[str]:
    """Private attributes of anything but `self`."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            yield ast.unparse(node)


def test_only_the_listed_private_names_are_used() -> None:
    """No module of the dashboard imports another private name or touches a private attribute of an element."""
    imports, attributes = set(), []
    for path in FOLDER.rglob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        imports |= {(path.relative_to(FOLDER).as_posix(), name) for name in private_imports(module)}
        attributes += [f"{path.name}: {name}" for name in private_attributes(module)]
    assert imports == PRIVATE_IMPORTS
    assert attributes == []


def test_nicegui_starts_and_stops_without_arguments() -> None:
    """Both are coroutine functions without parameters, as `running` calls them."""
    for name in ("_startup", "_shutdown"):
        function = getattr(nicegui.nicegui, name)
        assert inspect.iscoroutinefunction(function) and not inspect.signature(function).parameters
