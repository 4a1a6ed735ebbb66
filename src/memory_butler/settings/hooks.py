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
