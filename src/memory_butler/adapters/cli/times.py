"""Times on the command line: ISO 8601, days, and the words that questions use (yesterday, last week, 3 days ago)."""

from datetime import datetime

from memory_butler.errors import InvalidInput


def parse_time(argument: str | None, option: str, *, end: bool = False) -> datetime | None:
    """The time that was meant, in the time zone of this machine unless it names one. A day or a week begins at its
    start; with `end`, it is the time after it."""
    if argument is None:
        return None
    now = datetime.now().astimezone()
    text = argument.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _in_words(text, option, now, end=end)
    if len(text) <= len("2026-03-01") and end:
        return _in_words(text, option, now, end=True)
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


def _in_words(text: str, option: str, now: datetime, *, end: bool) -> datetime:
    from memory_butler.english.time.question_times import find_time_hint

    hint = find_time_hint(text, now)
    window = hint.windows[0] if hint and len(hint.windows) == 1 else None
    moment = None if window is None else window.end if end else window.start
    if moment is None:
        raise InvalidInput(
            f"{option} {text!r} is not a time.",
            recovery="Write a day or a time (2026-03-01, 2026-03-01T09:30), or words such as yesterday or last week.",
        )
    return moment.astimezone(now.tzinfo)
