"""Entries of the inbox as rows of the page."""

from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models import consolidation_rows
from memory_butler.adapters.dashboard.view_models.phrases import truncate
from memory_butler.adapters.dashboard.view_models.word_diff import differences
from memory_butler.english.text.normalize import as_words
from memory_butler.operations.browse.inbox import Entry, EntryKind, Source
from memory_butler.policy.memories.sentence import fact_sentence

Row = dict[str, Any]
SHOWN_CHARACTERS, SOURCE_CHARACTERS = 160, 120
_LABELS = {
    EntryKind.PROPOSAL: "Proposal",
    EntryKind.QUARANTINED: "Quarantined",
    EntryKind.DUPLICATE: "Possible duplicate",
}
_ACTIONS = {
    EntryKind.PROPOSAL: ("Approve", "Reject"),
    EntryKind.QUARANTINED: ("Approve", "Reject"),
    EntryKind.DUPLICATE: ("Forget this one", "Keep both"),
}


def inbox_row(entry: Entry) -> Row:
    approve, reject = _ACTIONS[entry.kind]
    return {
        "key": entry.key,
        "label": _LABELS[entry.kind],
        "kind": str(entry.kind),
        "type": entry.type,
        "about": [visible_text(as_words(one)) for one in entry.about or () if one and not one.startswith("note:")],
        "text": entry.text,
        "shown": visible_text(entry.text),
        "pieces": [list(one) for one in differences(entry.old_text, entry.text)] if entry.old_text else [],
        "why": visible_text(entry.why),
        "sources": [_source(one, entry.said) for one in entry.sources],
        "approve": approve,
        "reject": reject,
        "editable": entry.editable,
        "butler": visible_text(entry.butler),
        "href": _href(entry),
        "at_once": entry.kind is not EntryKind.PROPOSAL,
    }


def digest_row(entry: Entry) -> Row:
    """An entry in a sentence, with the words that it comes from."""
    said = fact_sentence(*entry.about, entry.text) if entry.about else entry.text
    source = f"“{truncate(entry.sources[0].text, SOURCE_CHARACTERS)}”" if entry.sources else visible_text(entry.why)
    shown = {"said": truncate(said, SHOWN_CHARACTERS), "why": source, "href": _href(entry)}
    return {**shown, "key": entry.key, "text": entry.text}


def _source(source: Source, said: str | None) -> Row:
    text = visible_text(source.text)
    quote = visible_text(said or "")
    before, found, after = text.partition(quote) if quote else (text, "", "")
    return {
        "ref": source.ref,
        "href": memory_path(*source.ref.split(":", 1)),
        "pieces": [piece for piece in ([False, before], [True, found], [False, after]) if piece[1]],
        "at": source.at.isoformat(),
        "butler": visible_text(source.butler),
    }


def _href(entry: Entry) -> str:
    if entry.run:
        return url_for(consolidation_rows.PATH, {"run": entry.run})
    return memory_path(entry.type, entry.ref or "")
