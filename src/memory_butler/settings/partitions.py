"""Settings of partitions."""

from pydantic import Field

from memory_butler.settings.values import Group


class PartitionSettings(Group):
    """Monthly partitions of the event log and of episodes, for stores that have grown."""

    auto: bool = Field(
        True, description="Move a table into partitions by itself once it has `from_rows` rows. Else only by command."
    )
    from_rows: int = Field(
        20_000_000,
        ge=1,
        description="Number of rows of the log, or of episodes, over all tenants, from which it moves.",
    )
    ahead_months: int = Field(3, ge=1, le=60, description="Number of months for which partitions are made ahead.")
    buckets: int = Field(
        1,
        ge=1,
        le=256,
        description="Parts of a month by a hash of the tenant. 1: a month is one table. For stores whose months are too"
        " large for one.",
    )
    page: int = Field(2_000, ge=1, le=100_000, description="Number of rows that a move copies in one transaction.")
