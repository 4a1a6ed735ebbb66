"""The check-up says who distils, and whether it can be asked."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.ai.distillers.scripted_claude import ScriptedClaude

from memory_butler.adapters.doctor import checks
from memory_butler.adapters.doctor.findings import CheckContext
from memory_butler.adapters.doctor.model_checks import distiller
from memory_butler.settings import Consolidation, load_settings


def found(**given: Any) -> tuple[str, str, str]:
    verdict = distiller(Consolidation.model_validate(given))
    return verdict.status, verdict.message, verdict.advice or ""


def test_the_default_needs_nothing(tmp_path: Path) -> None:
    """And the line is part of the check-up."""
    context = CheckContext(load_settings(home=tmp_path))
    [finding] = checks.CHECKS["distiller"](context)
    assert (finding.check, finding.status, finding.message) == ("distiller", "ok", "built-in: no model, no network")


def test_an_agent_is_fine_and_nobody_is_a_warning() -> None:
    """Where nothing will ever be learned from episodes, it is said."""
    assert found(distiller="agent")[0] == "ok"
    status, message, advice = found(distiller="off")
    assert (status, "expire" in message, "auto" in advice) == ("warning", True, True)


def test_the_command_is_looked_for(tmp_path: Path) -> None:
    """By its name on the PATH or by its path; it is not run."""
    claude = ScriptedClaude(tmp_path)
    status, message, _ = found(distiller="claude-code", claude_code={"command": str(claude.command)})
    assert (status, str(claude.command) in message, claude.has_noted("given")) == ("ok", True, False)
    status, message, advice = found(distiller="claude-code", claude_code={"command": "no-such-claude"})
    assert (status, "no-such-claude was not found" in message) == ("problem", True)
    assert "consolidation.claude_code.command" in advice


def test_a_model_is_tried_out_without_asking_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that cannot be used, a key that is missing and no name at all are problems, each with its way out."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    own = {"name": "qwen3:8b", "base_url": "http://127.0.0.1:9/v1"}
    assert found(model=own) == ("ok", "model qwen3:8b at http://127.0.0.1:9/v1 (no request was sent)", "")
    status, message, advice = found(model={"name": "openai:gpt-5-mini"})
    assert (status, "no key" in message, "OPENAI_API_KEY" in advice) == ("problem", True, True)
    assert found(model={"name": "openai:gpt-5-mini", "api_key": "k"})[0] == "ok"
    status, _, advice = found(distiller="model")
    assert (status, "consolidation.model.name" in advice) == ("problem", True)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings them."""
    monkeypatch.delitem(sys.modules, "memory_butler.ai.distillers.model_server", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    status, message, advice = found(model={"name": "openai:gpt-5-mini"})
    assert (status, "not installed" in message, "memory-butler[models]" in advice) == ("problem", True, True)
