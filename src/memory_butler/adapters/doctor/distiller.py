"""The doctor's check of the distiller: which one is configured, and whether it is installed. No request is sent."""

import shutil
from typing import Literal, NamedTuple

from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Consolidation, ModelSettings


class Verdict(NamedTuple):
    status: Literal["ok", "warning", "problem"]
    message: str
    advice: str | None = None


def distiller(settings: Consolidation) -> Verdict:
    chosen = settings.distiller
    if chosen == "off":
        advice = 'Set consolidation.distiller = "auto", unless you store facts and rules yourself.'
        return Verdict("warning", "switched off: episodes expire without becoming facts and rules", advice)
    if chosen == "agent":
        return Verdict(
            "ok", "agent: connected agents distil, with memory_consolidation_claim and memory_consolidation_submit"
        )
    if chosen == "claude-code":
        return _command(settings.claude_code.command)
    if chosen == "model" or settings.model.name:
        return _model(settings.model)
    return Verdict("ok", "built-in: no model, no network")


def _command(name: str) -> Verdict:
    path = shutil.which(name)
    if path:
        return Verdict("ok", f"claude-code: {path} (login not checked)")
    advice = "Install Claude Code and log in, or set consolidation.claude_code.command to its path."
    return Verdict("problem", f"claude-code: the command {name} was not found", advice)


def _model(settings: ModelSettings) -> Verdict:
    try:
        from memory_butler.ai.distillers.model_server import open_model  # noqa: PLC0415 (an import error is the finding)
    except ImportError:
        advice = 'Run: pip install "memory-butler[models]", or set consolidation.distiller = "built-in".'
        return Verdict("problem", f"model {settings.name}: its packages are not installed", advice)
    try:
        open_model(settings)
    except MemoryButlerError as problem:
        return Verdict("problem", problem.message, problem.recovery)
    where = f" at {settings.base_url}" if settings.base_url else ""
    return Verdict("ok", f"model {settings.name}{where} (no request was sent)")
