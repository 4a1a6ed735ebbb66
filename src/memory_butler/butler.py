"""The open resources an operation works with, and how to open them. No behaviour of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_butler.ai.distillers import Distiller, open_distiller
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.ai.reranking import Reranker
from memory_butler.ai.tokens import TokenCounter, open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.models import Caller, Principal, Role
from memory_butler.policy.passages import PASSAGE_POLICY_VERSION
from memory_butler.settings import Settings, load_settings
from memory_butler.store import embedding_versions, search_index
from memory_butler.store.database import Database
from memory_butler.store.ids import MakeId, id_maker

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Butler:
    """Everything that is open while Memory Butler runs."""

    settings: Settings
    database: Database
    embedder: Embedder
    tokens: TokenCounter
    clock: Clock
    make_id: MakeId
    embedding_version: int
    opened_at: datetime
    reranker: Reranker | None = None
    distiller: Distiller | None = None

    def local_caller(self) -> Caller:
        """The one person whose store this is, in the local shape."""
        return Caller(Principal(self.settings.tenant, self.settings.butler, Role.ADMIN))

    def local_operator(self) -> Caller:
        """The person at the machine's own command line, who looks after all tenants."""
        return Caller(Principal(self.settings.tenant, self.settings.butler, Role.OPERATOR))


def system_clock() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_butler(
    settings: Settings | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock = system_clock,
    make_id: MakeId | None = None,
    **given: Any,
) -> AsyncIterator[Butler]:
    """Open the store, starting the embedded database if need be. Settings may be given by name: `home=…`."""
    settings = settings or load_settings(**given)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    models = settings.home / "models"
    models.mkdir(mode=0o700, exist_ok=True)
    weights = await asyncio.to_thread(resolve_weights, settings.embedding.folder, models)
    embedder = embedder or OnnxEmbedder(
        cache=models,
        weights_folder=settings.embedding.folder,
        precision=settings.embedding.precision,
        threads=settings.embedding.threads,
        cached_queries=settings.embedding.query_cache,
    )
    reranker = _reranker(settings, models)
    distiller = open_distiller(settings)
    database = Database.from_settings(settings)
    try:
        await database.open()
        async with database.read(settings.tenant) as session:
            await search_index.require_text_search(session, settings.retrieval.text_search)
        version = await embedding_versions.ensure(
            database, settings.tenant, embedder.version, PASSAGE_POLICY_VERSION, clock()
        )
        yield Butler(
            settings=settings,
            database=database,
            embedder=embedder,
            tokens=open_token_counter(settings.briefing.tokenizer, weights.folder),
            clock=clock,
            make_id=make_id or id_maker(),
            embedding_version=version,
            opened_at=clock(),
            reranker=reranker,
            distiller=distiller,
        )
    finally:
        await embedder.close()
        if reranker:
            await reranker.close()
        if distiller:
            await distiller.close()
        await database.close()


def _reranker(settings: Settings, models: Path) -> Reranker | None:
    rerank = settings.retrieval.rerank
    if rerank.method != "cross_encoder":
        return None
    # Hardly anybody chooses it, and everybody would wait for it to be loaded.
    from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource  # noqa: PLC0415

    chosen = rerank.cross_encoder
    return CrossEncoder(CrossEncoderSource(chosen.folder, chosen.repo), cache=models, threads=chosen.threads)
