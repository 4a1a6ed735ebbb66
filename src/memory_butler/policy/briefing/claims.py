"""Claims on the token budget of a briefing."""

from enum import IntEnum


class Claim(IntEnum):
    """Why a line is in a briefing; the first are the last to go."""

    VITAL = 1
    RELEVANT = 2
    STANDING = 3
    RELATED = 4
    RECENT = 5


CLAIM_WORDS = {
    Claim.VITAL: "a warning or vital fact that the task could run into",
    Claim.RELEVANT: "relevant to the words or names in the task",
    Claim.STANDING: "a standing rule or preference for this kind of work",
    Claim.RELATED: "about the same person or thing as something relevant",
    Claim.RECENT: "a recent episode of this kind of work",
}
