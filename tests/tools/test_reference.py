"""The reference pages say what the code says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.conftest import OPTIONAL, PARAMETERS
from tools.reference import pages

from memory_butler.adapters.http.problems import STATUS
from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.errors import ERROR_CLASSES
from memory_butler.settings import load_settings

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def test_the_pages_are_up_to_date() -> None:
    """docs/reference holds what `make docs` writes now."""
    assert pages.outdated(DOCS) == []


def test_check_tells_a_stale_page_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed page and a missing one are named, and the exit code says so."""
    pages.write(tmp_path)
    assert pages.write(tmp_path) == []
    (tmp_path / "cli.md").write_text("something else")
    (tmp_path / "errors.md").unlink()
    monkeypatch.setattr(sys, "argv", ["reference", str(tmp_path), "--check"])
    assert pages.main() == 1
    said = capsys.readouterr().err
    assert "cli.md" in said and "errors.md" in said and "tools.md" not in said


def test_every_tool_setting_command_and_error_is_there() -> None:
    """Nothing that can be used is left out."""
    tools, settings, cli, errors, rest, roles = (make() for make in pages.PAGES.values())
    assert all(f"\n## {name}\n" in tools and f"| `{name}` |" in roles for name in {*TOOLS, *PARAMETERS, *OPTIONAL})
    assert all(f"\n## {name}\n" in errors for name in ERROR_CLASSES)
    assert all(f"POST /api/v1/{name.removeprefix('memory_')}`" in rest for name in TOOLS if name not in OPTIONAL)
    assert all(f"| `{name}` | {status} |" in rest for name, status in STATUS.items())
    assert "\n### GET /memories/{type}\n" in rest and "\n### POST /runs/{run}/approve\n" in rest
    for name in (
        "MEMORY_BUTLER_HOME",
        "MEMORY_BUTLER_RETRIEVAL__WEIGHTS__FIT",
        "MEMORY_BUTLER_BRIEFING__QUOTAS__FACTS",
    ):
        assert settings.count(f"| `{name}` |") == 1
    for name in (
        "remember fact",
        "remember rule",
        "remember episode",
        "search",
        "context",
        "doctor",
        "uninstall",
        "demo",
        "consolidate",
        "consolidate review",
        "dead-letters requeue",
    ):
        assert f"\n## memory-butler {name}\n" in cli


def test_the_pages_do_not_depend_on_where_they_are_written(tmp_path: Path, monkeypatch: object) -> None:
    """Neither the width of the terminal nor this machine's settings show in them."""
    command = [sys.executable, "-m", "tools.reference.pages", str(tmp_path)]
    environment = {
        "COLUMNS": "40",
        "HOME": "/nonexistent",
        "MEMORY_BUTLER_PORT": "9999",
        "PYTHONPATH": ":".join(sys.path),
    }
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert {name: (tmp_path / name).read_text() for name in pages.PAGES} == {
        name: make() for name, make in pages.PAGES.items()
    }


def test_settings_say_what_they_may_be() -> None:
    """A choice shows its values, a table that it is one, a limit as a number that people write."""
    page = pages.settings_page()
    assert "| `generous` or `generational` | `generous` |" in page
    assert "| `MEMORY_BUTLER_BUTLERS` | table | empty |" in page
    assert "≤ 1000000000 | `50000` |" in page
    assert not [word for word in ("Literal", "PydanticUndefined", "dict", "e+0") if word in page]


def test_the_example_of_single_butlers_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page says of its example holds, in the file and in the environment."""
    page = pages.settings_page()
    assert pages.BUTLERS_EXAMPLE in page
    text = pages.BUTLERS_EXAMPLE.removeprefix("```toml\n").removesuffix("```")
    (tmp_path / "config.toml").write_text(text)
    coder, other = (load_settings(home=tmp_path).lifecycle_of(name) for name in ("coder", "other"))
    assert (coder.eden.ttl_days, other.eden.ttl_days) == (3, 1)
    assert (coder.mid.capacity, other.mid.capacity) == (2000, 2000)
    (tmp_path / "config.toml").unlink()
    for name, value in re.findall(r"`(MEMORY_BUTLER_BUTLERS[A-Z_]*)='?([^`']+)'?`", page):
        monkeypatch.setenv(name, value)
    found = load_settings(home=tmp_path)
    assert [found.lifecycle_of(name).eden.ttl_days for name in ("coder", "home-office", "other")] == [3, 3, 7]


def test_the_example_configuration_is_valid(tmp_path: Path) -> None:
    """What the settings page shows can be pasted into config.toml."""
    (tmp_path / "config.toml").write_text(pages.CONFIG_EXAMPLE.removeprefix("```toml\n").removesuffix("```"))
    settings = load_settings(home=tmp_path)
    assert (settings.port, settings.retrieval.weights.fit, settings.briefing.token_budget) == (8200, 0.5, 2000)
