"""What a list's address says, as the store is asked for it and as the filters show it. Nothing is drawn here.

An address holds: q (words, and a phrase in quotes), scope, butler, subject, predicate, validity, permanence, maturity,
tier, tag, importance_min, importance_max, from and to (moments), sort, order, and the cursor of a page. Several values
of one name stand with commas between them. Without a validity, what is in use is listed.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory_butler.adapters.dashboard.address import refuse_unknown, unknown_in
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.models.listings import Listing, Page, Sort
from memory_butler.operations.browse import SORTS
from memory_butler.policy.admission import choose
from memory_butler.policy.tiers import MEMBERS

Wanted = dict[str, str]
Drawn = dict[str, Any]

EVERYTHING = "all"
IN_USE = (str(Validity.ACTIVE), str(Validity.FADING))
LONGEST = 2000
_VALUE = re.compile(r"(?:\\[\\,]|[^,])+")
_MARKED = re.compile(r"\\([\\,])")
_PHRASE = re.compile(r'"([^"]*)"?')

_STATES = {
    Validity.ACTIVE: "Active",
    Validity.FADING: "Fading",
    Validity.SUPERSEDED: "Superseded",
    Validity.EXPIRED: "Expired",
    Validity.RETRACTED: "Forgotten",
}
# Which states a memory of a type can be in, as far as they are told apart from being in use.
_STATES_OF: dict[MemoryType, tuple[Validity, ...]] = {
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
    "importance_min": "Importance from",
    "importance_max": "Importance to",
    "from": "From",
    "to": "Until",
}
_FILTERS: dict[MemoryType, tuple[str, ...]] = {
    MemoryType.FACT: (
        *("q", "validity", "subject", "predicate", "scope", "butler", "tag", "permanence", "tier"),
        *("importance_min", "importance_max", "from", "to"),
    ),
    MemoryType.RULE: ("q", "validity", "maturity", "tier", "scope", "butler", "tag", "from", "to"),
    MemoryType.EPISODE: ("q", "validity", "butler", "tag", "importance_min", "importance_max", "from", "to"),
}
_ORDER = ("sort", "order", "cursor")
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


def read(kind: MemoryType, query: Mapping[str, Any]) -> Wanted:
    """What an address asks for, as far as this list knows it."""
    names = (*_FILTERS[kind], *_ORDER)
    said = {name: str(query[name]).strip()[:LONGEST] for name in names if query.get(name) is not None}
    return {name: value for name, value in said.items() if value}


def unknown(kind: MemoryType, query: Mapping[str, Any]) -> tuple[str, ...]:
    """What an address asks for that this list does not know."""
    return unknown_in(query, (*_FILTERS[kind], *_ORDER))


def refuse(kind: MemoryType, names: Sequence[str]) -> None:
    """Say that there are no such filters, and which there are."""
    refuse_unknown(names, _FILTERS[kind])


def changed(kind: MemoryType, wanted: Wanted, changes: Mapping[str, Any]) -> Wanted:
    """What is asked for after a change of filters: from the first page on."""
    return read(kind, {**wanted, **changes, "cursor": ""})


def added(kind: MemoryType, wanted: Wanted, name: str, value: str) -> Wanted:
    """One more value: of a tag they all hold, of anything else the last."""
    if name != "tag":
        return changed(kind, wanted, {name: value})
    return changed(kind, wanted, {"tag": together([*dict.fromkeys([*values(wanted.get("tag", "")), value])])})


def without(kind: MemoryType, wanted: Wanted, name: str, value: str) -> Wanted:
    """What is asked for when a filter is taken away."""
    left = [one for one in values(wanted.get(name, "")) if one != value] if name == "tag" else []
    return changed(kind, wanted, {name: together(left)})


def sorted_by(kind: MemoryType, wanted: Wanted, name: str) -> Wanted:
    """What is asked for when a column's head is clicked: by it, or the other way round."""
    sort = choose(Sort, name, "sort")
    is_same = sort == wanted.get("sort", Sort.CREATED)
    order = "asc" if is_same and wanted.get("order") != "asc" else ""
    return changed(kind, wanted, {"sort": "" if sort is Sort.CREATED else sort, "order": order})


def listing_of(kind: MemoryType, wanted: Wanted, *, governs: bool) -> Listing:
    """What the store is asked for. Whoever governs sees every butler's memories, unless they choose one's."""
    _check_choices(kind, wanted)
    time_from, time_to = _moment(wanted, "from"), _moment(wanted, "to")
    if time_from and time_to and time_from >= time_to:
        raise InvalidInput(
            "“Until” is before “From”, so nothing can be in between.",
            recovery="Change one of the days, or leave one out.",
        )
    words, phrase = searched(wanted.get("q", ""))
    butler, scope = wanted.get("butler"), wanted.get("scope")
    is_episode = kind is MemoryType.EPISODE
    return Listing(
        type=kind,
        scope=scope or (EVERY_SCOPE if governs and not (is_episode and butler) else None),
        butler=butler if is_episode else None,
        learned_by=None if is_episode else butler,
        subject=wanted.get("subject"),
        predicate=wanted.get("predicate"),
        validity=_validity(wanted.get("validity", "")),
        permanence=tuple(values(wanted.get("permanence", ""))),
        maturity=tuple(values(wanted.get("maturity", ""))),
        tier=choose(Tier, wanted["tier"], "tier") if "tier" in wanted else None,
        tags=tuple(values(wanted.get("tag", ""))),
        importance_min=_number(wanted, "importance_min"),
        importance_max=_number(wanted, "importance_max"),
        time_from=time_from,
        time_to=time_to,
        words=words,
        contains=phrase,
        sort=choose(Sort, wanted.get("sort", Sort.CREATED), "sort"),
        descending=wanted.get("order") != "asc",
    )


def searched(text: str) -> tuple[str | None, str | None]:
    """The words that were typed, and the first phrase in quotes among them."""
    phrases = [found.strip() for found in _PHRASE.findall(text) if found.strip()]
    words = " ".join([*_PHRASE.sub(" ", text).split(), *phrases[1:]])
    return words or None, phrases[0] if phrases else None


def filters_of(kind: MemoryType) -> list[Drawn]:
    """The filters that fit a type, with what can be chosen."""
    return [{"name": name, "label": _label(kind, name), **_form(kind, name)} for name in _FILTERS[kind] if name != "q"]


def chips_of(kind: MemoryType, wanted: Wanted) -> list[Drawn]:
    """The filters that are set, each to be taken away. A moment stays one: the browser knows the viewer's zone."""
    return [
        {
            "name": name,
            "value": value,
            "label": _label(kind, name),
            "words": text_of(_words(kind, name, value)),
            "form": "moment" if name in ("from", "to") else "",
            "is_strange": _strange(name, value) is not None,
        }
        for name in _FILTERS[kind]
        if name in wanted
        for value in (values(wanted[name]) if name == "tag" else [wanted[name]])
    ]


def sorts_of(kind: MemoryType) -> list[Drawn]:
    return [{"name": str(sort), "label": _SORTS[sort]} for sort in SORTS[kind]]


def place_words(page: Page[Any]) -> str:
    """Where in the list a page is: 51–100 of 1,234."""
    shown, first = len(page.items), page.start + 1
    if not shown:
        return "None"
    if page.total_at_least is not None:
        return f"{first:,}–{page.start + shown:,} of more than {page.total_at_least:,}"
    return f"{first:,}–{page.start + shown:,} of {max(page.total or 0, page.start + shown):,}"


def is_plain(wanted: Wanted) -> bool:
    """Whether this is the list as it is first seen, where what is new stands at the top."""
    return not wanted


def is_narrowed(kind: MemoryType, wanted: Wanted) -> bool:
    return any(name in wanted for name in _FILTERS[kind])


def values(text: str) -> list[str]:
    """Values with commas between them; a comma or a backslash inside one has a backslash before it. Before anything
    else a backslash is just that, as somebody may write it by hand."""
    return [_MARKED.sub(r"\1", part).strip() for part in _VALUE.findall(text) if part.strip()]


def together(parts: Sequence[str]) -> str:
    return ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in parts)


def _validity(text: str) -> tuple[str, ...]:
    return () if text == EVERYTHING else tuple(values(text)) or IN_USE


def _strange(name: str, text: str) -> str | None:
    """The first of the values that is none of those that can be chosen."""
    for one in values(text) if name in _CLOSED and text != EVERYTHING else ():
        try:
            choose(_CLOSED[name], one, name)
        except InvalidInput:
            return one
    return None


def _check_choices(kind: MemoryType, wanted: Wanted) -> None:
    for name in _CLOSED:
        strange = _strange(name, wanted.get(name, ""))
        if strange:
            offered = ", ".join(label for value, label in _choices(kind)[name].items() if value)
            raise InvalidInput(
                f"There is no {_LABELS[name].lower()} “{text_of(strange[:40])}”.", recovery=f"Choose one of: {offered}."
            )


def _number(wanted: Wanted, name: str) -> int | None:
    text = wanted.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{_LABELS[name]} must be a number from 1 to 10.") from None


def _moment(wanted: Wanted, name: str) -> datetime | None:
    text = wanted.get(name)
    if text is None:
        return None
    try:
        # A plus sign in an address is read as a space.
        found = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise InvalidInput(f"{_LABELS[name]} must be a moment like 2026-03-01T00:00:00Z.") from None
    return found if found.tzinfo else found.astimezone()


def _label(kind: MemoryType, name: str) -> str:
    return "Butler" if (kind, name) == (MemoryType.EPISODE, "butler") else _LABELS[name]


def _form(kind: MemoryType, name: str) -> Drawn:
    choices = _choices(kind).get(name)
    if choices:
        return {"form": "choice", "choices": [{"value": value, "label": label} for value, label in choices.items()]}
    if name in ("from", "to"):
        return {"form": "day"}
    return {"form": "tag" if name == "tag" else "text"}


def _choices(kind: MemoryType) -> dict[str, dict[str, str]]:
    states = {str(state): _STATES[state] for state in _STATES_OF[kind]}
    tiers = {str(tier): _TIERS[tier] for tier, members in MEMBERS.items() if kind in members.types}
    scale = {str(number): str(number) for number in range(1, 11)}
    return {
        "validity": {"": "In use", **states, EVERYTHING: "Everything"},
        "permanence": {"": "Any", **_spelled(Permanence)},
        "maturity": {"": "Any", **_spelled(Maturity)},
        "tier": {"": "Any", **tiers},
        "importance_min": {"": "Any", **scale},
        "importance_max": {"": "Any", **scale},
    }


def _spelled(words: type[StrEnum]) -> dict[str, str]:
    return {str(word): str(word).replace("_", " ").capitalize() for word in words}


def _words(kind: MemoryType, name: str, value: str) -> str:
    choices = _choices(kind).get(name, {})
    return " or ".join(choices.get(one, one) for one in values(value)) if choices else value
