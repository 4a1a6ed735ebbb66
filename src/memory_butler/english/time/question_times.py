"""The time that a question asks about: "last spring", "in May 2023", "two weeks ago", "before the move".

Time expressions (question_expressions.py) become windows (windows.py). A window is a soft signal: a memory inside it
has a closeness of 1; outside, closeness halves with every `softness` of distance (time after it counts half).

"Before the move" names no date. Such a hint has a direction and an anchor, the words to find the move by. Once its date
is known, `with_anchor` gives the window.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from memory_butler.english.time.calendar import DAY, midnight
from memory_butler.english.time.expressions import Expression, Kind
from memory_butler.english.time.question_expressions import find_event, question_expressions
from memory_butler.english.time.windows import Window, window_between, windows_of

_COUNTED = frozenset((Kind.DAY_WORD, Kind.AGO, Kind.ROLLING, Kind.WEEKDAY, Kind.WEEKEND, Kind.CALENDAR))
_YEARLY = frozenset((Kind.DATE, Kind.MONTH, Kind.SEASON, Kind.HOLIDAY, Kind.QUARTER))
_YEARS = {"last": -1, "previous": -1, "this": 0, "next": 1}
_RANGES = {"between": ("and",), "from": ("to", "until", "till", "til", "through")}
_GAP = re.compile(r"\s{1,8}(?=[?.,;:!])")

# One expression, or the two ends of a range.
Span = tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeHint:
    """Time of a question: alternative windows, or the direction from an event that has to be found first."""

    windows: tuple[Window, ...] = ()
    words: tuple[tuple[int, int], ...]
    # Relative to the clock ("last week", "in May") and not written out ("May 2023"): only as good as the clock.
    relative: bool = False
    # All windows lie in the future: they match event dates, not the dates of notes.
    ahead: bool = False
    direction: str | None = None
    anchor: str | None = None


def find_time_hint(query: str, now: datetime) -> TimeHint | None:
    """The time that a question names; None if it names none, or none for certain."""
    found = question_expressions(query)
    if not found:
        return _read_event(query)
    spans = _plainest(list(_spans(query, _of_last_year(query, found, now))))
    try:
        windows = [window for span in spans for window in _open(span, now)]
    except (ValueError, OverflowError):  # in no calendar: 31 February, a year after the last
        return None
    if not windows:
        return None
    return TimeHint(
        windows=tuple(one for one in dict.fromkeys(windows) if not any(one.surrounds(other) for other in windows)),
        words=tuple((one.start, one.end) for one in found),
        relative=not _is_written_out(tuple(found)),
        ahead=all(window.start is not None and window.start > now for window in windows),
    )


def with_anchor(hint: TimeHint, anchor_moment: datetime) -> TimeHint:
    """The hint with a window, once the date of the anchor is known. The anchor's own day is part of the window."""
    if hint.direction is None:
        return hint
    day = midnight(anchor_moment)
    before = hint.direction == "before"
    return replace(hint, windows=(Window(None, day + DAY, 7 * DAY) if before else Window(day, None, 7 * DAY),))


def closeness(hint: TimeHint, moment: datetime) -> float:
    """1 inside a window, else halved by each softness of distance from the nearest: in [0, 1]. 0 without a window."""
    return max((window.closeness(moment) for window in hint.windows), default=0.0)


def without_time_words(query: str, hint: TimeHint) -> str:
    """The question without its time words. The words of an anchor stay: the search needs them."""
    kept, last = [], 0
    for start, end in hint.words:
        kept.append(query[last:start])
        last = end
    left = " ".join("".join((*kept, query[last:])).split())
    return _GAP.sub("", left)


def _read_event(query: str) -> TimeHint | None:
    event = find_event(query)
    if event is None:
        return None
    direction = "after" if event.direction in ("after", "since") else "before"
    return TimeHint(words=((event.start, event.end),), direction=direction, anchor=event.anchor)


def _of_last_year(query: str, found: list[Expression], now: datetime) -> list[Expression]:
    """ "In May last year" is one expression, not two."""
    merged: list[Expression] = []
    for one in found:
        before = merged[-1] if merged else None
        is_year = one.kind is Kind.CALENDAR and one.core == "year" and one.which in _YEARS
        if is_year and before and before.year is None and before.kind in _YEARLY and _adjoin(query, before, one):
            merged[-1] = replace(before, year=now.year + _YEARS[one.which], end=one.end)
        else:
            merged.append(one)
    return merged


def _spans(query: str, found: list[Expression]) -> Iterator[Span]:
    """The expressions, with the two ends of a range together."""
    left = found[::-1]
    while left:
        one = left.pop()
        if left and left[-1].lead in _RANGES.get(one.lead, ()) and _adjoin(query, one, left[-1]):
            yield one, left.pop()
        else:
            yield (one,)


def _adjoin(query: str, one: Expression, following: Expression) -> bool:
    return query[one.end : following.start].strip(" ,") in ("", "of")


def _plainest(spans: list[Span]) -> list[Span]:
    """ "Last week, as I said on 6 November 2023": what is written out goes before what is counted from the clock."""
    written = [span for span in spans if _is_written_out(span)]
    return written or [span for span in spans if span[0].kind not in _COUNTED] or spans


def _is_written_out(span: Span) -> bool:
    return any(one.year is not None or one.kind in (Kind.ISO, Kind.NUMERIC, Kind.DECADE) for one in span)


def _open(span: Span, now: datetime) -> list[Window]:
    return windows_of(span[0], now) if len(span) == 1 else window_between(span[0], span[1], now)
