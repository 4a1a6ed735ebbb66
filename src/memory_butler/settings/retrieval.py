"""Settings of search, briefing and embedding."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from memory_butler.settings.values import DeprecatedGroup, Group, Name, Share, SqlName


class ScoreWeights(DeprecatedGroup):
    """Weights of the terms of a result's score. They add up to 1."""

    path: ClassVar = "retrieval.weights"
    deprecated: ClassVar = {"relevance": "fit"}

    fit: Share = Field(0.4, description="Weight of fit: a memory's relevance divided by that of the best candidate.")
    importance: Share = Field(0.3, description="Weight of importance.")
    recency: Share = Field(0.2, description="Weight of recency.")
    confidence: Share = Field(0.1, description="Weight of effective confidence.")

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        total = self.fit + self.importance + self.recency + self.confidence
        if abs(total - 1) > 1e-9:
            raise ValueError(f"score weights add up to {total:g}, not 1")
        return self


class CrossEncoderSettings(Group):
    """The cross-encoder of `retrieval.rerank.method = "cross_encoder"` and of a deep search."""

    folder: Path | None = Field(
        None, description="Folder with model.onnx (or onnx/model.onnx) and tokenizer.json of a sequence classifier."
    )
    repo: str | None = Field(
        None,
        pattern=r"^[\w-][\w.-]*/[\w-][\w.-]*(@[\w-][\w./-]*)?$",
        description="Without a folder: Hugging Face repository with these files, `owner/name[@revision]`.",
    )
    threads: int = Field(2, ge=1, le=64, description="Threads for one run of the model.")


class Rerank(Group):
    """Reranking of the candidates."""

    method: Literal["judge", "cross_encoder", "off"] = Field(
        "judge",
        description="`judge`: relevance model over all signals. `cross_encoder`: a model. `off`: keep the fused order.",
    )
    candidates: int = Field(30, ge=1, le=200, description="Maximum number of candidates for the cross-encoder.")
    milliseconds: float = Field(
        1000,
        gt=0,
        le=10_000,
        description="Time limit in milliseconds. After it the results stay in the fused order and say so.",
    )
    cross_encoder: CrossEncoderSettings = CrossEncoderSettings()

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.method == "cross_encoder" and not (self.cross_encoder.folder or self.cross_encoder.repo):
            raise ValueError("method cross_encoder needs cross_encoder.folder or cross_encoder.repo")
        return self


class DeepLook(Group):
    """A deep search or briefing (`deep`): a cross-encoder looks at the best candidates again."""

    candidates: int = Field(30, ge=1, le=200, description="Maximum number of candidates for the cross-encoder.")
    milliseconds: float = Field(
        3000,
        gt=0,
        le=30_000,
        description="Time limit in milliseconds, with loading the model. After it the results stay in the usual order "
        "and say so; loading goes on.",
    )


class Retrieval(Group):
    """Search."""

    text_search: SqlName = Field(
        "english", description="PostgreSQL text search configuration. `simple` suits languages without one."
    )
    weights: ScoreWeights = ScoreWeights()
    semantic_weight: float = Field(0.7, ge=0, description="Weight of the semantic list in the rank fusion.")
    keyword_weight: float = Field(1.0, ge=0, description="Weight of the keyword list in the rank fusion.")
    candidates: int = Field(100, ge=10, le=1000, description="Maximum length of each of the two candidate lists.")
    bm25_k1: float = Field(0.9, ge=0, le=10, description="BM25 parameter k1: term frequency saturation.")
    bm25_b: Share = Field(0.4, description="BM25 parameter b: length normalization.")
    scan_limit: int = Field(
        30_000,
        ge=1000,
        le=10_000_000,
        description="Maximum number of index entries that a search by words reads, the rarest words first; the others"
        " are looked up for the best memories only. Also the number of facts, the newest, that a briefing compares with"
        " the kind of work. Only tenants with more than about as many memories notice it.",
    )
    recency_half_life_days: float = Field(30, gt=0, description="Half-life of recency in days.")
    limit: int = Field(10, ge=1, le=100, description="Default number of results.")
    min_confidence: Share | None = Field(
        None,
        description="Minimum effective confidence of a result. Unset: `lifecycle.decay.fading_below`.",
    )
    min_relevance: Share = Field(
        0.01, description="Minimum relevance of a result: the probability that it answers the question."
    )
    min_share: Share = Field(
        0.1,
        description="Minimum relevance of a result as a share of the best one's. Applies if a request sets no minimum.",
    )
    rerank: Rerank = Rerank()
    deep: DeepLook = DeepLook()


class Quotas(Group):
    """Shares of the sections of a briefing while lines of equal claim compete for the budget; at most 1 together."""

    facts: Share = Field(0.5, description="Share of facts.")
    rules: Share = Field(0.3, description="Share of rules and warnings.")
    episodes: Share = Field(0.2, description="Share of episodes.")

    @model_validator(mode="after")
    def _check_sum(self) -> Self:
        total = self.facts + self.rules + self.episodes
        if total > 1 + 1e-9:
            raise ValueError(f"section quotas add up to {total:g}, more than 1")
        return self


class DomainSettings(Group):
    """A kind of work, added or extended."""

    tasks: tuple[str, ...] = Field((), description="Typical requests.")
    memories: tuple[str, ...] = Field((), description="Typical rules and facts that matter for it.")
    words: tuple[str, ...] = Field((), description="Words that speak for it.")
    verbs: tuple[str, ...] = Field((), description="Verbs that speak for it at the beginning of a request.")
    tags: tuple[str, ...] = Field((), description="Tags of memories that speak for it.")


class BriefingSettings(DeprecatedGroup):
    """Briefing."""

    path: ClassVar = "briefing"
    deprecated: ClassVar = {"important_from": "vital_from"}

    token_budget: int = Field(3000, ge=0, le=200_000, description="Default token budget of a briefing.")
    quotas: Quotas = Quotas()
    vital_from: int = Field(
        8, ge=1, le=11, description="Importance from which a fact that the task touches is vital. 11: none."
    )
    min_usefulness: Share = Field(
        0.25, description="Minimum usefulness of a line: the probability that the task needs it."
    )
    min_relevance: Share = Field(
        0.05, description="A memory of at least this relevance to the words of the task is included in any case."
    )
    standing: bool = Field(True, description="Include rules and preferences for the kind of work of the task.")
    related: bool = Field(True, description="Include facts that share a project, person or thing with relevant ones.")
    episodes: bool = Field(True, description="Include episodes.")
    domains: dict[Name, DomainSettings] = Field(
        default_factory=dict, description="[Kinds of work](#kinds-of-work) to add or extend, by name."
    )
    tokenizer: str = Field(
        "wordpiece",
        description="Tokenizer for the budget: `wordpiece`, a path to a tokenizer.json, or `tiktoken:<encoding>`.",
    )


class EarlierModel(Group):
    """A model that memories were embedded with before, in a folder or by name."""

    model: str = Field(min_length=1, description="The model as `embedding.model` had it.")
    pooling: Literal["mean", "cls"] | None = Field(None, description="As `embedding.pooling` was.")
    query_prefix: str | None = Field(None, description="As `embedding.query_prefix` was.")
    passage_prefix: str | None = Field(None, description="As `embedding.passage_prefix` was.")


class Embedding(Group):
    """The embedding model. A change of the model makes the worker embed all memories again. Until then, searches use
    the earlier model for the rest."""

    model: str | None = Field(
        None,
        min_length=1,
        description="Another model: a name from `memory-butler models list`, or a folder with model.onnx and"
        " tokenizer.json. Unset: all-MiniLM-L6-v2.",
    )
    pooling: Literal["mean", "cls"] | None = Field(
        None, description="Pooling of `model`: the mean of the tokens or the first. Unset: as known, else `mean`."
    )
    query_prefix: str | None = Field(None, description="Text before each question. Unset: as known of `model`.")
    passage_prefix: str | None = Field(None, description="Text before each passage. Unset: as known of `model`.")
    folder: Path | None = Field(
        None,
        description="Folder with model.safetensors and tokenizer.json of the default model. Used before any other"
        " source.",
    )
    precision: Literal["int8", "float32"] = Field(
        "int8", description="Precision of the default model. A change makes the worker embed all memories again."
    )
    threads: int = Field(2, ge=1, le=64, description="Number of threads. Each embeds one text at a time.")
    query_cache: int = Field(1024, ge=0, le=1_000_000, description="Number of query vectors in the cache.")
    earlier: tuple[EarlierModel, ...] = Field(
        (),
        description="Earlier models that this machine has never used itself, for memories with vectors of theirs. The"
        " default model, fetched models, and folders that were used from this home folder are found without it.",
    )
