"""What is published beside the wheels fits the program: the registry's entry and the bundle for Claude Desktop."""

import json
import zipfile
from pathlib import Path

import pytest
from tools.packages import mcpb, model, program
from tools.packages.client import ROOT, project
from tools.packages.wheel_file import Wheel

from memory_butler.adapters.mcp.listing import CORE


def test_the_registry_entry_is_of_this_version() -> None:
    """It installs this version from PyPI and runs `memory-butler mcp`; the README proves who owns the name."""
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == project()["version"]
    assert (package["registryType"], package["identifier"]) == ("pypi", project()["name"])
    assert [one["value"] for one in package["packageArguments"]] == ["mcp"]
    assert len(entry["description"]) <= 100
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_bundle_starts_the_server_and_names_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifest, entry, requirements and the wheels they need are in it."""
    for module, name in ((program, "program.whl"), (model, "model.whl")):
        (tmp_path / name).write_bytes(b"wheel")
        monkeypatch.setattr(module, "build", lambda out, name=name: out / name)
    with zipfile.ZipFile(mcpb.build(tmp_path)) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert {"wheels/program.whl", "wheels/model.whl", "pyproject.toml"} <= set(bundle.namelist())
        assert f"memory-butler=={project()['version']}" in bundle.read("pyproject.toml").decode()
        compile(bundle.read(manifest["server"]["entry_point"]), "server.py", "exec")
    assert {tool["name"] for tool in manifest["tools"]} == CORE
    assert all(tool["description"].endswith(".") for tool in manifest["tools"])
    assert manifest["version"] == project()["version"]


def test_a_wheel_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    wheel = Wheel(name="an-example", version="1.0", summary="Nothing.", license="MIT", requires=["httpx>=0.27"])
    first = wheel.write(tmp_path / "a", {"an_example/__init__.py": b""})
    assert first.name == "an_example-1.0-py3-none-any.whl"
    assert first.read_bytes() == wheel.write(tmp_path / "b", {"an_example/__init__.py": b""}).read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert b"Requires-Dist: httpx>=0.27" in archive.read("an_example-1.0.dist-info/METADATA")
