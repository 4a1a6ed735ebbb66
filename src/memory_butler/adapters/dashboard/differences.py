"""How one wording differs from another, word by word."""

import re
from difflib import SequenceMatcher

SAME, ADDED, REMOVED = "same", "added", "removed"
Segment = tuple[str, str]
# Comparing takes time by the square of the length; of two texts this long nobody reads the difference.
MOST_PIECES = 2000
# Less alike than this, two wordings are easier to read one after the other than mixed.
LEAST_ALIKE = 0.35
_PIECES = re.compile(r"\s+|\w+|[^\w\s]")


def differences(before: str, after: str) -> list[Segment]:
    """The words of both, in reading order: what stayed, what went and what came."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    if before == after:
        return [(SAME, after)] if after else []
    if max(len(old), len(new)) > MOST_PIECES:
        return _whole(before, after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if _alike(matcher, old, new) < LEAST_ALIKE:
        return _whole(before, after)
    found: list[Segment] = []
    for what, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if what == "equal":
            found.append((SAME, "".join(new[new_from:new_to])))
            continue
        found.append((REMOVED, "".join(old[old_from:old_to])))
        found.append((ADDED, "".join(new[new_from:new_to])))
    return _joined(found)


def _alike(matcher: "SequenceMatcher[str]", old: list[str], new: list[str]) -> float:
    """The share of words, without what stands between them, that both have."""
    words = sum(_is_word(piece) for piece in (*old, *new))
    kept = sum(
        _is_word(piece) for block in matcher.get_matching_blocks() for piece in old[block.a : block.a + block.size]
    )
    return 2 * kept / words if words else 0.0


def _is_word(piece: str) -> bool:
    return piece[0].isalnum()


def _whole(before: str, after: str) -> list[Segment]:
    gap = [(SAME, "\n")] if before and after else []
    return [part for part in [(REMOVED, before), *gap, (ADDED, after)] if part[1]]


def _joined(found: list[Segment]) -> list[Segment]:
    """A blank that stayed between two changed words belongs to the change: so a changed phrase reads as one."""
    joined: list[Segment] = []
    removed = added = ""
    for place, (kind, text) in enumerate(found):
        is_gap = kind == SAME and text.isspace() and "\n" not in text and (removed or added) and place + 1 < len(found)
        if kind == REMOVED:
            removed += text
        elif kind == ADDED:
            added += text
        elif is_gap:
            removed, added = removed + text, added + text
        else:
            joined += [(REMOVED, removed), (ADDED, added), (SAME, text)]
            removed = added = ""
    joined += [(REMOVED, removed), (ADDED, added)]
    return [part for part in joined if part[1]]
