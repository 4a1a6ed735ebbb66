"""Calibration of an embedding model: its cosines on the scale of the default model.

The weights and thresholds of the judge and of the kinds of work were fitted to cosines of the default model. Other
models spread theirs differently: for some, unrelated texts have a cosine of 0.8.

A multilingual model can also compare texts that the judge cannot assess. There, a match shows less by its cosine than
by its lead over the next candidates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.models import Hit

# The lead of a candidate is measured against the mean of the next ones.
RIVALS = 5
# Relevance by meaning is 0.01 at `enough`, 0.1 at 0.5 more and 0.5 at 0.95 more.
SLOPE = 4.85
OFFSET = math.log(0.01 / 0.99)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps a cosine to scale × (cosine - zero).

    A multilingual model has `enough`: the similarity, with `lead` × its lead over the next candidates added, from which
    a memory is relevant by meaning alone. `more` is the evidence that a fact of a small store takes in addition
    (small_stores.py): the similarities of some models say less.
    """

    zero: float = 0.0
    scale: float = 1.0
    lead: float = 0.0
    enough: float | None = None
    more: float = 0.0

    @property
    def is_needed(self) -> bool:
        return (self.zero, self.scale) != (0.0, 1.0)

    @property
    def is_multilingual(self) -> bool:
        return self.enough is not None

    def hits(self, hits: Sequence[Hit]) -> list[Hit]:
        """The candidates with their similarities on the scale of the default model."""
        return [
            hit._replace(similarity=self._of(hit.similarity), context_similarity=self._of(hit.context_similarity))
            for hit in hits
        ]

    def _of(self, cosine: float | None) -> float | None:
        return None if cosine is None else self.scale * (cosine - self.zero)

    def relative_to(self, other: "Calibration") -> tuple[float, float]:
        """The scale and shift with which cosines of this model compare with those of another one."""
        scale = self.scale / other.scale
        return scale, other.zero - scale * self.zero

    def by_meaning(self, similarities: Sequence[float | None]) -> list[float]:
        """The relevance of each candidate by meaning alone; 0 if the model knows only English."""
        if self.enough is None:
            return [0.0] * len(similarities)
        falling = sorted((one for one in similarities if one is not None), reverse=True)
        next_ones = falling[1 : 1 + RIVALS]
        rivals = sum(next_ones) / len(next_ones) if next_ones else math.inf
        evidence = [None if one is None else one + self.lead * max(0.0, one - rivals) for one in similarities]
        return [0.0 if one is None else 1 / (1 + math.exp(-(SLOPE * (one - self.enough) + OFFSET))) for one in evidence]


UNCALIBRATED = Calibration()
