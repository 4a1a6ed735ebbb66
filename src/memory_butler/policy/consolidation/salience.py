"""Salience: how likely a person would want a sentence kept. Logistic regression over its vector and its features."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory_butler.languages.detection import Language, language_of
from memory_butler.languages.speech import cues
from memory_butler.languages.speech.vetoes import word_count

Vector = npt.NDArray[np.float32]
_NUMBER = re.compile(r"\d")
_AMOUNT = re.compile(
    r"\d\s*(?:€|\$|£|¥|%|kg|km|mg|ml|cm|mm|gb|mb|ms|am|pm|uhr|h|euro|euros|円|元|時|点|分|歳|岁|руб)|[€$£¥]\s*\d|\d:\d\d",
    re.IGNORECASE,
)
_CONTACT = re.compile(r"[\w.+-]{1,60}@[\w-]{1,60}\.\w|\+?\d[\d /()-]{6,20}\d")
_TECHNICAL = re.compile(
    r"`|\w_\w|\w\.(?:py|js|ts|md|json|sql|toml|yml|yaml|csv|sh|txt)\b|https?://|[a-z][A-Z][a-z]|\(\)|#\d|/\w+/"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_IMPERATIVE = cues.opening(
    "use, ask, call, send, keep, put, write, add, avoid, check, run, remember, remind, don't, do not, never, always",
    "make, stop, answer, reply, book, buy, tell, include, format, name, prefer, skip, schick, nutze, frag, schreib",
    "verwende, usa, usen, manda, envía, pregunta, escribe, utilise, envoie, demande, écris, évite, use, envie",
    "mande, pergunte, escreva, usa, invia, chiedi, scrivi, evita, присылай, пиши, используй, спрашивай, не",
)


class Features(NamedTuple):
    """Cheap signs of a sentence, each 0 to 1, the same in all languages."""

    first_person: float
    opens_first_person: float
    second_person: float
    opens_with_pronoun: float
    names: float
    is_about_another: float
    has_number: float
    has_date: float
    has_amount: float
    negation: float
    obligation: float
    always: float
    imperative: float
    relation: float
    state: float
    preference: float
    cause: float
    chatter: float
    work_chatter: float
    progress: float
    passing: float
    possible: float
    general: float
    opens_with_the: float
    invented: float
    program: float
    one_off: float
    vital: float
    contact: float
    technical: float
    exclamation: float
    colon: float
    length: float
    is_short: float
    is_long: float
    is_english: float
    is_unspaced: float


def features(text: str, *, names: int, is_about_another: bool) -> Features:
    """The features of a sentence that mentions so many names."""
    count = word_count(text)
    is_unspaced = bool(_UNSPACED.search(text))
    return Features(
        first_person=_any(text, cues.FIRST_PERSON, cues.FIRST_PERSON_CJK),
        opens_first_person=_any(text, cues.OPENS_FIRST_PERSON),
        second_person=_any(text, cues.SECOND_PERSON, cues.SECOND_PERSON_CJK),
        opens_with_pronoun=_any(text, cues.OPENS_WITH_PRONOUN),
        names=min(names, 3) / 3,
        is_about_another=float(is_about_another),
        has_number=_any(text, _NUMBER),
        has_date=_any(text, cues.DATES, cues.DATES_CJK),
        has_amount=_any(text, _AMOUNT),
        negation=_any(text, cues.NEGATION, cues.NEGATION_CJK),
        obligation=_any(text, cues.OBLIGATION, cues.OBLIGATION_CJK),
        always=_any(text, cues.ALWAYS, cues.ALWAYS_CJK),
        imperative=_any(text, _IMPERATIVE),
        relation=_any(text, cues.RELATIONS, cues.RELATIONS_CJK),
        state=_any(text, cues.STATES, cues.STATES_CJK),
        preference=_any(text, cues.PREFERENCE),
        cause=_any(text, cues.ROOT_CAUSES, cues.ROOT_CAUSES_CJK),
        chatter=_any(text, cues.CHATTER, cues.CHATTER_CJK),
        work_chatter=_any(text, cues.WORK_CHATTER),
        progress=_any(text, cues.PROGRESS),
        passing=_any(text, cues.PASSING, cues.PASSING_CJK),
        possible=_any(text, cues.POSSIBLE, cues.POSSIBLE_CJK),
        general=_any(text, cues.GENERAL),
        opens_with_the=_any(text, cues.OPENS_WITH_THE),
        invented=_any(text, cues.INVENTED, cues.INVENTED_CJK),
        program=_any(text, cues.PROGRAMS),
        one_off=_any(text, cues.ONE_OFF),
        vital=_any(text, cues.VITAL, cues.VITAL_CJK),
        contact=_any(text, _CONTACT),
        technical=_any(text, _TECHNICAL),
        exclamation=float(text.rstrip().endswith(("!", "！", ":)", ";)"))),
        colon=float(":" in text[:40]),
        length=min(math.log1p(count) / math.log(41), 1.0),
        is_short=float(count <= 5),
        is_long=float(count >= 25),
        is_english=float(language_of(text) is not Language.OTHER),
        is_unspaced=float(is_unspaced),
    )


def _any(text: str, *patterns: re.Pattern[str]) -> float:
    return float(any(pattern.search(text) for pattern in patterns))


class SalienceModel(NamedTuple):
    """The fitted weights: of the features, of the vector, and the offset."""

    features: Vector
    vector: Vector
    offset: float

    def probability(self, found: Features, vector: Sequence[float] | Vector) -> float:
        """Probability that a person would want the sentence kept, rounded: the same on every machine."""
        logit = self.offset + float(self.features @ np.asarray(found, np.float32))
        logit += float(self.vector @ np.asarray(vector, np.float32))
        return round(1 / (1 + math.exp(-logit)), 4)
