"""Order of observations: older evidence never replaces newer evidence.

Episodes are not always distilled in the order of observation: one fails and is retried later, one with many references
has priority, one is stored long after it was observed.
"""

from datetime import datetime


def observation_time(observed_at: datetime, stored_at: datetime) -> datetime:
    """Time of an episode's statement. An observation after its storage is a clock error, so the earlier time counts."""
    return min(observed_at, stored_at)


def latest_evidence(created_at: datetime, observed: datetime | None, *, is_distilled: bool) -> datetime:
    """Time of the latest evidence for a fact: its latest episode. A fact stored directly was stated when it was stored,
    and may have been observed again since."""
    if observed is None:
        return created_at
    return observed if is_distilled else max(created_at, observed)


def is_older(observed: datetime, known: datetime) -> bool:
    """True if a new value was observed before the known one. At equal times the new value wins."""
    return observed < known
