"""The export file format: the fields of each record, checksums, and the mapping of ids for an import with new ids.

One JSON object per line. The first line is the header, the last one the end; between them are the records, kind by
kind in the order of `KINDS`. Every line has a checksum of its own text, and the end one of everything above it.

The header has the version of the format. A file of the same version may come from a newer program: an import ignores
fields that it does not know, with a note, and reads a missing field that allows null as null.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

from memory_butler.errors import InvalidInput
from memory_butler.models import Episode, Fact, Origin, Rule
from memory_butler.models.unreadable import SEALED_MARK
from memory_butler.models.wire.codec import NONE, record_fields

FORMAT = "memory-butler"
VERSION = 1
HEADER, END = "header", "end"
LINE_BYTES = 8_000_000

_TYPES: dict[Any, str] = {
    UUID: "uuid",
    datetime: "time",
    int: "whole",
    float: "number",
    bool: "flag",
    list[str]: "texts",
    dict[str, Any]: "object",
}


def _columns(memory: type) -> str:
    """The fields of a memory, from its record."""
    parts = ["content_hash:bytes"]
    for field in record_fields(memory):
        optional = NONE in get_args(field.hint)
        kind = get_args(field.hint)[0] if optional else field.hint
        type_name = "ref" if field.mark.prefix is not None else _TYPES.get(kind, "text")
        # `consolidated` follows from the status.
        if not field.mark.hidden and field.name != "consolidated":
            parts.append(f"{field.name}:{type_name}{'?' if optional else ''}")
    return " ".join(parts)


# The fields of each kind of record, by name and type. A question mark allows null, and allows the field to be missing.
KINDS: dict[str, str] = {
    "butler": "butler:text created_at:time",
    "episode": _columns(Episode),
    "tombstone": "episode_id:uuid ref:ref butler:text observed_at:time created_at:time deleted_at:time reason:text",
    "fact": _columns(Fact),
    "rule": _columns(Rule),
    "application": "id:uuid rule_id:uuid outcome:text reason:text? butler:text session_id:text? created_at:time "
    "request_id:text? withdraws:uuid?",
    "link": "source_type:text source_id:uuid target_type:text target_id:uuid relation:text created_at:time "
    "request_id:text?",
    "alias": "id:uuid subject:text alias:text alias_label:text created_at:time request_id:text? validity:text",
    "distilled": "episode_id:uuid key:bytes run_id:uuid",
    "text": "memory_id:uuid hash:bytes body:text",
    "event": "id:uuid seq:whole event_type:text entity_type:text entity_id:uuid? occurred_at:time actor:text "
    "request_id:text? subrequest_id:text? segment_id:text? session_id:text? group_id:uuid? payload_version:whole "
    "payload:object text_hash:bytes? undoes:uuid?",
    "reference": "memory_id:uuid seq:whole referenced_at:time session_id:text?",
}
# Kinds that an export without history leaves out.
HISTORY = ("text", "event", "reference")
FIELDS: dict[str, dict[str, str]] = {
    kind: dict(field.split(":", 1) for field in text.split()) for kind, text in KINDS.items()
}
# Fields that name another record of the same kind, which must be written first.
PARENTS = {"fact": "supersedes_id", "application": "withdraws"}

# Fields that files of earlier versions do not have.
_ASSUMED = {"origin": Origin.AGENT.value}

_BYTES = re.compile(r"\\x(?:[0-9a-f]{2})*")
_REF = re.compile(r"[0-9a-z]{4,13}")
_SUM = re.compile(rb', "sum": "([0-9a-f]{16})"\}$')
_TAIL_BITS = 74

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The tenant and time of an export, and the number of records of each kind."""

    tenant: str
    exported_at: str
    last_seq: int
    last_ref: int
    events: bool
    counts: dict[str, int]
    # The keys of encrypted texts, each encrypted with the master key.
    keys: tuple[dict[str, Any], ...] = ()

    @property
    def records(self) -> int:
        return sum(self.counts.values())


def seal(body: str) -> bytes:
    """Add the checksum to a line; `body` is a JSON object as text."""
    text = body.encode()
    return text[:-1] + b', "sum": "%s"}\n' % _digest(text).encode()


def header_line(header: Header) -> bytes:
    return seal(
        json.dumps({"record": HEADER, "format": FORMAT, "version": VERSION, **asdict(header)}, ensure_ascii=False)
    )


def record_line(kind: str, row: str) -> bytes:
    """The line of a record; `row` is a JSON object as text."""
    return seal(f'{{"record": "{kind}", {row[1:]}')


def end_line(lines: int, digest: str) -> bytes:
    return seal(json.dumps({"record": END, "lines": lines, "sha256": digest}))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


class DamagedFile(InvalidInput):
    """The file is damaged or was changed; nothing was stored."""

    default_recovery = "Export the tenant again, or copy the file again; do not edit it."


def damaged(number: int, what: str) -> DamagedFile:
    return DamagedFile(f"Line {number}: {what} Nothing was stored.")


def parse_line(number: int, line: bytes) -> Record:
    """Parse a line after verifying its checksum."""
    found = _SUM.search(line.rstrip(b"\n"))
    if not line.endswith(b"\n") or not found:
        raise damaged(number, "it is cut off, or it is not a line of an export.")
    text = line[: found.start()] + b"}"
    if _digest(text) != found[1].decode():
        raise damaged(number, "it was changed or damaged: its checksum does not match.")
    try:
        row = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise damaged(number, "it is not valid JSON.") from None
    if not isinstance(row, dict):
        raise damaged(number, "it is not a JSON object.")
    return row


def _no_constant(name: str) -> None:
    raise ValueError(name)


def read_header(number: int, row: Record) -> Header:
    if row.get("record") != HEADER or row.get("format") != FORMAT:
        raise damaged(number, "this is not an export of Memory Butler.")
    if row.get("version") != VERSION:
        raise _newer(f"The file has version {row.get('version')}; this program reads version {VERSION}.")
    wanted = {"tenant": str, "exported_at": str, "last_seq": int, "last_ref": int, "counts": dict, "events": bool}
    if any(type(row.get(name)) is not kind for name, kind in wanted.items()):
        raise damaged(number, "its header is incomplete.")
    if any(type(count) is not int for count in row["counts"].values()):
        raise damaged(number, "its header has a count that is not a number.")
    if unknown := sorted(set(row["counts"]) - set(KINDS)):
        raise _newer(f"The file has records of the kind {unknown[0]!r}, which this program does not know.")
    keys = row.get("keys") or ()
    return Header(**{name: row[name] for name in wanted}, keys=tuple(key for key in keys if isinstance(key, dict)))


def _newer(problem: str) -> InvalidInput:
    return InvalidInput(problem, recovery="Import it with the version of Memory Butler that wrote it, or a later one.")


def check(number: int, row: Record) -> tuple[str, list[str]]:
    """Check that a record has the fields of its kind, each of its type; returns the kind and unknown fields.

    Unknown fields are remapped from the record. Missing fields that allow null are added.
    """
    kind = row.pop("record", None)
    fields = FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise damaged(number, f"a record {kind!r} is not known.")
    unknown = sorted(row.keys() - fields.keys())
    for name in unknown:
        del row[name]
    for name, type_name in fields.items():
        if name in _ASSUMED:
            row.setdefault(name, _ASSUMED[name])
        if name not in row and not type_name.endswith("?"):
            raise damaged(number, f"the {kind} has no field {name!r}.")
        row.setdefault(name, None)
        value = row[name]
        if not (value is None and type_name.endswith("?")) and not _CHECKS[type_name.removesuffix("?")](value):
            raise damaged(number, f"{name!r} of the {kind} is not of the form {type_name.removesuffix('?')}.")
    for words, digest in (("content", "content_hash"), ("body", "hash")):
        # The hash of an encrypted text is keyed, or that of an earlier form; the ciphertext is authenticated.
        if digest not in row or SEALED_MARK in row[words]:
            continue
        if bytes.fromhex(row[digest][2:]) != hashlib.sha256(row[words].encode()).digest():
            raise damaged(number, f"{words!r} of the {kind} does not match {digest!r}.")
    assert isinstance(kind, str)
    return kind, unknown


def _is_uuid(value: object) -> bool:
    if not isinstance(value, str) or len(value) != 36:
        return False
    try:
        return str(UUID(value)) == value
    except ValueError:
        return False


def _is_moment(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\x00" not in value and not re.search("[\ud800-\udfff]", value)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "uuid": _is_uuid,
    "time": _is_moment,
    "text": _is_text,
    "ref": lambda value: isinstance(value, str) and bool(_REF.fullmatch(value)),
    "bytes": lambda value: isinstance(value, str) and bool(_BYTES.fullmatch(value)),
    "texts": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "whole": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "flag": lambda value: type(value) is bool,
    "object": lambda value: isinstance(value, dict),
}


@dataclass(frozen=True, slots=True)
class RowMapping:
    """Mapping of imported rows to a tenant: its name, and the offsets of sequence numbers and ids.

    A new id is the old one with an offset added to its random part. So each id has one new id whatever the order of
    lines, ids of the same millisecond keep their order, and the same file always gives the same ids.
    """

    tenant: str
    after_seq: int = 0
    id_offset: int = 0

    def row(self, kind: str, row: Record) -> Record:
        mapped = dict(row)
        if self.id_offset:
            for name, type_name in FIELDS[kind].items():
                if type_name.startswith("uuid") and row[name] is not None:
                    mapped[name] = self.id(row[name])
        if "seq" in mapped:
            mapped["seq"] += self.after_seq
        if kind == "event":
            mapped["payload"] = self._payload(row["payload"])
        return mapped

    def id(self, text: str) -> str:
        number = UUID(text).int
        high, low = number >> 64, number & (1 << 64) - 1
        tail = ((high & 0xFFF) << 62 | low & (1 << 62) - 1) + self.id_offset & (1 << _TAIL_BITS) - 1
        return str(UUID(int=(high & ~0xFFF | tail >> 62) << 64 | low & 0b11 << 62 | tail & (1 << 62) - 1))

    def _payload(self, payload: Record) -> Record:
        mapped = dict(payload)
        for part in ("state", "tombstone"):
            if isinstance(mapped.get(part), dict):
                mapped[part] = {**mapped[part], "tenant_id": self.tenant}
        if self.after_seq and isinstance(mapped.get("promotion"), dict):
            seqs = {name: mapped["promotion"][name] + self.after_seq for name in ("first_seq", "last_seq")}
            mapped["promotion"] = mapped["promotion"] | seqs
        return self._map_ids(mapped) if self.id_offset else mapped

    def _map_ids(self, payload: Record) -> Record:
        mapped = self._map_fields(payload, ("restored", "supersedes", "run"))
        for part, names in _IDS_IN.items():
            inside = mapped.get(part)
            if isinstance(inside, dict):
                mapped[part] = self._map_fields(inside, names)
            elif isinstance(inside, list) and names:
                mapped[part] = [self._map_fields(one, names) for one in inside]
            elif isinstance(inside, list):
                mapped[part] = [self.id(one) for one in inside]
        return mapped

    def _map_fields(self, row: Record, names: tuple[str, ...]) -> Record:
        return row | {name: self.id(row[name]) for name in names if isinstance(row.get(name), str)}


# Fields with ids in the payload of an event.
_IDS_IN: dict[str, tuple[str, ...]] = {
    "state": ("id", "source_episode_id", "supersedes_id"),
    "tombstone": ("episode_id",),
    "application": ("id", "rule_id", "withdraws"),
    "correction": ("by", "of"),
    "links": ("source_id", "target_id"),
    "ids": (),
}


def with_new_ids(mapping: RowMapping, digest: str) -> RowMapping:
    """The mapping with an offset of ids that is derived from the checksum of the file."""
    return replace(mapping, id_offset=int(digest, 16) % (1 << _TAIL_BITS - 1) | 1)
