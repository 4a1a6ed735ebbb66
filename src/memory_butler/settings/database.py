"""Settings of the database beside its URL: a direct connection, and the replicas of the read plane."""

from pydantic import Field, SecretStr

from memory_butler.settings.values import Group


class DatabaseSettings(Group):
    """Streaming replicas that serve reads, and a connection past a pooler. Writes, and reads that lead to a write,
    always go to `database_url`."""

    idle_stop_minutes: float = Field(
        15,
        ge=0,
        le=10_080,
        description="The embedded database stops after this many minutes without a connected program; the next call"
        " starts it again. 0 keeps it running.",
    )
    direct_url: SecretStr | None = Field(
        None,
        description="Connection to the primary past a connection pooler, for LISTEN, migrations and locks, if"
        " `database_url` leads through one. Unset: `database_url`.",
    )
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
