"""Which language a text is in, from its script and its function words: English, another one, or uncertain."""

from enum import StrEnum
from functools import cache, lru_cache

import stopwordsiso

from memory_butler.english.text.stop_words import STOP_WORDS
from memory_butler.english.text.word_sets import word_set
from memory_butler.languages.folding import fold, without_accents
from memory_butler.languages.scripts import WRITTEN_WORD, is_mostly_latin

HEAD_CHARACTERS = 2_000
# Function words that a text without accents must have: "Los Angeles" and "Die Hard" are no other language.
MIN_FUNCTION_WORDS = 2
# Their share of the words. Less is chance: "Tim" and "on" are words of Czech.
MIN_DENSITY = 0.3
# A language is likely if it has this share of the function words that the likeliest has.
LIKELY_SHARE = 0.75
# Words that a text without a word of English must have to be in another language.
MIN_WORDS = 3
MIN_FOREIGN_SPELLINGS = 2
ENGLISH_ONLY = frozenset(["en"])
# The lists of these languages hold many words of English.
_UNRELIABLE = word_set("en la br st so ha yo zu ku eo ga sw tl af gl eu")


class Language(StrEnum):
    """Whether a text is in English."""

    ENGLISH = "english"
    OTHER = "other"
    # Too short to tell: "Theo birthday"
    UNCERTAIN = "uncertain"


def language_of(text: str) -> Language:
    """The language of a text. It is another one only if that is certain."""
    return _language_of_head(text[:HEAD_CHARACTERS])


@lru_cache(maxsize=4096)
def _language_of_head(head: str) -> Language:
    if not is_mostly_latin(head):
        return Language.OTHER
    words = _words(head)
    english = words & _english()
    if english and head.isascii() and _languages().keys().isdisjoint(words - english):
        # Most texts of an English store. To count the words of each language takes as long as all before.
        return Language.ENGLISH
    own = next(iter(_by_language(words).values()), set())
    has_accents = not head.isascii() and any(map(_is_foreign, head))
    is_dense = len(own) >= max(MIN_FUNCTION_WORDS, MIN_DENSITY * len(words))
    if len(own - english) > 2 * len(english - own) and (is_dense or (has_accents and own)):
        return Language.OTHER
    if has_accents and english <= own and sum(any(map(_is_foreign, word)) for word in words) >= MIN_FOREIGN_SPELLINGS:
        return Language.OTHER
    if english:
        return Language.ENGLISH
    return Language.OTHER if own and len(words) >= MIN_WORDS else Language.UNCERTAIN


def likely_languages(text: str) -> frozenset[str]:
    """The languages that a text may be in, as far as its function words tell; none if it has too few of them."""
    if language_of(text) is Language.ENGLISH:
        return ENGLISH_ONLY
    found = _by_language(_words(text))
    most = max(map(len, found.values()), default=0)
    least = max(MIN_FUNCTION_WORDS, LIKELY_SHARE * most)
    return frozenset(language for language, own in found.items() if len(own) >= least)


def function_words(text: str) -> frozenset[str]:
    """The words of a text that carry little meaning in the languages that it may be in, folded."""
    words = _words(text)
    if language_of(text) is Language.ENGLISH:
        return frozenset(fold(word) for word in words & STOP_WORDS)
    found = list(_by_language(words).values())
    return frozenset(fold(word) for own in found if len(own) == len(found[0]) for word in own)


def _words(text: str) -> set[str]:
    return {word.casefold().replace("’", "'") for word in WRITTEN_WORD.findall(text[:HEAD_CHARACTERS])}


def _is_foreign(char: str) -> bool:
    """True for letters and marks that English does not have."""
    return char in "¿¡" or (char > "\x7f" and char.isalpha())


def _by_language(words: set[str]) -> dict[str, set[str]]:
    """The function words among these, by language, the one with the most first."""
    found: dict[str, set[str]] = {}
    languages = _languages()
    for word in words:
        for language in languages.get(_list_key(word), ()):
            found.setdefault(language, set()).add(word)
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))


def _list_key(word: str) -> str:
    """A word as it is listed. Greek and others are listed with and without accents; in Latin letters they matter."""
    if word.isascii():
        return word.casefold()
    bare = without_accents(word)
    return word.casefold() if bare.isascii() else bare


@cache
def _english() -> frozenset[str]:
    """Words that show that a text is English. Single letters are words in many languages."""
    further = (word for word in stopwordsiso.stopwords("en") if len(_languages().get(word, ())) <= 2)
    return frozenset(word for word in STOP_WORDS.union(further) if len(word) > 1)


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    """The languages of each function word. A single letter says nothing. Tuples, because the garbage collector looks at
    20,000 sets again and again."""
    found: dict[str, dict[str, None]] = {}
    for language in sorted(stopwordsiso.langs() - _UNRELIABLE):
        for word in stopwordsiso.stopwords(language):
            if len(word) > 1 or not word.isascii():
                found.setdefault(_list_key(word), {})[language] = None
    return {word: tuple(languages) for word, languages in found.items()}
