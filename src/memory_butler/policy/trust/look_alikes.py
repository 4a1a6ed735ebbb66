"""Fold a text for detection: look-alike letters, hidden characters and odd spelling become plain letters.

Only detectors see the folded text. What is stored keeps its letters.
"""

import re
import unicodedata

# Cyrillic and Greek letters that look like Latin ones.
_LOOK_ALIKE = str.maketrans(
    "аеорсухіјѕԁһвкмнтгԛԝьєзчӏαορνυικτχγβεηρμωσАЕОРСУХІЈЅВКМНТЗΑΒΕΖΗΙΚΜΝΟΡΤΥΧı‘’´ʼ“”–—",
    "aeopcyxijsdhbkmhtrqwbe34laopvuiktxybenpmwoAEOPCYXIJSBKMHT3ABEZHIKMNOPTYXi''''\"\"--",
)
_DIGITS = str.maketrans("013457@$", "oleastas")
# "i g n o r e": single letters with one separator between them.
_SPACED = re.compile(r"(?<![^\W_])(?:[a-z][ .\-_*]){4,60}[a-z](?![^\W_])")
_LEET = re.compile(r"(?<![\w@$])(?=[\w@$]{0,40}[a-z])(?=[\w@$]{0,40}[013457@$])[a-z013457@$]{4,40}(?![\w@$])")
_SPACES = re.compile(r"[^\S\n]+")


def folded(text: str) -> str:
    """The text in lower case, with plain letters and spaces, as a reader would see it."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in plain if unicodedata.category(char) not in ("Mn", "Cf", "Cc") or char in "\n\t")
    plain = plain.translate(_LOOK_ALIKE).casefold()
    plain = _SPACES.sub(" ", plain)
    return _SPACED.sub(lambda found: re.sub(r"[ .\-_*]", "", found[0]), plain)


def without_digits(text: str) -> str:
    """A folded text with digits and signs that stand for letters replaced: `1gn0re` is `ignore`."""
    return _LEET.sub(lambda found: found[0].translate(_DIGITS), text)


def mixes_scripts(text: str) -> bool:
    """True if a word mixes Latin letters with Cyrillic or Greek ones, as no language does."""
    return any(_is_mixed(word) for word in re.findall(r"[^\W\d_]{3,}", text))


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {unicodedata.name(char, "").split(" ", 1)[0] for char in word}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK"})
