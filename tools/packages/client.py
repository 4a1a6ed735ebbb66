"""The wheel `memory-butler-client`: the modules that a remote client needs, under the names of the whole program.

A machine that only calls a server installs 5 MB instead of the engine. The whole program holds the same modules, so a
virtual environment needs one of both.
"""

import tomllib
from pathlib import Path
from typing import Any

from tools.packages.wheel_file import Wheel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "memory_butler"
PARTS = ("__init__.py", "errors.py", "py.typed", "adapters/__init__.py", "adapters/python", "client", "models")
REQUIRES = ("httpx",)
DESCRIPTION = """The Python client of [Memory Butler](https://pypi.org/project/memory-butler/), without the engine:

    from memory_butler import Memory
    memory = Memory("https://memory.example.org", token="…")
    memory.remember("Ana is allergic to shellfish")

Install `memory-butler` instead where the store runs; it contains the client.
"""


def build(out: Path) -> Path:
    facts = project()
    files = [file for part in PARTS for file in sorted(_files(SOURCE / part))]
    wheel = Wheel(
        name="memory-butler-client",
        version=facts["version"],
        summary="Client of Memory Butler, long-term memory for AI agents, without the engine.",
        license=facts["license"],
        requires=[line for line in facts["dependencies"] if line.partition(">")[0] in REQUIRES],
        description=DESCRIPTION,
    )
    return wheel.write(out, {str(file.relative_to(SOURCE.parent)): file.read_bytes() for file in files})


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.suffix in (".py", ".typed")]


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found
