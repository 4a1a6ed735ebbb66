"""The open resources that operations work with: database, models, clock."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from memory_butler.ai.distillers import Distiller, open_distiller
from memory_butler.ai.domains import DomainModel, load_domains
from memory_butler.ai.download import HUB_URL
from memory_butler.ai.earlier_models import EarlierModels
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.ai.reranking import LazyReranker, Reranker
from memory_butler.ai.tokens import TokenCounter, open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.errors import InvalidInput
from memory_butler.metrics.call_log import WaitingCalls
from memory_butler.metrics.retrieval import BriefedMemories
from memory_butler.models import Caller, Principal, Role
from memory_butler.models.calls import LoggedCall
from memory_butler.policy.access.roles import check_role, require_admin
from memory_butler.policy.retrieval.name_predictor import NamePredictor
from memory_butler.policy.retrieval.passages import PASSAGE_POLICY_VERSION
from memory_butler.policy.trust.redaction import GROUPS, KINDS, unknown_kinds
from memory_butler.settings import RedactionSettings, Settings, load_settings
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.ids import MakeId, id_maker
from memory_butler.store.retrieval import embedding_versions, search_index
from memory_butler.store.retrieval.embedding_versions import KnownVersions

Clock = Callable[[], datetime]
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Everything that stays open while Memory Butler runs."""

    settings: Settings
    database: Database
    embedder: Embedder
    domains: DomainModel
    tokens: TokenCounter
    clock: Clock
    make_id: MakeId
    embedding_version: int
    opened_at: datetime
    earlier_models: EarlierModels
    known_versions: KnownVersions = field(default_factory=KnownVersions)
    reranker: Reranker | None = None
    deep_look: Reranker | None = None
    distiller: Distiller | None = None
    name_predictor: NamePredictor = field(default_factory=NamePredictor)
    briefed: BriefedMemories = field(default_factory=BriefedMemories)
    # Calls that are not in the call log yet, each with its tenant.
    waiting_calls: WaitingCalls[tuple[str, LoggedCall]] = field(default_factory=WaitingCalls)

    def local_caller(self) -> Caller:
        """Return the local user, who is the administrator of the local store."""
        return Caller(Principal(self.settings.tenant, self.settings.butler, Role.ADMIN))

    def allowed(self, caller: Caller | None, operation: str) -> Caller:
        """The caller, by default the local user, if its role may use this operation of the role table."""
        caller = caller or self.local_caller()
        check_role(caller.principal, operation)
        return caller

    def admin(self, caller: Caller | None, action: str, recovery: str = "Ask an administrator.") -> Caller:
        """The caller, by default the local user, if it is an administrator."""
        caller = caller or self.local_caller()
        require_admin(caller.principal, action, recovery)
        return caller

    def local_operator(self) -> Caller:
        """Return the user of the command line, who is the operator of all tenants."""
        return Caller(Principal(self.settings.tenant, self.settings.butler, Role.OPERATOR))


def on_replica(
    operation: Callable[Concatenate[Resources, Arguments], Awaitable[Answer]],
) -> Callable[Concatenate[Resources, Arguments], Coroutine[Any, Any, Answer]]:
    """Declare a read operation that a replica may serve. If the replica fails, the operation runs again."""

    @wraps(operation)
    async def served(resources: Resources, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        plane = resources.database.read_plane
        work = partial(operation, resources, *args, **kwargs)
        return await (plane.serve(work) if plane else work())

    return served


def system_clock() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_resources(
    settings: Settings | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock = system_clock,
    make_id: MakeId | None = None,
    **options: Any,
) -> AsyncIterator[Resources]:
    """Open the store and start the embedded database if needed. Settings can be passed by name: `home=…`.

    An embedder that the caller passes stays open: the caller closes it.
    """
    settings = settings or load_settings(**options)
    for warning in settings.warnings:
        log.warning(warning)
    check_redaction_kinds(settings)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    models = settings.home / "models"
    models.mkdir(mode=0o700, exist_ok=True)
    chosen = settings.embedding
    weights = await asyncio.to_thread(resolve_weights, chosen.folder, models, precision=chosen.precision)
    own_embedder = embedder is None
    if embedder is None:
        embedder = await asyncio.to_thread(open_embedder, settings, models)
    reranker = _reranker(settings, models)
    deep_look = reranker or LazyReranker(lambda: _cross_encoder(settings, models))
    distiller = open_distiller(settings)
    earlier_models = EarlierModels(embedder, partial(_open_earlier, settings, models))
    domains = DomainModel(embedder, load_domains(settings.briefing.domains), models)
    database = Database.from_settings(settings)
    try:
        await database.open()
        async with database.read(settings.tenant) as transaction:
            await search_index.require_text_search(transaction, settings.retrieval.text_search)
        version = await embedding_versions.ensure(
            database, settings.tenant, embedder.version, PASSAGE_POLICY_VERSION, clock()
        )
        resources = Resources(
            settings=settings,
            database=database,
            embedder=embedder,
            domains=domains,
            tokens=open_token_counter(settings.briefing.tokenizer, weights.folder),
            clock=clock,
            make_id=make_id or id_maker(),
            embedding_version=version,
            opened_at=clock(),
            earlier_models=earlier_models,
            reranker=reranker,
            deep_look=deep_look,
            distiller=distiller,
        )
        try:
            yield resources
        finally:
            await resources.waiting_calls.close()
    finally:
        await domains.close()
        await earlier_models.close()
        if own_embedder:
            await embedder.close()
        await deep_look.close()
        if distiller:
            await distiller.close()
        await database.close()


def check_redaction_kinds(settings: Settings) -> None:
    """Refuse a misspelled kind in the settings: a secret that should be refused would only be redacted."""
    places = {"redaction": (settings.redaction, settings.redaction)}
    for group, single in (("tenants", settings.tenants), ("butlers", settings.butlers)):
        for name, own in single.items():
            given = RedactionSettings.model_validate(own.redaction)
            places[f"{group}.{name}.redaction"] = given, settings.redaction.changed(own.redaction)
    # An own kind of a tenant may be used by a butler.
    patterns = {name for _, joined in places.values() for name in joined.patterns}
    for place, (given, _) in places.items():
        for kind in unknown_kinds(given.actions, patterns):
            near = "".join(f"Did you mean {one}? " for one in get_close_matches(kind, [*KINDS, *GROUPS, *patterns], 1))
            raise InvalidInput(
                f"The setting {place}.actions names {kind!r}, which is no kind of secret.",
                recovery=f"{near}docs/guides/redaction.md lists the kinds and groups.",
            )


def open_embedder(settings: Settings, models: Path, *, hub_url: str | None = HUB_URL) -> Embedder:
    """The configured embedding model; it loads with the first text."""
    if settings.embedding.model is not None:
        # Imported here: it is off by default, and importing it would slow down every start.
        from memory_butler.ai.optional_models.folder_embedder import open_folder_embedder  # noqa: PLC0415

        return open_folder_embedder(settings.embedding, models)
    return OnnxEmbedder(
        cache=models,
        weights_folder=settings.embedding.folder,
        hub_url=hub_url,
        precision=settings.embedding.precision,
        threads=settings.embedding.threads,
        cached_queries=settings.embedding.query_cache,
    )


def _open_earlier(settings: Settings, models: Path, name: str, digest: str) -> Embedder | None:
    # Imported here: a search needs it only after a change of the model.
    from memory_butler.ai.optional_models.earlier import open_earlier_model  # noqa: PLC0415

    return open_earlier_model(settings.embedding, models, name, digest)


def _reranker(settings: Settings, models: Path) -> Reranker | None:
    return _cross_encoder(settings, models) if settings.retrieval.rerank.method == "cross_encoder" else None


def _cross_encoder(settings: Settings, models: Path) -> Reranker:
    """The configured cross-encoder, or the one that `models get` fetches."""
    # Imported here: it is off by default, and importing it would slow down every start.
    from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource  # noqa: PLC0415
    from memory_butler.ai.optional_models.catalog import DEEP_LOOK_MODEL  # noqa: PLC0415

    model = settings.retrieval.rerank.cross_encoder
    source = CrossEncoderSource(model.folder, model.repo, name=DEEP_LOOK_MODEL)
    return CrossEncoder(source, cache=models, threads=model.threads)
