"""Builds the bundle for Claude Desktop: `python -m tools.packages.mcpb [--out FOLDER]`.

The bundle holds the wheels of the program and its model; uv, which Claude Desktop brings along, installs them and their
requirements from the package index.
"""

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any

from memory_butler.adapters.mcp.catalog import GROUPS, TOOLS
from memory_butler.adapters.mcp.listing import CORE
from tools.packages import client, model, program

ENTRY = '''"""Starts the server for Claude Desktop."""

import sys

from memory_butler.adapters.entry import main

sys.argv[1:] = ["mcp"]
main()
'''


def build(out: Path) -> Path:
    """Write the bundle, and beside it its manifest for the validator."""
    wheels = [program.build(out), model.build(out)]
    project = client.project()
    version = project["version"]
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"memory-butler-{version}.mcpb"
    files = {"manifest.json": json.dumps(manifest(project), indent=2), "server.py": ENTRY}
    files["pyproject.toml"] = _requirements(version)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
        for wheel in wheels:
            bundle.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
    return target


def manifest(project: dict[str, Any]) -> dict[str, Any]:
    """The manifest, with the tools that are listed by default."""
    return {
        "manifest_version": "0.4",
        "name": "memory-butler",
        "display_name": "Memory Butler",
        "version": project["version"],
        "description": project["description"],
        "author": {"name": project["authors"][0]["name"]},
        "repository": {"type": "git", "url": project["urls"]["Homepage"]},
        "homepage": project["urls"]["Homepage"],
        "documentation": project["urls"]["Documentation"],
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {"MEMORY_BUTLER_HOME": "${user_config.home}"},
            },
        },
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Folder of the memories",
                "description": "The store is created here at the first start.",
                "default": "${HOME}/.memory-butler",
                "required": True,
            }
        },
        "tools": [{"name": name, "description": _summary(name)} for name in TOOLS if name in CORE],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def _summary(name: str) -> str:
    """The first sentence of a tool's description."""
    method = next(getattr(group, name) for group in GROUPS if hasattr(group, name))
    return " ".join(str(method.__doc__).split()).partition(". ")[0].rstrip(".") + "."


def _requirements(version: str) -> str:
    return (
        '[project]\nname = "memory-butler-desktop"\nversion = "1"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["memory-butler=={version}"]\n\n[tool.uv]\nfind-links = ["wheels"]\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundle for Claude Desktop.")
    parser.add_argument("--out", type=Path, default=model.OUT)
    print(build(parser.parse_args().out))


if __name__ == "__main__":
    main()
