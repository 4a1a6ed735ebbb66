"""Episodes of which a run kept nothing: said with their words, so that nothing disappears unnoticed."""

from collections.abc import Iterable, Sequence

from memory_butler.models import EmptyEpisode, Episode, ItemResult
from memory_butler.policy.memories.text import one_line

SHOWN_CHARACTERS = 160
# Outcomes of items that keep something of the episodes they cite, or may do so after a review.
KEEPING = frozenset({"created", "superseded", "confirmed", "proposed", "approved"})


def unkept(episodes: Sequence[Episode], lines: Iterable[ItemResult]) -> list[Episode]:
    """The episodes that no kept item cites, in order."""
    kept = {str(one) for line in lines if line.outcome in KEEPING for one in line.shown.get("evidence", ())}
    return [episode for episode in episodes if str(episode.id) not in kept]


def nothing_kept(episodes: Sequence[Episode], lines: Iterable[ItemResult]) -> tuple[EmptyEpisode, ...]:
    """The episodes that no kept item cites, with their words."""
    return tuple(
        EmptyEpisode(ref=episode.ref, words=one_line(episode.content, SHOWN_CHARACTERS))
        for episode in unkept(episodes, lines)
    )
