"""Word-by-word difference between two texts."""

import re
from difflib import SequenceMatcher

SAME, ADDED, REMOVED = "same", "added", "removed"
Segment = tuple[str, str]
# Comparing takes quadratic time, and the difference of two longer texts is unreadable anyway.
MAX_PIECES = 2000
# Below this similarity, two texts are easier to read one after the other than mixed.
MIN_SIMILARITY = 0.35
_PIECES = re.compile(r"\s+|\w+|[^\w\s]")


def differences(before: str, after: str) -> list[Segment]:
    """Segments of both texts in reading order, each marked as same, removed or added."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    if before == after:
        return [(SAME, after)] if after else []
    if max(len(old), len(new)) > MAX_PIECES:
        return _whole(before, after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if _similarity(matcher, old, new) < MIN_SIMILARITY:
        return _whole(before, after)
    segments: list[Segment] = []
    for operation, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if operation == "equal":
            segments.append((SAME, "".join(new[new_from:new_to])))
            continue
        segments.append((REMOVED, "".join(old[old_from:old_to])))
        segments.append((ADDED, "".join(new[new_from:new_to])))
    return _joined(segments)


def _similarity(matcher: "SequenceMatcher[str]", old: list[str], new: list[str]) -> float:
    """The share of words that both texts have, ignoring spaces and punctuation."""
    words = sum(_is_word(piece) for piece in (*old, *new))
    common = sum(
        _is_word(piece) for block in matcher.get_matching_blocks() for piece in old[block.a : block.a + block.size]
    )
    return 2 * common / words if words else 0.0


def _is_word(piece: str) -> bool:
    return piece[0].isalnum()


def _whole(before: str, after: str) -> list[Segment]:
    gap = [(SAME, "\n")] if before and after else []
    return [part for part in [(REMOVED, before), *gap, (ADDED, after)] if part[1]]


def _joined(segments: list[Segment]) -> list[Segment]:
    """Merge a space between two changed words into the change, so that a changed phrase is one segment."""
    joined: list[Segment] = []
    removed = added = ""
    for place, (kind, text) in enumerate(segments):
        is_gap = (
            kind == SAME and text.isspace() and "\n" not in text and (removed or added) and place + 1 < len(segments)
        )
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
