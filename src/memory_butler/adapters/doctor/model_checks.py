"""The doctor's checks of the models: embedding, cross-encoder, distiller."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from memory_butler.adapters.doctor.distiller import distiller
from memory_butler.adapters.doctor.findings import CheckContext, Finding, advice_for
from memory_butler.errors import MemoryButlerError


def check_weights(context: CheckContext) -> Iterator[Finding]:
    from memory_butler.ai.weights import MODEL_NAME, resolve_weights  # noqa: PLC0415

    settings = context.settings
    found = resolve_weights(settings.embedding.folder, settings.home / "models", hub_url=None)
    found.verify()
    context.model_found = True
    yield Finding("model weights", "ok", f"{MODEL_NAME} from the {found.source}, hash verified")


def check_embedding(context: CheckContext) -> Iterator[Finding]:
    if not context.model_found:
        yield Finding("embedding", "warning", "not checked: the model weights are missing")
        return
    from memory_butler.ai.embedding import OnnxEmbedder  # noqa: PLC0415

    settings = context.settings

    async def embed() -> tuple[float, float, int]:
        embedder = OnnxEmbedder(
            cache=settings.home / "models",
            weights_folder=settings.embedding.folder,
            precision=settings.embedding.precision,
            hub_url=None,
            threads=settings.embedding.threads,
        )
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
        yield Finding("embedding", "ok", f"{dimensions} dimensions, {took * 1000:.0f} ms per text")


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
    yield Finding("distiller", *distiller(context.settings.consolidation))
