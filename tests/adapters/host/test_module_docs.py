"""The page about embedding: its program runs, its table is valid, and it names every key."""

import asyncio
import re
import tomllib
from pathlib import Path

import pytest

from memory_butler.adapters.host.config import GROUPS, MemoryConfig, SessionChoices

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "guides" / "embedding-in-a-host.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


async def test_the_host_in_one_page_runs(
    host_dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As printed, with a database in its environment, it remembers from one session to the next."""
    monkeypatch.setenv("HOST_DSN", host_dsn)
    monkeypatch.setenv("HOME", str(home))
    # It brings an event loop of its own.
    await asyncio.to_thread(exec, compile(block("python"), "embedding-in-a-host.md", "exec"), {"__name__": "page"})
    said = capsys.readouterr().out
    assert "stored" in said and "south wall" in said and said.rstrip().endswith("ok")
    assert "I always water the roses on Sunday." in said


def test_the_table_is_valid_and_says_the_defaults() -> None:
    """Its values but the choices it shows are those that hold without them."""
    shown = MemoryConfig.read(tomllib.loads(block("toml"))["modules"]["memory"])
    usual = MemoryConfig()
    assert (shown.briefing, shown.retrieval.weights) == (usual.briefing, usual.retrieval.weights)
    assert (shown.upkeep, shown.session.deadline_seconds) == (usual.upkeep, usual.session.deadline_seconds)


def test_every_key_is_on_the_page() -> None:
    """Keys of the table, those of its sessions and the groups of tools."""
    keys = [*MemoryConfig.model_fields.keys() - {"session"}, *(f"session.{key}" for key in SessionChoices.model_fields)]
    assert [key for key in (*keys, *GROUPS) if f"`{key}`" not in PAGE] == []
    for source in SessionChoices().maintenance_sources:
        assert f"`{source}`" in PAGE
