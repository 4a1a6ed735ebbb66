"""The check-up of a server that runs: nothing is started anew for it, and nobody has to wait."""

import asyncio
import time

from memory_butler.adapters.doctor import CHECKS, Finding, Patient, isolated
from memory_butler.ai.embedding import Embedder
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Settings

# Not those that load a model or try a port: the server has both.
NAMES = ("home", "disk", "database", "pgvector", "schema", "role", "model weights", "distiller", "clock")


async def examine_server(settings: Settings, embedder: Embedder) -> list[Finding]:
    """What of a check-up makes sense inside a server, and whether its own model answers."""

    def examined() -> list[Finding]:
        patient = Patient(settings)
        return [finding for name in NAMES for finding in isolated(name, CHECKS[name], patient)]

    findings = await asyncio.to_thread(examined)
    try:
        began = time.perf_counter()
        (vector,) = await embedder.embed(["Is the model there?"])
    except MemoryButlerError as problem:
        return [*findings, Finding("embedding", "problem", problem.message, problem.recovery)]
    took = (time.perf_counter() - began) * 1000
    said = f"the model makes vectors of {len(vector)} numbers, {took:.0f} ms a text"
    return [*findings, Finding("embedding", "ok", said)]
