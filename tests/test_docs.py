"""The documentation names modules that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memory_butler"
LAYERS = "adapters|ai|client|english|jobs|languages|models|operations|policy|settings|store"


def named_modules() -> Iterator[tuple[str, str]]:
    """Every path of a module or folder of the package that a page names, with the page."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        if page.name == "CHANGELOG.md":
            continue
        for path in re.findall(rf"(?<![\w/.])(?:{LAYERS})/[\w/.]*\w(?:/|\.py|\.sql)(?![\w])", page.read_text("utf-8")):
            yield str(page.relative_to(ROOT)), path


def test_modules_named_in_the_docs_exist() -> None:
    """A page that names a module or folder names one of this version."""
    named = list(named_modules())
    assert len(named) > 30
    assert [(page, path) for page, path in named if not (PACKAGE / path).exists()] == []


def test_modules_in_the_architecture_picture_exist() -> None:
    """Each module is drawn inside the layer that holds it."""
    text = (ROOT / "docs" / "concepts" / "architecture.md").read_text("utf-8")
    [picture] = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    layers = re.findall(r"subgraph (\w+)\n(.*?)\n    end", picture, re.DOTALL)
    drawn = [(layer, name) for layer, nodes in layers for name in re.findall(r"\w+\.py", nodes)]
    assert len(drawn) > 40
    assert [(layer, name) for layer, name in drawn if not list((PACKAGE / layer).rglob(name))] == []
