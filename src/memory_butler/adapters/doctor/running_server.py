"""The checks that a running server can make: they start nothing and block no call."""

import asyncio
import time

from memory_butler.adapters.doctor.checks import CHECKS, isolated
from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.ai.embedding import Embedder
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Settings

# Without the checks that load a model or open a port: the server has both.
NAMES = ("home", "disk", "database", "pgvector", "schema", "role", "model weights", "distiller", "clock")


async def examine_server(settings: Settings, embedder: Embedder) -> list[Finding]:
    """Run these checks, and try the server's own model."""

    def run_checks() -> list[Finding]:
        context = CheckContext(settings)
        return [finding for name in NAMES for finding in isolated(name, CHECKS[name], context)]

    findings = await asyncio.to_thread(run_checks)
    try:
        began = time.perf_counter()
        (vector,) = await embedder.embed(["Does the model work?"])
    except MemoryButlerError as problem:
        return [*findings, Finding("embedding", "problem", problem.message, problem.recovery)]
    took = (time.perf_counter() - began) * 1000
    return [*findings, Finding("embedding", "ok", f"{len(vector)} dimensions, {took:.0f} ms per text")]
