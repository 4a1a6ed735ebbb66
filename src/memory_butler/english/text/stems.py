"""The stemmer of grounding, with synonyms, numbers and negation, so that other wordings of a text are recognised.

Light on purpose: endings are cut off by rule, a few irregular forms and near synonyms are in tables, a number is the
same in words and in figures, and a word that a negation reaches is marked as such.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from memory_butler.english.text.irregular_forms import IRREGULAR_VERBS, singular
from memory_butler.english.text.normalize import UNSPACED
from memory_butler.english.text.stop_words import UNGROUNDED_WORDS
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.english.time.calendar import CARDINALS, ORDINALS, TENS

STRAIGHT_MARKS = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'", "“": '"', "”": '"', "–": "—", "―": "—"}
)
TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# Negations that deny nothing.
IDIOMS = caseless(
    r"\b(?:(?:can(?:'?t| ?not)|couldn't) (?:wait|help)|(?:do(?:n't| not)|never) (?:forget|worry)|not only"
    r"|not just|no doubt|no (?:problem|worries|matter)|why not|not to mention|couldn't be (?:happier|better)"
    r"|nothing but|if not)\b"
)

# Words that need no evidence because the class of a fact implies them.
OPTIONAL_WORDS = word_set("""
work works live lives like likes love loves enjoy enjoys prefer prefers use uses own owns want wants plan plans go
goes get gets name named call called make makes take takes keep say says tell feel think need needs know usually
often sometimes regularly formerly previously longer recently new old current former interest interested allergic
allergy favorite favourite preference based located speaks speak drives drive eats eat drinks drink year years aged
age anymore due according frequent frequently trip ups mentioned
""")
# A rule is phrased as an instruction, which its episode need not be.
OPTIONAL_IN_RULES = OPTIONAL_WORDS | word_set("""
ensure sure avoid respond response reply answer write provide give include follow instead remember apply check
consider rather should task asked asking request requested explicitly first time times thing things way
""")
NEGATIONS = word_set("""
not no never none nobody nothing neither nor without cannot stop stopped stops quit quits former formerly avoid
avoids avoided rarely hardly barely seldom unable lack lacks refuse refuses nicht kein keine keinen nie niemals pas
jamais nunca não non mai niet geen nooit не нет previously
""")
AVERSIONS = word_set("""
hate hates hated dislike dislikes disliked detest detests loathe loathes awful terrible worst annoying annoys
annoyed scared afraid fear fears sick tired stand avoid avoids allergic allergy intolerant vegetarian vegan bad
wrong stop instead bother bothers mind disgusting gross boring overrated ban banned forbidden
""")
LIKINGS = word_set("""
like likes liked love loves loved enjoy enjoys enjoyed fan fond adore adores favorite favourite prefer prefers into
""")
ENDS_SCOPE = word_set("due but because although though however whereas while since except unless instead yet therefore")
AUXILIARIES = word_set("""
is are was were am be has have had do does did will would can could shall should may might must cannot
""")
VERBS = AUXILIARIES | word_set("""
work works worked live lives lived like likes liked love loves loved hate hates prefer prefers use uses used own
owns owned speak speaks spoke play plays played drink drinks eat eats drive drives drove want wants plan plans moved
move moves run runs study studies studied teach teaches bought buy buys got get gets went go goes enjoy enjoys need
needs take takes took wear wears cycle cycles swim swims carry carries carried joined join started start left leave
leaves met meet loves said says told asked reports report plays keeps keep rents rent smokes smoke reads read writes
write came come comes returns born married divorced dislike dislikes grew grow makes make made maintains maintain
""")

_NUMBERS = {
    **{word: str(number) for number, word in enumerate(CARDINALS)},
    **{word: str(10 * number) for number, word in enumerate(TENS, start=3)},
    **{word: str(number) for number, word in enumerate(ORDINALS, start=1)},
    **{"once": "1", "twice": "2", "couple": "2", "dozen": "12", "hundred": "100", "noon": "12", "half": "0.5"},
}
_PRONOUNS = word_set("i we he she they you it there that who what")
_MISSPELT = {f"{verb}nt": verb for verb in ("do", "does", "did", "is", "are")} | {"cant": "can", "wont": "will"}
# Auxiliaries, and verbs with a form that is a common noun: rose, shot, bit.
_UNSTEMMED = ("be", "have", "do", "rise", "shoot", "bite")
_IRREGULAR = {form: base for base, forms in IRREGULAR_VERBS.items() if base not in _UNSTEMMED for form in forms} | {
    form: base
    for base, forms in {
        "fly": "flight flights flying", "die": "dead death died dies dying", "live": "living lived",
        "marry": "married marriage", "birth": "born", "hurt": "hurts",
        "favorite": "favourite favorites favourites", "allergy": "allergic allergies", "intolerance": "intolerant",
    }.items()
    for form in forms.split()
}  # fmt: skip
# Synonyms, one group a row.
_ALIKE = (
    "mother mom mum mummy mama", "father dad daddy papa", "grandmother grandma granny gran nana",
    "grandfather grandpa grandad granddad", "kid child", "home live reside residence", "purchase buy", "film movie",
    "flat apartment", "holiday vacation trip travel", "fly go", "doctor dr gp",
    "phone mobile cell telephone",
    "email mail", "begin start join", "car auto", "dog puppy", "cat kitten", "birth birthday", "job work employ",
    "bike bicycle cycle", "appointment visit", "meeting call", "manager boss", "university uni college",
    "like love enjoy fan fond", "hate dislike detest loathe", "tv television", "km k kilometer kilometre",
    "euro eur", "dollar usd", "lift carry", "assistant butler agent", "photo picture", "speak language",
    "return back", "leave off", "reply respond answer", "remove delete", "commit committing", "afraid scared fear",
)  # fmt: skip
# Hypernyms: the general word may replace each of the others, not the other way round.
_GENERAL = {
    "spouse": "wife husband", "partner": "wife husband girlfriend boyfriend fiance fiancee spouse",
    "parent": "mother father mom mum dad", "sibling": "sister brother", "child": "son daughter kid",
    "kid": "son daughter child", "pet": "dog cat rabbit hamster greyhound puppy kitten parrot horse",
    "number": "phone mobile cell", "marry": "wife husband wed",
    "grandparent": "grandmother grandfather grandma grandpa",
}  # fmt: skip


# Words of a family share this many first letters, and this share of the longer word.
FAMILY_LETTERS = 5
FAMILY_SHARE = 0.7


class Word(NamedTuple):
    """A word as written, and its stem."""

    text: str
    stem: str
    is_negated: bool
    is_name: bool

    @property
    def is_number(self) -> bool:
        return self.stem[:1].isdigit()


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The form for comparison of a word in lower case: work, works, worked and working are one."""
    if word in _NUMBERS:
        return _NUMBERS[word]
    cut = singular(_IRREGULAR.get(word, word))
    if len(cut) > 5 and cut.endswith("ing"):
        cut = cut[:-3]
    elif len(cut) > 4 and cut.endswith("ied"):
        cut = cut[:-3] + "y"
    elif (len(cut) > 4 and cut.endswith("ed")) or (len(cut) > 5 and cut.endswith("ly")):
        cut = cut[:-2]
    if len(cut) > 3 and cut.endswith("e"):
        cut = cut[:-1]
    if len(cut) > 4 and cut.endswith("our"):
        cut = cut[:-3] + "or"
    if len(cut) > 4 and cut.endswith("is"):
        cut = cut[:-2] + "iz"
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] else cut


def _table() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in _ALIKE:
        stems = {stem(word) for word in row.split()}
        for word in stems:
            found.setdefault(word, set()).update(stems)
    for word, others in _GENERAL.items():
        found.setdefault(stem(word), set()).update(stem(other) for other in others.split())
    return {word: frozenset(others) for word, others in found.items()}


_STANDS_FOR = _table()
_NONE: frozenset[str] = frozenset()
UNGROUNDED_STEMS = frozenset(stem(word) for word in UNGROUNDED_WORDS if word not in _NUMBERS) | UNGROUNDED_WORDS


def occurs(word: str, stems: Collection[str], *, exactly: bool) -> bool:
    """True if a stem or a synonym is among those of a text. Unless `exactly`, a word of the same family will do."""
    if word in stems or not _STANDS_FOR.get(word, _NONE).isdisjoint(stems):
        return True
    return not exactly and len(word) >= FAMILY_LETTERS and any(_is_family(word, other) for other in stems)


def _is_family(one: str, other: str) -> bool:
    """Do most of the letters agree, from the beginning: "translator" and "translates"?"""
    if len(other) < FAMILY_LETTERS or one[:FAMILY_LETTERS] != other[:FAMILY_LETTERS]:
        return False
    return len(_beginning(one, other)) >= FAMILY_SHARE * max(len(one), len(other))


def _beginning(one: str, other: str) -> str:
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def expand_contraction(token: str) -> list[str]:
    """A contraction as its words, anything else as it is."""
    low = token.casefold()
    if low in _MISSPELT:
        return [_MISSPELT[low], "not"]
    if low == "cannot":
        return ["can", "not"]
    if "'" not in token:
        return [token]
    if low.endswith("n't") and len(low) > len("n't"):
        return [{"ca": "can", "wo": "will", "sha": "shall"}.get(low[:-3], token[:-3]), "not"]
    base, _, ending = token.rpartition("'")
    if ending.casefold() in ("s", "m", "re", "ve", "ll", "d"):
        return [base, "is"] if ending.casefold() in ("m", "re", "s") and base.casefold() in _PRONOUNS else [base]
    return [token]


def normal_number(token: str) -> str:
    """A number in one form: without the marks of thousands, a point for a colon, no zeros in front."""
    if _THOUSANDS.fullmatch(token):
        token = token.replace(",", "")
    plain = token.replace(":", ".").replace(",", ".")
    return plain.lstrip("0") or "0"


def token_stems(token: str) -> Iterator[str]:
    """The stems of a token that is no mark; writing without spaces is cut into pairs of characters."""
    if token[0].isdigit():
        yield normal_number(token)
    elif UNSPACED.search(token):
        yield from (token[at : at + 2] for at in range(max(1, len(token) - 1)))
    else:
        yield stem(token.casefold())
