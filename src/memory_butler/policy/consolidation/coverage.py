"""Which words of a sentence the items of a proposal say."""

import re
from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID

from memory_butler.english.text.stems import stem
from memory_butler.english.text.stop_words import LIGHT_WORDS
from memory_butler.english.text.word_sets import word_set
from memory_butler.languages.detection import function_words
from memory_butler.languages.folding import fold
from memory_butler.models import Item

CACHED_TEXTS = 4096
SAME_LETTERS = 5
# Verbs that a predicate says in other words: "lives in Porto" is a fact `home: Porto`.
_PREDICATE_VERBS = word_set("""
dont cant wont isnt arent doesnt didnt wasnt havent hasnt cannot im ive hes shes theyre thats
live lives lived living work works worked working like likes love loves hate hates dislike dislikes prefer prefers own
owns call calls called name named speak speaks play plays drive drives born currently year years old meet met
move moved moves moving remember note please user users day today yesterday tomorrow
""")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NUMBER = re.compile(r"0*(\d+)")


def coverage(sentence: str, told: frozenset[str]) -> float:
    """Share of a sentence's content words among those that are told; 0 if nothing is told."""
    if not told:
        return 0.0
    words = content_words(sentence)
    if not words:
        return 1.0
    return sum(_is_told(word, told) for word in words) / len(words)


@lru_cache(CACHED_TEXTS)
def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, as stems; characters in a script without spaces. Cached: the rules
    that are known are compared with every new one."""
    ignored = function_words(text)
    words = {fold(word) for word in _WORD.findall(_CJK.sub(" ", text.replace("_", " ")))}
    idle = LIGHT_WORDS | _PREDICATE_VERBS | ignored
    light = {word for word in words if word in idle or len(word) < 2}
    return frozenset({stem(word) for word in words - light} | set(_CJK.findall(text)))


def told_words(items: Iterable[Item], known: dict[UUID, str]) -> frozenset[str]:
    texts = []
    for item in items:
        target = known.get(item.target, "") if item.target else ""
        dated = item.valid_at.strftime("%A %B %d %Y") + f" {item.valid_at.day}" if item.valid_at else ""
        texts.append(f"{item.subject} {item.predicate.replace(':', ' ')} {item.content} {target} {dated}")
    return content_words(" ".join(texts)) if texts else frozenset()


def _is_told(word: str, told: frozenset[str]) -> bool:
    if word in told:
        return True
    if word[0].isdigit():
        return numbers([word]) <= numbers(told)
    return len(word) >= SAME_LETTERS and any(other[:SAME_LETTERS] == word[:SAME_LETTERS] for other in told)


def numbers(words: Iterable[str]) -> set[str]:
    """The numbers among some words, without what stands behind them: 28th is 28."""
    return {match[1] for word in words if (match := _NUMBER.match(word))}
