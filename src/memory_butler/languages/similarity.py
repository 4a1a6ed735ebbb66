"""How likely two words are forms of one word, without a dictionary: by what their spellings have in common."""

from functools import lru_cache

# Letters that two forms of one word must share at their beginning, and as a share of their mean length.
MIN_STEM = 3
MIN_SHARED = 0.45
CLEARLY_SHARED = 0.6
# Letters of a part of a compound: "mühle" in "kaffeemühle".
MIN_PART = 4
# Letters of a part of two compounds: "steuer" in "steuererklärung" and "steuerberatung".
MIN_SHARED_PART = 5
# An ending of the part may differ: "äpfeln" in "apfelbaum".
MAX_ENDING = 2


@lru_cache(maxsize=65536)
def word_similarity(left: str, right: str) -> float:
    """1 for equal words, 0 for unrelated ones. Both are folded."""
    if left == right:
        return 1.0
    if left > right:
        return word_similarity(right, left)
    return max(_as_forms(left, right), _as_compound(left, right))


def _as_forms(left: str, right: str) -> float:
    """Forms differ in their endings: "gato" and "gatas"."""
    stem = _common_prefix(left, right)
    shared = 2 * stem / (len(left) + len(right))
    if stem < MIN_STEM or shared < MIN_SHARED:
        return 0.0
    return min(0.95, shared + 0.15) if shared >= CLEARLY_SHARED else shared


def _as_compound(left: str, right: str) -> float:
    """One is part of the other, at its beginning or end, or both have a long part in common."""
    shorter, longer = sorted((left, right), key=len)
    # Nearly all pairs end here, at a fraction of the cost.
    if not any(shorter[place : place + MIN_PART] in longer for place in range(len(shorter) - MIN_PART + 1)):
        return 0.0
    part, place = _longest_common_part(shorter, longer)
    rest = len(longer) - place - part
    if part == MIN_PART:
        return 0.7 if part == len(shorter) and (place == 0 or rest <= 1) else 0.0
    ending = len(shorter) - part
    if part > MIN_PART and ending <= MAX_ENDING and (place == 0 or rest <= MAX_ENDING):
        return 0.85 - 0.1 * ending
    return min(0.7, 0.1 * part) if part >= MIN_SHARED_PART else 0.0


def _common_prefix(left: str, right: str) -> int:
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return place
    return min(len(left), len(right))


def _longest_common_part(shorter: str, longer: str) -> tuple[int, int]:
    """Its length, and its place in the longer word."""
    best, end, before = 0, 0, [0] * (len(longer) + 1)
    for one in shorter:
        row = [0]
        for place, other in enumerate(longer):
            row.append(before[place] + 1 if one == other else 0)
            if row[-1] > best:
                best, end = row[-1], place + 1
        before = row
    return best, end - best


@lru_cache(maxsize=65536)
def syllable_similarity(left: str, right: str) -> float:
    """The same for words of Korean, where a character is a syllable and particles follow a noun."""
    stem = _common_prefix(left, right)
    if left == right:
        return 1.0
    if stem < min(2, len(left), len(right)):
        return 0.0
    return min(0.95, 2 * stem / (len(left) + len(right)) + 0.2) if stem > 1 else 0.4
