"""How far the look of a word is trusted: is what is written with a capital a name that the store knows?

People speak of Anna, whom it knows, and of Seattle and Spotify, which are nobody's names. So a look is believed as long
as it has been right, and given up or taken up again after one or two surprises, as a processor guesses its branches.
"""

from collections.abc import Collection

MOST_TRUST = 3
# What begins with this is believed, and given up after the first word that was nobody.
FIRST_TRUST = LEAST_BELIEVED = 2


def is_believed(trust: int) -> bool:
    return trust >= LEAST_BELIEVED


def trust_after(trust: int, new: Collection[str], names: Collection[str]) -> int:
    """The trust after a question with these new words that look like names, of which some may be names."""
    if not new:
        return trust
    step = 1 if any(word in names for word in new) else -1
    return min(max(trust + step, 0), MOST_TRUST)
