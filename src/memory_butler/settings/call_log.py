"""Settings of the call log."""

from pydantic import Field

from memory_butler.settings.values import Days, Group


class CallLogSettings(Group):
    """Log of the briefings and searches of agents, with their prompts. No answer depends on it."""

    enabled: bool | None = Field(
        None, description="Log the calls of agents. Unset: yes in a local store, no with a `database_url`."
    )
    days: Days = Field(30, description="Days for which a call is kept.")
    max_calls: int = Field(20_000, ge=1, le=10_000_000, description="Maximum number of calls per tenant.")
