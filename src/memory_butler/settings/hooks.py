"""Settings of the Claude Code hooks, applied by the server that they call."""

from pydantic import Field

from memory_butler.settings.values import Group


class HookSettings(Group):
    """Token budgets of the briefings for Claude Code. 0: no briefing."""

    session_start_tokens: int = Field(
        1500, ge=0, le=200_000, description="Token budget of the briefing for the project when a session starts."
    )
    first_prompt_tokens: int = Field(
        1000, ge=0, le=200_000, description="Token budget of the briefing for the first prompt of a session."
    )
    pre_compact_tokens: int = Field(
        1500, ge=0, le=200_000, description="Token budget of the briefing before compaction."
    )
    start_server: bool = Field(
        True,
        description="Start a program that answers the hooks where no server runs. It uses the Unix socket of the home "
        "folder only.",
    )
    idle_minutes: float = Field(10, ge=0.1, le=1440, description="Minutes without a hook after which it ends.")
