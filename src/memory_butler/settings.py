"""One settings object, read once: defaults, then `config.toml` in the home folder, then the environment."""

import os
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memory_butler.errors import InvalidInput

ENV_PREFIX = "MEMORY_BUTLER_"
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
SqlName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Share = Annotated[float, Field(ge=0, le=1)]
LONGEST_DAYS = 36_500
Days = Annotated[float, Field(gt=0, le=LONGEST_DAYS)]
Times = Annotated[int, Field(ge=1, le=1_000_000)]
Capacity = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScoreWeights(Group):
    """How much each part counts in the score of a result. They add up to 1."""

    relevance: Share = Field(0.4, description="Share of relevance in the score.")
    importance: Share = Field(0.3, description="Share of importance in the score.")
    recency: Share = Field(0.2, description="Share of recency in the score.")
    confidence: Share = Field(0.1, description="Share of effective confidence in the score.")

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        total = self.relevance + self.importance + self.recency + self.confidence
        if abs(total - 1) > 1e-9:
            raise ValueError(f"score weights add up to {total:g}, not 1")
        return self


class CrossEncoderSettings(Group):
    """A cross-encoder, used if `retrieval.rerank.method` is `cross_encoder`."""

    folder: Path | None = Field(
        None, description="Folder with config.json, model.safetensors and tokenizer.json of a sequence classifier."
    )
    repo: str | None = Field(
        None,
        pattern=r"^[\w-][\w.-]*/[\w-][\w.-]*(@[\w-][\w./-]*)?$",
        description="If there is no folder: repository on the Hugging Face hub, `owner/name[@revision]`.",
    )
    threads: int = Field(2, ge=1, le=64, description="Threads used by one run of it.")


class Rerank(Group):
    """The second look at the candidates."""

    method: Literal["judge", "cross_encoder", "off"] = Field(
        "judge", description="`judge` weighs all signals, `cross_encoder` asks a model, `off` keeps the fused order."
    )
    candidates: int = Field(30, ge=1, le=200, description="Most candidates that a cross-encoder looks at.")
    milliseconds: float = Field(
        1000, gt=0, le=10_000, description="Longest it may take; then the answer is in the fused order and says so."
    )
    cross_encoder: CrossEncoderSettings = CrossEncoderSettings()

    @model_validator(mode="after")
    def _have_a_model(self) -> Self:
        if self.method == "cross_encoder" and not (self.cross_encoder.folder or self.cross_encoder.repo):
            raise ValueError("method cross_encoder needs cross_encoder.folder or cross_encoder.repo")
        return self


class Retrieval(Group):
    """How memories are found."""

    text_search: SqlName = Field(
        "english", description="PostgreSQL text search configuration; `simple` for languages that have none."
    )
    weights: ScoreWeights = ScoreWeights()
    semantic_weight: float = Field(0.7, ge=0, description="Vote of the semantic list in the rank fusion.")
    keyword_weight: float = Field(1.0, ge=0, description="Vote of the keyword list in the rank fusion.")
    candidates: int = Field(100, ge=10, le=1000, description="Length of each of the two candidate lists.")
    bm25_k1: float = Field(0.9, ge=0, le=10, description="BM25: how soon repeating a word stops to count.")
    bm25_b: Share = Field(0.4, description="BM25: how much long texts are marked down.")
    recency_half_life_days: float = Field(30, gt=0, description="Days after which recency has halved.")
    limit: int = Field(10, ge=1, le=100, description="Results of a search that names no limit.")
    min_confidence: Share = Field(0.2, description="Effective confidence below which a memory is not returned.")
    min_relevance: Share = Field(
        0.01, description="Probability of bearing on the question below which a memory is not returned."
    )
    rerank: Rerank = Rerank()


class Quotas(Group):
    """Shares of the token budget for the sections of a briefing. They add up to at most 1."""

    facts: Share = Field(0.5, description="Share of the budget for facts.")
    rules: Share = Field(0.3, description="Share of the budget for rules and warnings.")
    episodes: Share = Field(0.2, description="Share of the budget for recent episodes.")

    @model_validator(mode="after")
    def _fit(self) -> Self:
        total = self.facts + self.rules + self.episodes
        if total > 1 + 1e-9:
            raise ValueError(f"section quotas add up to {total:g}, more than 1")
        return self


class BriefingSettings(Group):
    """How a briefing is built."""

    token_budget: int = Field(3000, ge=0, le=200_000, description="Tokens of a briefing that names no budget.")
    quotas: Quotas = Quotas()
    tokenizer: str = Field(
        "wordpiece",
        description="What counts tokens: `wordpiece`, a path to a tokenizer.json, or `tiktoken:<encoding>`.",
    )


class Embedding(Group):
    """The embedding model."""

    folder: Path | None = Field(None, description="Folder with model.safetensors and tokenizer.json, looked at first.")
    threads: int = Field(2, ge=1, le=64, description="Threads used by one embedding run.")
    query_cache: int = Field(1024, ge=0, le=1_000_000, description="Query vectors kept in memory.")


class EdenTier(Group):
    """Episodes: what happened, raw and short-lived."""

    ttl_days: Days = Field(7, description="Days an episode is kept.")
    capacity: Capacity = Field(50_000, description="Episodes a butler keeps; the oldest consolidated go first.")
    first_after_sessions: Times = Field(
        3, description="Sessions that must have referred to an episode to put it first in line for consolidation."
    )
    first_after_hours: float = Field(6, ge=0, description="Age that such an episode must have; less than `ttl_days`.")
    protected_from: Times = Field(
        3, description="References from which an episode is kept, past its time, until it is consolidated."
    )

    @model_validator(mode="after")
    def _live_long_enough(self) -> Self:
        if self.first_after_hours >= self.ttl_days * 24:
            raise ValueError(
                f"first_after_hours ({self.first_after_hours:g}) is no less than ttl_days ({self.ttl_days:g} days):"
                " no episode would ever be old enough"
            )
        return self


class MidTier(Group):
    """Facts that are ephemeral, volatile or standard, and rules that have yet to prove themselves."""

    capacity: Capacity = Field(
        100_000, description="Live mid-term memories a butler keeps; the least recently referenced go first."
    )
    stale_after_days: float | None = Field(
        None,
        gt=0,
        le=LONGEST_DAYS,
        description="Days without a reference after which one is evicted; unset: fading alone decides.",
    )
    promote_after_references: Times = Field(10, description="References that promote a fact one permanence.")
    promote_after_days: float = Field(
        7, ge=0, le=LONGEST_DAYS, description="Days over which those references must be spread."
    )

    @model_validator(mode="after")
    def _promote_before_stale(self) -> Self:
        if self.stale_after_days is not None and self.promote_after_days > self.stale_after_days:
            raise ValueError(
                f"promote_after_days ({self.promote_after_days:g}) is more than stale_after_days"
                f" ({self.stale_after_days:g}): what is used steadily could be evicted before it is promoted"
            )
        return self


class LongTier(Group):
    """Facts that are stable or permanent, and rules that are established or proven."""

    capacity: Capacity = Field(
        100_000, description="Live long-term memories a butler keeps; the least recently referenced go first."
    )
    stale_after_days: float | None = Field(
        None,
        gt=0,
        le=LONGEST_DAYS,
        description="Days without a reference after which one is evicted; unset: fading alone decides.",
    )


# What a preset sets. `generous` is the defaults; `generational` is small tiers with quick turnover.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "generous": {},
    "generational": {
        "eden": {"ttl_days": 1, "capacity": 1000, "first_after_sessions": 3, "first_after_hours": 6},
        "mid": {"capacity": 500, "stale_after_days": 30, "promote_after_references": 10, "promote_after_days": 7},
        "long": {"capacity": 200, "stale_after_days": 365},
    },
}


class Lifecycle(Group):
    """How memories move from one generation to the next, and out."""

    preset: Literal["generous", "generational"] = Field(
        "generous",
        description="Where the numbers below start from; `generational` has small tiers and quick turnover.",
    )
    eden: EdenTier = EdenTier()
    mid: MidTier = MidTier()
    long: LongTier = LongTier()

    @model_validator(mode="wrap")
    @classmethod
    def _start_from_preset(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return build(given)
        given = {name: _chosen(value) for name, value in given.items()}
        preset = PRESETS.get(str(given.get("preset")), {})
        built = build(_merged(preset, given))
        # A preset's number is a default and no choice: only what was chosen is carried over to another preset.
        for name in preset:
            chosen = given.get(name, {})
            if isinstance(chosen, dict):
                getattr(built, name).model_fields_set.intersection_update(chosen)
        return built

    @model_validator(mode="after")
    def _last_longer_higher_up(self) -> Self:
        mid, long = self.mid.stale_after_days, self.long.stale_after_days
        if mid is not None and long is not None and long < mid:
            raise ValueError(
                f"long.stale_after_days ({long:g}) is less than mid.stale_after_days ({mid:g}):"
                " moving up would make a memory leave sooner"
            )
        return self

    def changed(self, by: dict[str, Any]) -> "Lifecycle":
        """The same with some numbers replaced."""
        return Lifecycle.model_validate(_merged(_chosen(self), by))


class IvfflatSettings(Group):
    """An IVFFlat index: quick to build, good up to some hundred thousand passages."""

    lists: int | None = Field(
        None, ge=1, le=32_768, description="Lists it is built with; unset: the square root of its rows."
    )
    probes: int | None = Field(
        None,
        ge=1,
        le=32_768,
        description="Lists a search looks into first; unset: three times the square root of the lists.",
    )


class HnswSettings(Group):
    """An HNSW index: slower to build and to write to, quick however many passages there are."""

    m: int = Field(24, ge=4, le=100, description="Links of a passage to others.")
    ef_construction: int = Field(
        128, ge=8, le=1000, description="Passages looked at to find them; at least twice `m`, and better many."
    )
    ef_search: int = Field(200, ge=1, le=1000, description="Passages a search keeps in view on its way.")

    @model_validator(mode="after")
    def _look_at_enough(self) -> Self:
        if self.ef_construction < 2 * self.m:
            raise ValueError(f"ef_construction ({self.ef_construction}) is less than twice m ({self.m})")
        return self


class VectorIndex(Group):
    """When nearness of meaning is looked up in an index instead of looking at everything.

    `memory-butler index migrate` makes it so.
    """

    posture: Literal["auto", "exact", "ivfflat", "hnsw"] = Field(
        "auto", description="`auto` takes IVFFlat and, from `hnsw_from` passages, HNSW; `exact` uses no index at all."
    )
    exact_below: int = Field(
        20_000,
        ge=0,
        le=100_000_000,
        description="Passages of one type that a tenant must have for an index to be worth it.",
    )
    hnsw_from: int = Field(
        200_000, ge=0, le=1_000_000_000, description="Passages from which `auto` takes HNSW instead of IVFFlat."
    )
    scan_share: Share = Field(
        0.05,
        description="Share of an index that a search with filters walks through before it looks at everything instead.",
    )
    build_memory_mb: int = Field(
        512, ge=16, le=1_000_000, description="Memory for building an index; best if all of it fits, 2 kB a passage."
    )
    ivfflat: IvfflatSettings = IvfflatSettings()
    hnsw: HnswSettings = HnswSettings()


class Upkeep(Group):
    """What looks after the store, and how often. That it happens is not a setting."""

    worker: bool = Field(True, description="Whether `serve` and `mcp` run a worker inside themselves.")
    concurrency: int = Field(
        2, ge=1, le=64, description="Shards that one `work` looks after at the same time, as far as pool_size allows."
    )
    consolidation_hours: float = Field(6, ge=0.25, le=168, description="Hours between two consolidations of a shard.")
    sweep_hours: float = Field(24, ge=1, le=168, description="Hours between two sweeps of a shard.")
    cleanup_hours: float = Field(24, ge=1, le=168, description="Hours between two cleanups of a shard.")
    tick_seconds: float = Field(60, ge=0.1, le=3600, description="Seconds between two looks at the timetable.")
    lost_after_seconds: float = Field(
        60, ge=1, le=3600, description="Silence after which a worker is taken for dead; its jobs are picked up."
    )

    @model_validator(mode="after")
    def _look_often_enough(self) -> Self:
        shortest = min(self.cadences().values()).total_seconds()
        if self.tick_seconds > shortest / 2:
            raise ValueError(
                f"tick_seconds ({self.tick_seconds:g}) is more than half of the shortest time between two runs"
                f" ({shortest:g} seconds): jobs would always be late"
            )
        return self

    def cadences(self) -> dict[str, timedelta]:
        """How often each job of the timetable runs for a shard."""
        return {
            "consolidation": timedelta(hours=self.consolidation_hours),
            "sweep": timedelta(hours=self.sweep_hours),
            "cleanup": timedelta(hours=self.cleanup_hours),
        }


class ModelSettings(Group):
    """The language model of the `model` distiller."""

    name: str | None = Field(
        None, description="Model as pydantic-ai names it, such as `openai:gpt-5-mini` or `anthropic:claude-sonnet-4-5`."
    )
    base_url: str | None = Field(
        None, description="OpenAI-compatible address (Ollama, vLLM, llama.cpp …); `name` is then the plain model name."
    )
    api_key: SecretStr | None = Field(None, description="Key for that address; else the provider's own variable.")
    seconds: float = Field(120, gt=0, le=3600, description="An answer that takes longer is given up.")
    retries: int = Field(1, ge=0, le=5, description="How often it is asked again for an answer of the right form.")
    max_output_tokens: int = Field(4096, ge=64, le=200_000, description="Longest answer asked for.")
    dollars_per_million_input: float = Field(0, ge=0, description="Price of what is sent, for the accounts.")
    dollars_per_million_output: float = Field(0, ge=0, description="Price of what is answered, for the accounts.")


class ClaudeCodeSettings(Group):
    """The `claude` command as a distiller."""

    command: str = Field("claude", description="Command to run: a name on the PATH, or a path.")
    model: str | None = Field(None, description="Model to ask it for; its own default if not given.")
    seconds: float = Field(180, gt=0, le=3600, description="A run that takes longer is ended.")


class Consolidation(Group):
    """How episodes become facts and rules."""

    distiller: Literal["auto", "built-in", "model", "claude-code", "agent", "off"] = Field(
        "auto", description="Who distils. `auto`: the model if one is configured, else the built-in distiller."
    )
    scope: Literal["own", "global"] = Field(
        "own",
        description="Whose memories they become: the butler's own, or everybody's. What exists stays where it is.",
    )
    batch: int | None = Field(
        None, ge=1, le=200, description="Most episodes of one run: 64 with the built-in distiller, 32 with any other."
    )
    early_from: int = Field(50, ge=1, le=100_000, description="A backlog of so many does not wait for its turn.")
    early_importance: int = Field(9, ge=1, le=11, description="An episode this important does not wait; 11: none.")
    lease_seconds: float = Field(600, ge=1, le=86_400, description="Silence after which a claimed batch is free again.")
    review: bool = Field(False, description="Whether proposals wait for a person's decision before they are applied.")
    known: int = Field(8, ge=0, le=50, description="What is known already, at most so many for each episode.")
    daily_tokens: int | None = Field(None, ge=1, description="Most tokens a day and tenant; then runs stop.")
    daily_dollars: float | None = Field(None, gt=0, description="Most dollars a day and tenant; then runs stop.")
    model: ModelSettings = ModelSettings()
    claude_code: ClaudeCodeSettings = ClaudeCodeSettings()

    @property
    def built_in(self) -> bool:
        return self.distiller == "built-in" or (self.distiller == "auto" and self.model.name is None)

    @property
    def most(self) -> int:
        """Episodes of one run. Large ones cost less each, but a model has to answer for all of them in one go."""
        return self.batch or (64 if self.built_in else 32)


Signature = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


def is_loopback_host(name: str | None) -> bool:
    """Whether a host's name or address is this machine itself."""
    try:
        return name == "localhost" or ip_address(name or "").is_loopback
    except ValueError:
        return False


class JwtSettings(Group):
    """Tokens of an identity provider (JWT). Without an issuer none are accepted."""

    issuer: str | None = Field(None, description="Who must have issued them, exactly as in their claim `iss`.")
    audience: str | None = Field(None, description="Whom they must be for, as in their claim `aud`.")
    key_set: str | None = Field(None, description="Its public keys (JWKS): an https address, or a file.")
    algorithms: tuple[Signature, ...] = Field(
        ("RS256", "ES256", "EdDSA"), min_length=1, description="Signatures that are accepted; never a shared secret's."
    )
    tenant_claim: str = Field("tenant", description="Claim that names the tenant.")
    butler_claim: str = Field("butler", description="Claim that names the butler.")
    role_claim: str = Field("role", description="Claim that names the role; without it the caller is a reader.")
    name_claim: str = Field("sub", description="Claim that names the person or program.")
    leeway_seconds: float = Field(30, ge=0, le=300, description="How far clocks may differ.")
    key_set_minutes: float = Field(10, gt=0, le=1440, description="How long fetched keys are used before a fresh look.")

    @model_validator(mode="after")
    def _name_all_three(self) -> Self:
        named = {"issuer": self.issuer, "audience": self.audience, "key_set": self.key_set}
        missing = [name for name, value in named.items() if not value]
        if missing and len(missing) < len(named):
            raise ValueError(
                f"{' and '.join(missing)} not set: issuer, audience and key_set are needed together, or a token that"
                " was made for another service would be good here"
            )
        return self

    @model_validator(mode="after")
    def _fetch_keys_safely(self) -> Self:
        scheme, separator, _ = (self.key_set or "").partition("://")
        if (
            separator
            and scheme != "https"
            and not (scheme == "http" and is_loopback_host(urlsplit(self.key_set or "").hostname))
        ):
            raise ValueError("key_set must be an https address, an http address of this machine, or a file")
        return self


class Limits(Group):
    """What one server takes on. What is over is refused at once, and told when to try again."""

    request_bytes: int = Field(4_194_304, ge=1024, description="Longest request.")
    batch_items: int = Field(100, ge=1, le=1000, description="Most items of one batch.")
    concurrency: int = Field(32, ge=1, le=10_000, description="Most calls that are worked on at the same time.")
    waiting: int = Field(64, ge=0, le=100_000, description="Most calls that wait for their turn.")
    calls_a_second: float = Field(
        0, ge=0, description="Most calls a second of one token or person, over ten seconds; 0: no such limit."
    )
    streams: int = Field(200, ge=1, le=100_000, description="Most open activity streams.")


class Service(Group):
    """Serving a team over the network."""

    auth: Literal["off", "required"] = Field(
        "off", description="Whether callers must say who they are. Off, only this machine is served."
    )
    listen_url: SecretStr | None = Field(
        None, description="Direct connection to the database for news of changes, where the other is through a pooler."
    )
    pooler: bool = Field(
        False,
        description="Whether the database is reached through a transaction pooler: nothing is prepared there then.",
    )
    poll_seconds: float = Field(
        2, ge=0.1, le=60, description="How often activity streams look for themselves where they cannot hear of news."
    )
    token_cache_seconds: float = Field(
        15, ge=0, le=300, description="How long a token is remembered; a revoked one may work for so long."
    )
    jwt: JwtSettings = JwtSettings()
    limits: Limits = Limits()


class ButlerSettings(Group):
    """What differs for one butler."""

    review: bool | None = Field(None, description="Whether proposals for this butler wait for a person's decision.")
    lifecycle: dict[str, Any] = Field(
        default_factory=dict, description="Any of the settings under `lifecycle`, for this butler alone."
    )


def _chosen(value: Any) -> Any:
    """A group as what was chosen in it; any other value as it is."""
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries, the second laid over the first."""
    both = dict(base)
    for name, value in over.items():
        mine = both.get(name)
        both[name] = _merged(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return both


class Settings(BaseSettings):
    """All settings of Memory Butler."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
    )

    home: Path = Field(Path("~/.memory-butler"), description="Home folder: database, model cache, config file, logs.")
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL to use instead of the embedded one (15 or later, pgvector 0.8 or later)."
    )
    owner_url: SecretStr | None = Field(
        None, description="Connection that owns the schema, for migrations; the database URL if not given."
    )
    db_schema: SqlName = Field("memory", description="Schema that holds everything.")
    app_role: SqlName = Field(
        "memory_app", description="Role the program works as in a database of yours; owns nothing."
    )
    pool_size: int = Field(10, ge=1, le=200, description="Most database connections of one process.")
    deadline_seconds: float = Field(5, gt=0, le=300, description="A call that takes longer is given up.")
    tenant: Name = Field("default", description="Tenant of the local shape.")
    butler: Name = Field("main", description="Name this process calls itself when a call names no butler.")
    host: str = Field("127.0.0.1", description="Address `serve` listens on.")
    port: int = Field(8150, ge=0, le=65535, description="Port `serve` listens on.")
    idempotency_days: Days = Field(7, description="Days an idempotency key is remembered.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Least severe log line written.")
    log_format: Literal["text", "json"] = Field("text", description="Log lines for people, or one JSON object each.")
    retrieval: Retrieval = Retrieval()
    briefing: BriefingSettings = BriefingSettings()
    embedding: Embedding = Embedding()
    lifecycle: Lifecycle = Lifecycle()
    upkeep: Upkeep = Upkeep()
    vector_index: VectorIndex = VectorIndex()
    consolidation: Consolidation = Consolidation()
    service: Service = Service()
    butlers: dict[Name, ButlerSettings] = Field(
        default_factory=dict, description="What differs for [single butlers](#single-butlers), by name."
    )

    def lifecycle_of(self, butler: str) -> Lifecycle:
        """The lifecycle of one butler's memories: the general one, with what was set for this butler."""
        own = self.butlers.get(butler)
        return self.lifecycle.changed(own.lifecycle) if own else self.lifecycle

    def reviews(self, butler: str) -> bool:
        """Whether what is distilled for a butler waits for a person's decision."""
        own = self.butlers.get(butler)
        return self.consolidation.review if own is None or own.review is None else own.review

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        given = init_settings().get("home") or os.environ.get(f"{ENV_PREFIX}HOME") or "~/.memory-butler"
        config = Path(str(given)).expanduser() / "config.toml"
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=config)

    @model_validator(mode="after")
    def _resolve_home(self) -> Self:
        object.__setattr__(self, "home", self.home.expanduser().absolute())
        return self

    @model_validator(mode="after")
    def _check_butlers(self) -> Self:
        for name in self.butlers:
            try:
                self.lifecycle_of(name)
            except ValidationError as problem:
                first = problem.errors()[0]
                place = ".".join(["butlers", name, "lifecycle", *(str(part) for part in first["loc"])])
                raise ValueError(f"{place}: {_words(first)}") from problem
        return self


def _words(error: Any) -> str:
    return str(error["msg"]).removeprefix("Value error, ")


def load_settings(**given: Any) -> Settings:
    """Read the settings, or say which one is wrong."""
    try:
        return Settings(**given)
    except ValidationError as problem:
        lines = [f"{'.'.join(str(part) for part in e['loc']) or 'settings'}: {_words(e)}" for e in problem.errors()]
        raise InvalidInput(
            "The settings are not valid. " + "; ".join(lines),
            recovery="Correct config.toml in the home folder or the MEMORY_BUTLER_… variable; see docs/settings.md.",
        ) from problem
    except ValueError as problem:  # a config file that is not TOML
        raise InvalidInput(f"config.toml cannot be read: {problem}") from problem
