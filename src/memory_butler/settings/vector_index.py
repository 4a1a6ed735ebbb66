"""When and how nearness of meaning is looked up in an index."""

from typing import Literal, Self

from pydantic import Field, model_validator

from memory_butler.settings.values import Group, Share


class IvfflatSettings(Group):
    """An IVFFlat index: quick to build, good up to some hundred thousand passages."""

    lists: int | None = Field(
        None, ge=1, le=32_768, description="Lists it is built with; unset: the square root of its rows."
    )
    probes: int | None = Field(
        None,
        ge=1,
        le=32_768,
        description="Lists a search looks into first; unset: three times the square root of the lists.",
    )


class HnswSettings(Group):
    """An HNSW index: slower to build and to write to, quick however many passages there are."""

    m: int = Field(24, ge=4, le=100, description="Links of a passage to others.")
    ef_construction: int = Field(
        128, ge=8, le=1000, description="Passages looked at to find them; at least twice `m`, and better many."
    )
    ef_search: int = Field(200, ge=1, le=1000, description="Passages a search keeps in view on its way.")

    @model_validator(mode="after")
    def _look_at_enough(self) -> Self:
        if self.ef_construction < 2 * self.m:
            raise ValueError(f"ef_construction ({self.ef_construction}) is less than twice m ({self.m})")
        return self


class VectorIndex(Group):
    """When nearness of meaning is looked up in an index instead of looking at everything.

    `memory-butler index migrate` makes it so.
    """

    posture: Literal["auto", "exact", "ivfflat", "hnsw"] = Field(
        "auto", description="`auto` takes IVFFlat and, from `hnsw_from` passages, HNSW; `exact` uses no index at all."
    )
    exact_below: int = Field(
        20_000,
        ge=0,
        le=100_000_000,
        description="Passages of one type that a tenant must have for an index to be worth it.",
    )
    hnsw_from: int = Field(
        200_000, ge=0, le=1_000_000_000, description="Passages from which `auto` takes HNSW instead of IVFFlat."
    )
    scan_share: Share = Field(
        0.05,
        description="Share of an index that a search with filters walks through before it looks at everything instead.",
    )
    build_memory_mb: int = Field(
        512, ge=16, le=1_000_000, description="Memory for building an index; best if all of it fits, 2 kB a passage."
    )
    ivfflat: IvfflatSettings = IvfflatSettings()
    hnsw: HnswSettings = HnswSettings()
