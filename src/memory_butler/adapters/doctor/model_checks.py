"""The doctor's checks of the models: embedding, cross-encoder, distiller."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from memory_butler.adapters.doctor.findings import CheckContext, Finding, advice_for
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Consolidation, ModelSettings

_distiller_finding = partial(Finding, "distiller")


def check_weights(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.ai.weights import MODEL_NAME, resolve_weights  # noqa: PLC0415

    settings = context.settings
    chosen = settings.embedding
    found = resolve_weights(chosen.folder, settings.home / "models", hub_url=None, precision=chosen.precision)
    found.verify()
    context.model_found = True
    yield Finding("model weights", "ok", f"{MODEL_NAME} from the {found.source}, hash verified")


def check_embedding(context: CheckContext) -> Iterator[Finding]:
    if not context.model_found:
        yield Finding("embedding", "warning", "not checked: the model weights are missing")
        return
    from memory_butler.resources import open_embedder  # noqa: PLC0415

    settings = context.settings

    async def embed() -> tuple[float, float, int]:
        embedder = open_embedder(settings, settings.home / "models", hub_url=None)
        try:
            await embedder.start()
            began = time.perf_counter()
            vector = await embedder.embed_query("Does the model work?")
            return time.perf_counter() - began, float((vector**2).sum()), len(vector)
        finally:
            await embedder.close()

    took, length, dimensions = asyncio.run(embed())
    if abs(length - 1) > 1e-3:
        advice = f"Delete {settings.home / 'models'}; the next start creates it again."
        yield Finding("embedding", "problem", f"the model returns vectors of length {length:g}, expected 1", advice)
    else:
        chosen = f"{settings.embedding.model}: " if settings.embedding.model else ""
        yield Finding("embedding", "ok", f"{chosen}{dimensions} dimensions, {took * 1000:.0f} ms per text")


def cross_encoder(folder: Path | None, repo: str | None, home: Path, threads: int = 2) -> Finding:
    """Score one text with the configured cross-encoder. A check never downloads the model."""
    from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource  # noqa: PLC0415

    source = CrossEncoderSource(folder, repo, hub_url=None)

    async def score() -> float:
        encoder = CrossEncoder(source, cache=home / "models", threads=threads)
        try:
            await encoder.start()
            began = time.perf_counter()
            await encoder.score("Does the model work?", ["The model works."])
            return time.perf_counter() - began
        finally:
            await encoder.close()

    try:
        took = asyncio.run(score())
    except MemoryButlerError as problem:
        # A warning only: searches work without it.
        return Finding("cross-encoder", "warning", problem.message, advice_for(problem, home))
    return Finding("cross-encoder", "ok", f"{folder or repo} scores one text in {took * 1000:.0f} ms")


def check_cross_encoder(context: CheckContext) -> Iterator[Finding]:
    rerank = context.settings.retrieval.rerank
    if rerank.method == "cross_encoder":
        chosen = rerank.cross_encoder
        yield cross_encoder(chosen.folder, chosen.repo, context.settings.home, chosen.threads)


def check_distiller(context: CheckContext) -> Iterator[Finding]:
    yield distiller(context.settings.consolidation)


def distiller(settings: Consolidation) -> Finding:
    """Check the configured distiller: is it installed? No request is sent."""
    chosen = settings.distiller
    if chosen == "off":
        advice = 'Set consolidation.distiller = "auto", unless you store facts and rules yourself.'
        return _distiller_finding("warning", "switched off: episodes expire without becoming facts and rules", advice)
    if chosen == "agent":
        return _distiller_finding(
            "ok", "agent: connected agents distil, with memory_consolidation_claim and memory_consolidation_submit"
        )
    if chosen == "claude-code":
        return _command_distiller(settings.claude_code.command)
    if chosen == "model" or settings.model.name:
        return _model_distiller(settings.model)
    return _distiller_finding("ok", "built-in: no model, no network")


def _command_distiller(name: str) -> Finding:
    path = shutil.which(name)
    if path:
        return _distiller_finding("ok", f"claude-code: {path} (login not checked)")
    advice = "Install Claude Code and log in, or set consolidation.claude_code.command to its path."
    return _distiller_finding("problem", f"claude-code: the command {name} was not found", advice)


def _model_distiller(settings: ModelSettings) -> Finding:
    try:
        from memory_butler.ai.distillers.model_server import open_model  # noqa: PLC0415 (an import error is the finding)
    except ImportError:
        advice = 'Run: pip install "memory-butler[models]", or set consolidation.distiller = "built-in".'
        return _distiller_finding("problem", f"model {settings.name}: its packages are not installed", advice)
    try:
        open_model(settings)
    except MemoryButlerError as problem:
        return _distiller_finding("problem", problem.message, problem.recovery)
    where = f" at {settings.base_url}" if settings.base_url else ""
    return _distiller_finding("ok", f"model {settings.name}{where} (no request was sent)")
