"""Query parameters of the list pages, as a `Listing` for the store and as props of the filter bar.

Parameters: q (words, or a phrase in quotes), scope, butler, subject, predicate, validity, permanence, maturity, tier,
tag, importance_min, importance_max, from and to (timestamps), pinned, unused, sort, order, cursor, and open (the memory
in the pane beside the list). Several values of one parameter are separated by commas. Without a validity, memories in
use are listed; with words and without a sort order, the best matches come first. A page without a type lists all.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import unknown_params, url_for
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.models.listings import Listing, Page, Sort
from memory_butler.operations.browse.find import Found
from memory_butler.operations.browse.listings import MAX_COUNT, SORTS, SORTS_OF_ALL
from memory_butler.policy.lifecycle.tiers import MEMBERS
from memory_butler.policy.memories.validation import parse_choice

Query = dict[str, str]
Props = dict[str, Any]

EVERYTHING = "all"
IN_USE = (str(Validity.ACTIVE), str(Validity.FADING))
MAX_CHARACTERS = 2000
_VALUE = re.compile(r"(?:\\[\\,]|[^,])+")
_ESCAPED = re.compile(r"\\([\\,])")
_PHRASE = re.compile(r'"([^"]*)"?')

_STATES = {
    Validity.ACTIVE: "Active",
    Validity.FADING: "Fading",
    Validity.SUPERSEDED: "Superseded",
    Validity.EXPIRED: "Expired",
    Validity.RETRACTED: "Forgotten",
}
# The states that the filter offers for each type.
_STATES_OF: dict[MemoryType | None, tuple[Validity, ...]] = {
    None: tuple(_STATES),
    MemoryType.FACT: tuple(_STATES),
    MemoryType.RULE: (Validity.ACTIVE, Validity.FADING, Validity.EXPIRED, Validity.RETRACTED),
    MemoryType.EPISODE: (Validity.RETRACTED,),
}
_TIERS = {Tier.EDEN: "Eden", Tier.MID: "Mid-term", Tier.LONG: "Long-term"}
_LABELS = {
    "q": "Search",
    "validity": "State",
    "subject": "Subject",
    "predicate": "Predicate",
    "scope": "Scope",
    "butler": "Learned by",
    "permanence": "Permanence",
    "maturity": "Maturity",
    "tier": "Tier",
    "tag": "Tag",
    "importance_min": "Importance min.",
    "importance_max": "Importance max.",
    "from": "From",
    "to": "Until",
    "pinned": "Pinned",
    "unused": "Never used",
}
# Filters of all types, after those of each.
_COMMON = ("from", "to", "pinned", "unused")
YES = "1"
_FILTERS: dict[MemoryType | None, tuple[str, ...]] = {
    None: (*("q", "validity", "subject", "predicate", "scope", "butler", "tag"), *_COMMON),
    MemoryType.FACT: (
        *("q", "validity", "subject", "predicate", "scope", "butler", "tag", "permanence", "tier"),
        *("importance_min", "importance_max", *_COMMON),
    ),
    MemoryType.RULE: ("q", "validity", "maturity", "tier", "scope", "butler", "tag", *_COMMON),
    MemoryType.EPISODE: ("q", "validity", "butler", "tag", "importance_min", "importance_max", *_COMMON),
}
# Fields whose values the store knows.
SUGGESTED = ("subject", "predicate", "scope", "butler", "tag")
_ALIASES = {"state": "validity"}
BEST = "best"
_ORDER = ("sort", "order", "cursor", "open")
_CLOSED: dict[str, type[StrEnum]] = {
    "validity": Validity,
    "permanence": Permanence,
    "maturity": Maturity,
    "tier": Tier,
}
_SORTS = {
    Sort.CREATED: "Stored",
    Sort.OBSERVED: "Happened",
    Sort.IMPORTANCE: "Importance",
    Sort.CONFIDENCE: "Confidence",
    Sort.LAST_REFERENCED: "Last used",
}


def parse(kind: MemoryType | None, query: Mapping[str, Any]) -> Query:
    """The supported, non-empty query parameters of a URL."""
    query = {_ALIASES.get(name, name): value for name, value in query.items()}
    names = (*_FILTERS[kind], *_ORDER)
    values = {name: str(query[name]).strip()[:MAX_CHARACTERS] for name in names if query.get(name) is not None}
    return {name: value for name, value in values.items() if value}


def unknown(kind: MemoryType | None, query: Mapping[str, Any]) -> tuple[str, ...]:
    """Query parameters that this list does not support."""
    return unknown_params(query, (*_FILTERS[kind], *_ORDER, *_ALIASES))


def with_changes(kind: MemoryType | None, query: Query, changes: Mapping[str, Any]) -> Query:
    """The query after a change of filters, back on the first page."""
    return parse(kind, {**query, **changes, "cursor": ""})


def in_type(kind: MemoryType | None, query: Query) -> Query:
    """The query on the page of another type: without the filters and the order that it does not have."""
    kept = parse(kind, {**query, "cursor": "", "open": ""})
    if kept.get("sort") in (None, *sorts_of(kind)):
        return kept
    return {name: value for name, value in kept.items() if name not in ("sort", "order")}


def sorts_of(kind: MemoryType | None) -> tuple[Sort, ...]:
    return SORTS[kind] if kind else SORTS_OF_ALL


def is_best_match(query: Query) -> bool:
    """True if the list shows the best matches for words, and not all memories in an order."""
    return has_words(query) and query.get("sort", BEST) == BEST


def with_value(kind: MemoryType | None, query: Query, name: str, value: str) -> Query:
    """The query with a value added: tags accumulate, other filters are replaced."""
    if name != "tag":
        return with_changes(kind, query, {name: value})
    return with_changes(
        kind, query, {"tag": join_values([*dict.fromkeys([*split_values(query.get("tag", "")), value])])}
    )


def without(kind: MemoryType | None, query: Query, name: str, value: str) -> Query:
    """The query without a filter, or without one of several tags."""
    left = [one for one in split_values(query.get(name, "")) if one != value] if name == "tag" else []
    return with_changes(kind, query, {name: join_values(left)})


def sorted_by(kind: MemoryType | None, query: Query, name: str) -> Query:
    """The query after a click on a column header: sorted by it, or in reverse order if it already was."""
    if name == BEST:
        return with_changes(kind, query, {"sort": "", "order": ""})
    sort = parse_choice(Sort, name, "sort")
    usual = BEST if has_words(query) else Sort.CREATED
    is_current = sort == query.get("sort", usual)
    order = "asc" if is_current and query.get("order") != "asc" else ""
    return with_changes(kind, query, {"sort": "" if sort == usual else sort, "order": order})


def listing_of(kind: MemoryType | None, query: Query, *, governs: bool) -> Listing:
    """The listing for a query. Admins see the memories of all butlers unless they filter by one."""
    _check_choices(kind, query)
    time_from, time_to = _timestamp(query, "from"), _timestamp(query, "to")
    if time_from and time_to and time_from >= time_to:
        raise InvalidInput(
            "“Until” is before “From”.",
            recovery="Change or clear one of the two days.",
        )
    words, phrase = split_search(query.get("q", ""))
    butler, scope = query.get("butler"), query.get("scope")
    is_episode = kind is MemoryType.EPISODE
    return Listing(
        type=kind,
        scope=scope or (EVERY_SCOPE if governs and not (is_episode and butler) else None),
        butler=butler if is_episode else None,
        learned_by=None if is_episode else butler,
        subject=query.get("subject"),
        predicate=query.get("predicate"),
        validity=() if query.get("validity") == EVERYTHING else split_values(query.get("validity", "")) or IN_USE,
        permanence=split_values(query.get("permanence", "")),
        maturity=split_values(query.get("maturity", "")),
        tier=parse_choice(Tier, query["tier"], "tier") if "tier" in query else None,
        tags=split_values(query.get("tag", "")),
        importance_min=_number(query, "importance_min"),
        importance_max=_number(query, "importance_max"),
        time_from=time_from,
        time_to=time_to,
        words=words,
        contains=phrase,
        pinned=True if query.get("pinned") else None,
        unused=bool(query.get("unused")),
        sort=_sort(query),
        descending=query.get("order") != "asc",
    )


def has_words(query: Query) -> bool:
    words, phrase = split_search(query.get("q", ""))
    return bool(words) and not phrase


def found_note(found: Found) -> str:
    """Whether the best matches have the words or are only close in meaning."""
    close = len(found.items) - found.with_words
    if found.items and not found.with_words:
        return f"Nothing has these words. {close:,} {'is' if close == 1 else 'are'} close in meaning."
    parts = ["best match first"]
    if close:
        parts.append(f"{close:,} close in meaning")
    if found.more:
        parts.append("sort by date to see all that contain the words")
    return f"· {'; '.join(parts)}" if found.items else ""


def type_links(kind: MemoryType | None, query: Query, counts: Mapping[MemoryType, int]) -> list[Props]:
    """All and each type, as links that keep the filters that the type has."""
    entries: list[tuple[str, str, MemoryType | None, int | None]] = [
        ("all", "All", None, sum(counts.values()) if counts else None),
        *((str(one), f"{one.capitalize()}s", one, counts.get(one, 0) if counts else None) for one in MemoryType),
    ]
    return [
        {
            "name": name,
            "label": label,
            "href": url_for(f"/{of}s" if of else "/memories", in_type(of, query)),
            "current": of == kind,
            "count": "" if count is None else f"{count:,}" if count <= MAX_COUNT else f"{MAX_COUNT:,}+",
        }
        for name, label, of, count in entries
    ]


def _sort(query: Query) -> Sort:
    name = query.get("sort", BEST)
    return Sort.CREATED if name == BEST else parse_choice(Sort, name, "sort")


def split_search(text: str) -> tuple[str | None, str | None]:
    """Split a search into its words and the first quoted phrase."""
    phrases = [parsed.strip() for parsed in _PHRASE.findall(text) if parsed.strip()]
    words = " ".join([*_PHRASE.sub(" ", text).split(), *phrases[1:]])
    return words or None, phrases[0] if phrases else None


def filter_fields(kind: MemoryType | None) -> list[Props]:
    return [{"name": name, "label": _label(kind, name), **_form(kind, name)} for name in _FILTERS[kind] if name != "q"]


def active_filters(kind: MemoryType | None, query: Query) -> list[Props]:
    """The active filters. Timestamps are formatted by the browser, which knows the viewer's time zone."""
    return [
        {
            "name": name,
            "value": value,
            "label": _label(kind, name),
            "text": visible_text(_value_text(kind, name, value)),
            "form": "timestamp" if name in ("from", "to") else "",
            "is_invalid": _invalid_value(name, value) is not None,
        }
        for name in _FILTERS[kind]
        if name in query
        for value in (split_values(query[name]) if name == "tag" else [query[name]])
    ]


def sort_options(kind: MemoryType | None, *, with_words: bool = False) -> list[Props]:
    """The orders of a list; with words also that of the best match."""
    best = [{"name": BEST, "label": "Best match"}] if with_words else []
    return [*best, *({"name": str(sort), "label": _SORTS[sort]} for sort in sorts_of(kind))]


def views(kind: MemoryType | None) -> list[Props]:
    """Saved views that every store has."""
    known = [
        {"name": "In use", "query": {}},
        {"name": "Fading", "query": {"validity": str(Validity.FADING)}},
        {"name": "Never used", "query": {"unused": YES}},
        {"name": "Pinned", "query": {"pinned": YES}},
        {"name": "Forgotten", "query": {"validity": str(Validity.RETRACTED)}},
    ]
    fades = kind is not MemoryType.EPISODE
    return [view for view in known if fades or view["name"] != "Fading"]


def page_position(page: Page[Any]) -> str:
    """The position of a page in the list: 51–100 of 1,234."""
    count, first = len(page.items), page.start + 1
    if not count:
        return "0 results"
    if page.total_at_least is not None:
        return f"{first:,}–{page.start + count:,} of more than {page.total_at_least:,}"
    return f"{first:,}–{page.start + count:,} of {max(page.total or 0, page.start + count):,}"


def is_default(query: Query) -> bool:
    """True for the unfiltered first page, newest first."""
    return not query.keys() - {"open"}


def is_filtered(kind: MemoryType | None, query: Query) -> bool:
    return any(name in query for name in _FILTERS[kind])


def split_values(text: str) -> tuple[str, ...]:
    """Split comma-separated values. A backslash escapes a comma or a backslash; before any other character it is
    literal, because URLs are also written by hand."""
    return tuple(_ESCAPED.sub(r"\1", part).strip() for part in _VALUE.findall(text) if part.strip())


def join_values(parts: Sequence[str]) -> str:
    return ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in parts)


def _invalid_value(name: str, text: str) -> str | None:
    """The first value that is not one of the choices."""
    for one in split_values(text) if name in _CLOSED and text != EVERYTHING else ():
        try:
            parse_choice(_CLOSED[name], one, name)
        except InvalidInput:
            return one
    return None


def _check_choices(kind: MemoryType | None, query: Query) -> None:
    for name in _CLOSED:
        invalid = _invalid_value(name, query.get(name, ""))
        if invalid:
            choices = ", ".join(label for value, label in _choices(kind)[name].items() if value)
            raise InvalidInput(
                f"There is no {_LABELS[name].lower()} “{visible_text(invalid[:40])}”.",
                recovery=f"Choose one of: {choices}.",
            )


def _number(query: Query, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{_LABELS[name]} must be a number from 1 to 10.") from None


def _timestamp(query: Query, name: str) -> datetime | None:
    text = query.get(name)
    if text is None:
        return None
    try:
        # A plus sign in a URL is decoded as a space.
        parsed = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise InvalidInput(f"{_LABELS[name]} must be a timestamp like 2026-03-01T00:00:00Z.") from None
    return parsed if parsed.tzinfo else parsed.astimezone()


def _label(kind: MemoryType | None, name: str) -> str:
    return "Butler" if (kind, name) == (MemoryType.EPISODE, "butler") else _LABELS[name]


def _form(kind: MemoryType | None, name: str) -> Props:
    choices = _choices(kind).get(name)
    if choices:
        return {"form": "choice", "choices": [{"value": value, "label": label} for value, label in choices.items()]}
    if name in ("from", "to"):
        return {"form": "day"}
    return {"form": "tag" if name == "tag" else "text"}


def _choices(kind: MemoryType | None) -> dict[str, dict[str, str]]:
    states = {str(state): _STATES[state] for state in _STATES_OF[kind]}
    tiers = {str(tier): _TIERS[tier] for tier, members in MEMBERS.items() if kind is None or kind in members.types}
    scale = {str(number): str(number) for number in range(1, 11)}
    return {
        "validity": {"": "In use", **states, EVERYTHING: "Everything"},
        "permanence": {"": "Any", **_enum_labels(Permanence)},
        "maturity": {"": "Any", **_enum_labels(Maturity)},
        "tier": {"": "Any", **tiers},
        "importance_min": {"": "Any", **scale},
        "importance_max": {"": "Any", **scale},
        "pinned": {"": "Any", YES: "Yes"},
        "unused": {"": "Any", YES: "Yes"},
    }


def _enum_labels(words: type[StrEnum]) -> dict[str, str]:
    return {str(word): str(word).replace("_", " ").capitalize() for word in words}


def _value_text(kind: MemoryType | None, name: str, value: str) -> str:
    choices = _choices(kind).get(name, {})
    return " or ".join(choices.get(one, one) for one in split_values(value)) if choices else value
