"""Parses a verb phrase: the verb with its tense, negation and adverbs, and the words that follow it."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from memory_butler.english.text.irregular_forms import IRREGULAR_VERBS
from memory_butler.english.text.word_sets import caseless, word_set

# Verbs that the tables of the themes know, beside the irregular ones.
_REGULAR = word_set("""
migrate turn try raise live reside relocate move settle rent work freelance volunteer manage study major graduate
learn like love adore enjoy prefer dislike despise detest loathe own use play practice practise cook bake smoke vape
adopt hire join start finish retire switch change stop avoid suffer struggle carry cycle commute walk jog hike climb
ski surf journal meditate pray exercise train travel visit return plan intend hope aim expect need want wish call name
date marry divorce sprain injure fracture diagnose order book schedule attend celebrate deploy release ship launch
merge publish submit pack watch listen die collect garden paint knit sew code program develop design maintain
supervise report head coach mentor tutor stay lift weigh wake share host breed follow support identify describe
introduce speak skip fast refuse tolerate crave subscribe prepare organise organize renovate apply interview arrive
land depart sign close open pass fail receive review drop donate register enrol enroll complete contribute consult
found co-found fear trust value admire appreciate favor favour specialise specialize focus talk discuss explain
suggest offer help ask answer chat email text phone message debug fix check test add remove update create thank remind
mention confirm clarify request cancel bank owe grind complain nap save look revise handle insist worry accept require
deliver remarry recommend compete perform rehearse outsource
""")


_DOUBLED = word_set("""
plan stop quit run swim get jog knit ship cut put set sit program skip begin win commit drop shut let hit dig
prefer submit
""")


_SPELT_OTHERWISE = {
    "has": ("have", "s"), "'ve": ("have", "base"), "travelling": ("travel", "ing"), "travelled": ("travel", "past"),
    "cancelled": ("cancel", "past"), "cancelling": ("cancel", "ing"),
}  # fmt: skip


def _forms() -> dict[str, tuple[str, str]]:
    """Every form to its base and what it is: base, s, ing or past."""
    found: dict[str, tuple[str, str]] = {}
    regular = {base: (_past(base), _past(base)) for base in sorted(_REGULAR)}
    for base, (past, participle) in (IRREGULAR_VERBS | regular).items():
        forms = ((participle, "past"), (past, "past"), (_ing(base), "ing"), (third_person(base), "s"), (base, "base"))
        found |= {form: (base, what) for form, what in forms}
    return found | _SPELT_OTHERWISE


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeo":
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLED else "") + "ed"


def _ing(base: str) -> str:
    if base == "die":
        return "dying"
    if base in _DOUBLED:
        return base + base[-1] + "ing"
    return (base[:-1] if base.endswith("e") and base not in ("be", "see") else base) + "ing"


def third_person(base: str) -> str:
    """He, she or the user does it: carry → carries."""
    if base.endswith("y") and base[-2:-1] not in ("a", "e", "o"):
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s")


FORMS = _forms()
# The past looks like the present; of these it is the past that people tell.
_SAME = word_set("quit hurt cut hit shut")
_PARTICIPLES = word_set("quit hurt cut hit shut put set read run come become let cost")
ADVERBS = word_set("""
really also actually currently now still absolutely just already recently finally definitely totally truly both
honestly basically literally simply clearly certainly obviously strongly much greatly genuinely officially
presently even so all kinda kind-of sort-of deeply very quite pretty secretly only then lately newly soon too
primarily mainly personally particularly especially happily apparently severely badly mildly extremely slightly
highly originally proudly fully once myself himself herself themselves themself instead temporarily permanently
immediately eventually desperately
""")
FREQUENT = word_set("""
always usually often sometimes rarely typically normally generally mostly occasionally regularly frequently
seldom hardly
""")
_BE = {
    **dict.fromkeys(("am", "'m", "is", "'s", "are", "'re", "be", "been", "being"), ""),
    **dict.fromkeys(("isn't", "aren't", "ain't"), "not"),
    **{"was": "past", "were": "past", "wasn't": "past not", "weren't": "past not"},
}
_WISHES = word_set("could would might may should must ought couldn't wouldn't mightn't shouldn't mustn't shall 'd")
_DO = {"do": "", "does": "", "did": "past", "don't": "not", "doesn't": "not", "didn't": "past not", "dont": "not",
       "doesnt": "not"}  # fmt: skip
_TOKEN = re.compile(r"[ ]?(n't\b|'(?:m|s|re|ve|ll|d)\b|(?:[^\W\d_]|\d)(?:[\w-]|'(?!(?:m|s|re|ve|ll|d)\b)(?=\w))*|\S)")
_ENDED = caseless(r"[ ]?,? (?:any[ ]?more|any longer)\b")
MOST_WORDS = 12
_HAVE = word_set("have has 've had haven't hasn't hadn't 'd")
_AFTER_HAS = word_set("been got had lived worked moved started")


class VerbPhrase(NamedTuple):
    """A verb phrase read: `be a nurse` as verb `be`, rest `a nurse`."""

    subject: str
    verb: str
    form: str
    rest: str
    tense: str
    modal: str
    negated: bool
    ended: bool
    frequency: str
    phrase: str
    by_speaker: bool

    @property
    def word(self) -> str:
        """The verb as written."""
        return self.phrase.split()[0] if self.phrase else self.verb

    def states(self, *tenses: str) -> bool:
        """True for a plain statement in one of these tenses: without a negation or a modal verb."""
        return self.tense in tenses and not self.negated and not self.modal


def word_at(text: str, at: int) -> tuple[str, int]:
    """The next word in lower case and where it ends; empty at the end of the text."""
    match = _TOKEN.match(text, at)
    return (match[1].lower(), match.end()) if match else ("", len(text))


def _next_word(text: str, at: int) -> str:
    """The next word that is not an adverb."""
    for _ in range(MOST_WORDS):
        word, at = word_at(text, at)
        if word not in ADVERBS and word not in FREQUENT and word not in ("not", "never"):
            return word
    return ""


def read_phrase(phrase: str, subject: str, by_speaker: bool = True) -> VerbPhrase | None:
    """The verb phrase of a clause from its first word on; None when there is no verb to be found."""
    helpers = _Helpers()
    at = 0
    for _ in range(MOST_WORDS):
        word, end = word_at(phrase, at)
        if not word:
            return None
        after = helpers.take(word, phrase, end)
        if after is None:
            return _verb_phrase(helpers, word, phrase[at:].strip(), phrase[end:])._replace(
                subject=subject, by_speaker=by_speaker
            )
        at = after
    return None


@dataclass(slots=True)
class _Helpers:
    """Tense, negation and frequency from the auxiliaries and adverbs read so far."""

    tense: str = ""
    modal: str = ""
    frequency: str = ""
    negated: bool = False
    ended: bool = False
    copula: bool = False
    perfect: bool = False
    helped: bool = False

    def take(self, word: str, phrase: str, end: int) -> int | None:
        """Return the position after an auxiliary word; None if the word is the verb itself."""
        following, past_it = word_at(phrase, end)
        if word == "no" and following == "longer":
            self.ended = True
            return past_it
        if word in ("tend", "tends", "used") and following == "to" and not self.copula:
            self.frequency, self.tense = ("", "former") if word == "used" else ("usually", self.tense)
            return past_it
        if word == "going" and self.copula and _is_intent(phrase, end):
            self.tense, self.copula = "future", False
            return past_it
        return end if self._adverb(word) or self._auxiliary(word, phrase, end) else None

    def _adverb(self, word: str) -> bool:
        if word in ("never", "not", "n't"):
            self.negated = True
            self.frequency = "never" if word == "never" else self.frequency
        elif word in FREQUENT:
            self.frequency = word
        else:
            return word in ADVERBS and not (self.copula and word in ("pretty", "very", "so", "quite"))
        return True

    def _auxiliary(self, word: str, phrase: str, end: int) -> bool:
        denied = word.endswith(("n't", "cannot", "cant", "dont", "doesnt"))
        if word in _BE and not self.copula:
            self.copula = word != "'s" or _next_word(phrase, end) not in _AFTER_HAS
            self.perfect = not self.copula
            self.tense = "past" if "past" in _BE[word] else self.tense
        elif word in _HAVE and _is_perfect(phrase, end, word):
            self.perfect = True
        elif word in _DO and _helps(phrase, end, word):
            self.helped = True
            self.tense = "past" if "past" in _DO[word] else self.tense
        elif word in ("will", "'ll", "won't", "gonna"):
            self.tense, self.copula = "future", False
        elif word in ("can", "can't", "cannot", "cant"):
            self.modal = "can"
        elif word in _WISHES:
            self.modal = "wish"
        else:
            return False
        self.negated = self.negated or denied
        return True


# "I am having two daughters", as they say in India.
_STATED = re.compile(
    r"[ ]?(?:an?|one|two|three|four|\d) (?:\w+ )?(?:sons?|daughters?|kids?|child(?:ren)?|brothers?|sisters?|dogs?|"
    r"cats?|car|bike|house)\b"
)


def _verb_phrase(helpers: _Helpers, word: str, phrase: str, rest: str) -> VerbPhrase:
    """The verb itself, in the light of its helpers."""
    verb, form = FORMS.get(word) or _guessed(word)
    tense = helpers.tense
    if helpers.copula and word == "having" and _STATED.match(rest):
        verb, form, tense = "have", "base", tense or "present"
    elif helpers.copula and not (form == "ing" and word in FORMS and word != "being"):
        verb, form, rest = "be", "be", phrase
    elif helpers.copula:
        tense = tense or "ongoing"
    elif helpers.perfect and word == "got":
        verb, form = "have", "base"
    elif helpers.perfect:
        tense = "perfect"
    elif form == "past" or (word in _SAME and not helpers.helped):
        tense = tense or "past"
    negated, ended = helpers.negated, helpers.ended
    if "any" in rest and (over := _ENDED.search(rest)):
        negated, ended = False, True
        rest = rest[: over.start()] + rest[over.end() :]
    return VerbPhrase(
        "", verb, form, rest.strip(), tense or "present", helpers.modal, negated, ended, helpers.frequency, phrase, True
    )


def _guessed(word: str) -> tuple[str, str]:
    """A verb that no table knows, by its ending."""
    if word.endswith("ed") and len(word) > 4:
        return word, "past"
    if word.endswith("ing") and len(word) > 5:
        return word, "ing"
    return word, "s" if word.endswith("s") else "base"


def _is_perfect(phrase: str, at: int, word: str) -> bool:
    following = _next_word(phrase, at)
    if following in ("been", "got"):
        return True
    known = FORMS.get(following)
    if word == "'d":
        return False
    return (known is not None and (known[1] == "past" or following in _PARTICIPLES)) or (
        known is None and following.endswith("ed") and len(following) > 4
    )


def _helps(phrase: str, at: int, word: str) -> bool:
    """Is this "do" there for a negation or for emphasis, with a verb after it?"""
    if word not in ("do", "does", "did"):
        return True
    if word_at(phrase, at)[0] in ("not", "n't"):
        return True
    known = FORMS.get(_next_word(phrase, at))
    return known is not None and known[1] == "base"


_DETERMINERS = word_set("the a an my our his her their this that")


def _is_intent(phrase: str, at: int) -> bool:
    """Is this "going to" followed by a verb, rather than by a place?"""
    word, end = word_at(phrase, at)
    if word != "to":
        return False
    match = _TOKEN.match(phrase, end)
    return match is not None and not match[1][0].isupper() and match[1].lower() not in _DETERMINERS
