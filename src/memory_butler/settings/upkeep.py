"""Settings of background jobs and consolidation."""

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.values import LONGEST_DAYS, Group


class Upkeep(Group):
    """Background jobs and their intervals. The jobs themselves cannot be turned off."""

    worker: bool = Field(True, description="Run a worker inside `serve` and `mcp`.")
    concurrency: int = Field(
        2,
        ge=1,
        le=64,
        description="Maximum number of shards per `work` process with a running job, limited by `pool_size`.",
    )
    consolidation_hours: float = Field(
        6, ge=0.25, le=168, description="Hours between two consolidation jobs of a shard."
    )
    sweep_hours: float = Field(24, ge=1, le=168, description="Hours between two sweeps of a shard.")
    longest_gap_days: float = Field(
        400,
        ge=1,
        le=LONGEST_DAYS,
        description="Days without an event after which episodes are deleted only after a day of use: the clock may be "
        "wrong.",
    )
    references_days: float = Field(
        365,
        ge=30,
        le=LONGEST_DAYS,
        description="Days for which the record of single reads is kept. Their counts stay with the memories.",
    )
    cleanup_hours: float = Field(24, ge=1, le=168, description="Hours between two cleanups of a shard.")
    tick_seconds: float = Field(60, ge=0.1, le=3600, description="Seconds between two checks of the schedule.")
    lost_after_seconds: float = Field(
        60,
        ge=1,
        le=3600,
        description="Seconds without a heartbeat after which a worker counts as dead and its jobs are reclaimed.",
    )

    @model_validator(mode="after")
    def _check_tick(self) -> Self:
        shortest = min(self.intervals().values()).total_seconds()
        if self.tick_seconds > shortest / 2:
            raise ValueError(
                f"tick_seconds ({self.tick_seconds:g}) is more than half of the shortest interval"
                f" ({shortest:g} seconds): jobs would always be late"
            )
        return self

    def intervals(self) -> dict[str, timedelta]:
        """The interval of each scheduled job."""
        return {
            "consolidation": timedelta(hours=self.consolidation_hours),
            "sweep": timedelta(hours=self.sweep_hours),
            "cleanup": timedelta(hours=self.cleanup_hours),
        }


class ModelSettings(Group):
    """The language model of the `model` distiller."""

    name: str | None = Field(
        None, description="Model name as in pydantic-ai, such as `openai:gpt-5-mini` or `anthropic:claude-sonnet-4-5`."
    )
    base_url: str | None = Field(
        None, description="OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp …). `name` is then the plain model name."
    )
    api_key: SecretStr | None = Field(
        None, description="API key for that endpoint. Unset: the provider's own environment variable."
    )
    seconds: float = Field(120, gt=0, le=3600, description="Timeout of a request in seconds.")
    retries: int = Field(1, ge=0, le=5, description="Number of retries after an invalid answer.")
    max_output_tokens: int = Field(4096, ge=64, le=200_000, description="Maximum number of output tokens.")
    dollars_per_million_input: float = Field(
        0, ge=0, description="Price per million input tokens in dollars, for cost accounting."
    )
    dollars_per_million_output: float = Field(
        0, ge=0, description="Price per million output tokens in dollars, for cost accounting."
    )


class ClaudeCodeSettings(Group):
    """The `claude` command as a distiller."""

    command: str = Field("claude", description="Command: a name on the PATH, or a path.")
    model: str | None = Field(None, description="Model. Unset: the command's default.")
    seconds: float = Field(180, gt=0, le=3600, description="Timeout of a run in seconds.")


class NoteSettings(Group):
    """Notes: sentences kept in the person's own words where no fact or rule says them."""

    enabled: bool = Field(True, description="Keep sentences worth keeping as notes if no fact or rule says them.")
    hand_from: float = Field(
        0.45, ge=0, le=1, description="Minimum salience of a note from an episode that a person stored by hand."
    )
    session_from: float = Field(
        0.78, ge=0, le=1, description="Minimum salience of a note from an episode that an agent stored."
    )
    chat_from: float = Field(0.65, ge=0, le=1, description="Minimum salience of a note from a conversation.")
    sure_from: float = Field(
        0.7,
        ge=0,
        le=1,
        description="Salience from which a note has standard permanence. Below, it is volatile and only searches "
        "find it until it is used, restated or confirmed.",
    )
    chat_most: int = Field(6, ge=0, le=100, description="Maximum number of notes per conversation.")


class Consolidation(Group):
    """Consolidation of episodes into facts and rules."""

    distiller: Literal["auto", "built-in", "model", "claude-code", "agent", "off"] = Field(
        "auto", description="Distiller. `auto`: the model if one is configured, else the built-in distiller."
    )
    scope: Literal["auto", "by-subject", "own", "global"] = Field(
        "auto",
        description="Scope of new memories: the butler's own, or global. `by-subject`: facts about the user and about "
        "people are global, rules and facts about other things are the butler's own. `auto`: by subject in a local "
        "store, own with a `database_url`. Existing memories keep their scope.",
    )
    batch: int | None = Field(
        None,
        ge=1,
        le=200,
        description="Maximum number of episodes per batch. Unset: 64 with the built-in distiller, 32 with any other.",
    )
    early_from: int = Field(50, ge=1, le=100_000, description="Backlog size that starts a consolidation early.")
    early_importance: int = Field(
        9, ge=1, le=11, description="Importance of an episode that starts a consolidation early. 11: none."
    )
    early_hours: float = Field(
        4,
        ge=0.25,
        le=168,
        description="Hours after which the oldest waiting episode starts a consolidation early, so that backlogs stay "
        "younger than `upkeep.consolidation_hours`. At least as many: never.",
    )
    lease_seconds: float = Field(
        600, ge=1, le=86_400, description="Seconds without a heartbeat after which the claim on a batch expires."
    )
    extraction_seconds: float = Field(
        10,
        ge=0.5,
        le=600,
        description="Seconds the built-in distiller may take for one episode; one that exceeds it fails alone.",
    )
    review: bool = Field(False, description="Proposals wait for an admin's decision before they are applied.")
    known: int = Field(
        8, ge=0, le=50, description="Maximum number of existing memories shown to the distiller per episode."
    )
    daily_tokens: int | None = Field(
        None, ge=1, description="Maximum number of tokens per day and tenant. Unset: unlimited."
    )
    daily_dollars: float | None = Field(
        None, gt=0, description="Maximum cost in dollars per day and tenant. Unset: unlimited."
    )
    notes: NoteSettings = NoteSettings()
    model: ModelSettings = ModelSettings()
    claude_code: ClaudeCodeSettings = ClaudeCodeSettings()

    @property
    def built_in(self) -> bool:
        return self.distiller == "built-in" or (self.distiller == "auto" and self.model.name is None)

    @property
    def most(self) -> int:
        """Episodes per batch. A large batch costs less per episode, but a model must answer for all of them at once."""
        return self.batch or (64 if self.built_in else 32)
