"""The built-in distiller: facts and rules from English text, by grammar and tables, without a model.

Precise rather than greedy: what is asked, imagined, quoted, joked or said by the assistant yields nothing, and a
sentence that no table understands yields nothing either.
"""

from datetime import datetime

from memory_butler.english.extraction.findings import Finding

__all__ = ["Finding", "distil", "distil_by_hand"]


def distil(content: str, observed_at: datetime) -> list[Finding]:
    """The facts and rules of an episode, each with the sentence it came from; words of time count from observed_at.

    The grammar is hundreds of expressions, a third of a second to compile: they wait for the first episode.
    """
    from memory_butler.english.extraction import episode  # noqa: PLC0415

    return episode.distil(content, observed_at)


def distil_by_hand(content: str, observed_at: datetime) -> list[Finding]:
    """The same for what a person stored by hand: an imperative that says nothing else is a rule."""
    from memory_butler.english.extraction import episode  # noqa: PLC0415

    return episode.distil_by_hand(content, observed_at)
