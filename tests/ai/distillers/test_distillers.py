"""Which distiller the settings choose."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_butler.ai.distillers import open_distiller
from memory_butler.ai.distillers.extraction_process import ProcessDistiller
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

MODEL = {"name": "openai:gpt-5-mini"}


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ({}, "built-in"),
        ({"distiller": "auto"}, "built-in"),
        ({"distiller": "auto", "model": MODEL}, "model openai:gpt-5-mini"),
        ({"distiller": "built-in", "model": MODEL}, "built-in"),
        ({"distiller": "model", "model": MODEL}, "model openai:gpt-5-mini"),
        ({"distiller": "model"}, "model"),
        ({"distiller": "claude-code"}, "claude-code"),
        ({"distiller": "agent", "model": MODEL}, None),
        ({"distiller": "off"}, None),
    ],
)
async def test_the_settings_choose(chosen: dict[str, Any], name: str | None, tmp_path: Path) -> None:
    """`auto` is the model if there is one; an agent's work and no work at all need no distiller."""
    opened = open_distiller(load_settings(home=tmp_path, consolidation=chosen))
    assert (opened.name if opened else None) == name
    if opened:
        assert opened.wants_known == (name != "built-in")
        await opened.close()
        await opened.close()


async def test_an_open_butler_has_its_distiller_and_closes_it(
    shared_resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    class Watched(ProcessDistiller):
        async def close(self) -> None:
            closed.append(self.name)

    monkeypatch.setattr("memory_butler.ai.distillers.ProcessDistiller", Watched)
    async with open_resources(shared_resources.settings, embedder=FakeEmbedder()) as resources:
        assert resources.distiller is not None and resources.distiller.name == "built-in"
        assert closed == []
    assert closed == ["built-in"]


def test_the_language_model_libraries_are_loaded_only_when_asked() -> None:
    """Neither importing Memory Butler nor opening a distiller loads them."""
    code = (
        "import sys, memory_butler, memory_butler.resources\n"
        "from memory_butler.ai.distillers import open_distiller\n"
        "from memory_butler.settings import Settings\n"
        "open_distiller(Settings(consolidation={'distiller': 'model', 'model': {'name': 'openai:x'}}))\n"
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
