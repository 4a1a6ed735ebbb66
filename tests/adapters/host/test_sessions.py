"""Sessions as hosts tell of them: which are upkeep, and what becomes of notes that come too late."""

import socket
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP

from memory_butler.adapters.host import MemoryModule, SessionChoices, SessionEnd, hosted_memory
from memory_butler.adapters.host.sessions import SessionDetails, ended_session
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Question
from memory_butler.operations.retrieval import search


class Trigger(Enum):
    UPKEEP = "upkeep"


@pytest.mark.parametrize("source", ["Nightly Upkeep", "nightly upkeep", Trigger.UPKEEP])
def test_upkeep_is_known_however_it_is_written(source: Any) -> None:
    """Neither the case of a pattern nor the type of a trigger lets the memory feed on its own upkeep."""
    choices = SessionChoices(maintenance_sources=("Nightly*", "*UPKEEP"))
    session = ended_session("s", "The user decided it.", True, SessionDetails(trigger_source=source))
    assert "maintenance" in str(session.skip_reason(choices))
    other = ended_session("s", "The user decided it.", True, SessionDetails(trigger_source="telegram"))
    assert other.skip_reason(choices) is None


async def test_a_session_is_not_lost_with_its_notes(
    host_dsn: str, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A model that has not answered when the host stops: the session leaves its summary, and the log says so."""
    monkeypatch.setattr(hosted_memory, "NOTES_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = {"name": "tiny", "base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "seconds": 60}
        config: dict[str, Any] = {
            "home": str(home),
            "upkeep": {"worker": False},
            "session": {"episode": "model", "deadline_seconds": 20},
            "consolidation": {"model": model},
        }
        module = MemoryModule(embedder=FakeEmbedder())
        await module.on_startup(config, host_dsn, butler_name="garden")
        assert await module.after_session("g-1", "The user planted tulips.", True) == SessionEnd("pending")
        await module.on_shutdown()
    assert "the notes of 1 sessions are written" in caplog.text
    await module.register_tools(FastMCP("garden"), {**config, "session": {}}, host_dsn, "garden")
    await module.on_startup({**config, "session": {}}, host_dsn, butler_name="garden")
    try:
        memory = module._memory("garden")
        assert memory
        question = Question(query="tulips", types=("episode",))
        found = await search.search(await memory.lazy.get(20), question)
        assert [one.hit.content for one in found.results] == ["The user planted tulips."]
    finally:
        await module.on_shutdown()
