"""How memories are found and put into a briefing."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from memory_butler.settings.values import Group, Share, SqlName


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
    important_from: int = Field(
        8,
        ge=1,
        le=11,
        description="Importance from which the user's own facts are in each briefing whose prompt says I or my,"
        " whatever it asks for; 11: never.",
    )
    tokenizer: str = Field(
        "wordpiece",
        description="What counts tokens: `wordpiece`, a path to a tokenizer.json, or `tiktoken:<encoding>`.",
    )


class Embedding(Group):
    """The embedding model."""

    folder: Path | None = Field(None, description="Folder with model.safetensors and tokenizer.json, looked at first.")
    precision: Literal["int8", "float32"] = Field(
        "int8", description="Numbers the model computes with. After a change all memories are embedded again."
    )
    threads: int = Field(2, ge=1, le=64, description="Texts embedded at the same time, each by one thread.")
    query_cache: int = Field(1024, ge=0, le=1_000_000, description="Query vectors kept in memory.")
