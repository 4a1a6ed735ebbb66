"""Vector index settings."""

from typing import Literal, Self

from pydantic import Field, model_validator

from memory_butler.settings.values import Group, Share


class IvfflatSettings(Group):
    """IVFFlat index: quick to build, suited for up to some hundred thousand passages."""

    lists: int | None = Field(
        None, ge=1, le=32_768, description="Number of lists. Unset: the square root of the number of rows."
    )
    probes: int | None = Field(
        None,
        ge=1,
        le=32_768,
        description="Number of lists that a search probes first. Unset: three times the square root of `lists`.",
    )


class HnswSettings(Group):
    """HNSW index: slower to build and to write to, fast for any number of passages."""

    m: int = Field(24, ge=4, le=100, description="Maximum number of links per passage.")
    ef_construction: int = Field(
        128,
        ge=8,
        le=1000,
        description="Size of the candidate list while building; at least twice `m`. More gives better recall.",
    )
    ef_search: int = Field(200, ge=1, le=1000, description="Size of the candidate list of a search.")

    @model_validator(mode="after")
    def _check_candidate_list(self) -> Self:
        if self.ef_construction < 2 * self.m:
            raise ValueError(f"ef_construction ({self.ef_construction}) is less than twice m ({self.m})")
        return self


class VectorIndex(Group):
    """Choice between exact vector search and an approximate index.

    The daily cleanup job builds the index of a tenant that has grown; `memory-butler index migrate` applies a change at
    once.
    """

    posture: Literal["auto", "exact", "ivfflat", "hnsw"] = Field(
        "auto", description="Index type. `auto`: IVFFlat, and HNSW from `hnsw_from` passages. `exact`: no index."
    )
    exact_below: int = Field(
        20_000,
        ge=0,
        le=100_000_000,
        description="Minimum number of passages of one type in a tenant for an index.",
    )
    hnsw_from: int = Field(
        200_000, ge=0, le=1_000_000_000, description="Number of passages from which `auto` chooses HNSW."
    )
    scan_share: Share = Field(
        0.05,
        description="Share of an index that a filtered search scans before it falls back to exact search.",
    )
    min_recall: Share = Field(
        0.95,
        description="Minimum recall of an index that the cleanup job builds, measured against exact search before it is"
        " used; below it, search stays exact.",
    )
    build_memory_mb: int = Field(
        512,
        ge=16,
        le=1_000_000,
        description="Memory for building an index in MB. Fastest if the whole index fits: 2 kB per passage.",
    )
    ivfflat: IvfflatSettings = IvfflatSettings()
    hnsw: HnswSettings = HnswSettings()
