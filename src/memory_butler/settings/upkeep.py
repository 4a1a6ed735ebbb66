"""What runs by itself, how often, and who distils."""

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from memory_butler.settings.values import Group


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
