"""Settings of the read plane: replicas of the database that serve reads."""

from pydantic import Field, SecretStr

from memory_butler.settings.values import Group


class DatabaseSettings(Group):
    """Streaming replicas that serve reads. Writes, and reads that lead to a write, always go to `database_url`."""

    replicas: tuple[SecretStr, ...] = Field(
        (),
        max_length=16,
        description="Connection URLs of streaming replicas that serve reads. A replica that is down, that is behind or"
        " that belongs to another cluster is left out; the primary serves when all are.",
    )
    max_replica_lag_seconds: float = Field(
        5, ge=1, le=3600, description="A replica that is further behind the primary than this is left out."
    )
    replica_wait_seconds: float = Field(
        0.1,
        ge=0,
        le=5,
        description="How long a read waits until a replica has the caller's last write; then the primary serves it.",
    )
