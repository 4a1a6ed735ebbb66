"""Files that were changed, cut or written by a newer program."""

import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.operations.history.replay import replay
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.policy.transfer import export_format
from memory_butler.resources import Resources


def _resealed(lines: list[bytes]) -> bytes:
    """The file as somebody would make it who knows how its checksums come about."""
    rows = [json.loads(line) for line in lines[:-1]]
    sealed = [export_format.seal(json.dumps({k: v for k, v in row.items() if k != "sum"})) for row in rows]
    digest = hashlib.sha256(b"".join(sealed)).hexdigest()
    return b"".join([*sealed, export_format.end_line(len(sealed), digest)])


def _changed(lines: list[bytes], record: str, /, **values: Any) -> tuple[bytes, int]:
    number = next(n for n, line in enumerate(lines) if json.loads(line)["record"] == record)
    row = json.loads(lines[number]) | values
    lines[number] = json.dumps(row).encode() + b"\n"
    return _resealed(lines), number + 1


async def test_damage_is_told_by_its_line(source: Resources, other: Resources, tables: Any, tmp_path: Path) -> None:
    """Whatever was changed, cut, moved or added: the file is refused before anything is stored."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    cases: list[tuple[bytes, str]] = [
        (whole.replace(b"dark green", b"dark grown", 1), r"Line \d+: it was changed or damaged"),
        (b"".join(lines[:-1]), f"Line {len(lines)}: the file ends before its end"),
        (whole[:-30], f"Line {len(lines)}: it is cut off"),
        (b"".join([*lines[:5], *lines[6:]]), f"Line {len(lines) - 1}: lines above it are missing"),
        (b"".join([*lines[:5], lines[6], lines[5], *lines[7:]]), f"Line {len(lines)}: lines above it"),
        (whole + b"more\n", f"Line {len(lines) + 1}: there is something after the end"),
        (b"", "Line 1: the file ends"),
        (b'{"type":"entity"}\n', "Line 1: this is not an export"),
        (whole.replace(b"\n", b"\xff\n", 1), "Line 1: "),
        (_resealed([json.dumps(json.loads(lines[0]) | {"version": 9}).encode(), *lines[1:]]), "has version 9"),
    ]
    for record, values, said in (
        ("fact", {"content": "red"}, "'content' of the fact does not match 'content_hash'"),
        ("fact", {"importance": "high"}, "'importance' of the fact is not of the form whole"),
        ("text", {"body": "{}"}, "'body' of the text does not match 'hash'"),
        ("event", {"seq": 0}, "the event's number 0 is out of order"),
        ("rule", {"created_at": "yesterday"}, "'created_at' of the rule is not of the form time"),
        ("rule", {"maturity": "holy"}, r"up to line \d+: The store refused the change"),
        ("fact", {"supersedes_id": str(uuid4())}, "the record that it refers to is not in the file"),
        ("link", {"target_id": str(uuid4())}, r"up to line \d+: The store refused the change"),
        ("alias", {"record": "spell"}, "a record 'spell' is not known"),
    ):
        text, number = _changed(list(lines), record, **values)
        cases.append((text, f"Line {number}: {said}" if "refers to" not in said else said))
    for text, said in cases:
        file.write_bytes(text)
        with pytest.raises(InvalidInput, match=said):
            await import_(other, file)
        assert not any(tables(other.settings.tenant).values()), said
    file.write_bytes(whole)
    assert (await import_(other, file)).outcome == "imported"


async def test_fields_that_are_not_known_are_ignored_with_a_note(
    source: Resources, other: Resources, tables: Any, tmp_path: Path
) -> None:
    """A newer program may have added fields: they are named and not stored, not even a tenant. A missing field that
    may be null is null; without any other field the record is damaged."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    lines = file.read_bytes().splitlines(keepends=True)
    newer, _ = _changed(list(lines), "fact", tenant_id="somebody", source_url="https://example.org")
    file.write_bytes(newer)
    planned = await import_(other, file, dry_run=True)
    assert [note.split(" is ")[0] for note in planned.notes] == [
        "The field 'source_url' of 1 fact record",
        "The field 'tenant_id' of 1 fact record",
    ]
    file.write_bytes(_without(list(lines), "fact", "content"))
    with pytest.raises(InvalidInput, match="the fact has no field 'content'"):
        await import_(other, file)
    file.write_bytes(_without(newer.splitlines(keepends=True), "rule", "judged_from"))
    done = await import_(other, file)
    assert (done.outcome, len(done.notes)) == ("imported", 2)
    assert len(tables(other.settings.tenant)["facts"]) == done.counts["fact"]
    assert (await replay(other)).equal


async def test_records_that_are_not_known_need_a_newer_program(
    source: Resources, other: Resources, tmp_path: Path
) -> None:
    """A kind of record cannot be ignored: the file is refused, and is not said to be damaged."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    lines = file.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["counts"]["picture"] = 1
    file.write_bytes(_resealed([json.dumps(header).encode(), *lines[1:]]))
    with pytest.raises(
        InvalidInput, match="records of the kind 'picture', which this program does not know"
    ) as refused:
        await import_(other, file)
    assert type(refused.value) is InvalidInput


def _without(lines: list[bytes], record: str, field: str) -> bytes:
    number = next(n for n, line in enumerate(lines) if json.loads(line)["record"] == record)
    row = json.loads(lines[number])
    del row[field]
    lines[number] = json.dumps(row).encode() + b"\n"
    return _resealed(lines)


async def test_an_import_admits_no_more_than_other_writes(
    source: Resources, other: Resources, tables: Any, tmp_path: Path
) -> None:
    """A file with valid checksums, but with a text that is too long for a fact."""
    file = tmp_path / "export.jsonl"
    await export(source, file)
    lines = file.read_bytes().splitlines()
    content = "x" * 5000
    digest = "\\x" + hashlib.sha256(content.encode()).hexdigest()
    changed, number = _changed(lines, "fact", content=content, content_hash=digest)
    file.write_bytes(changed)
    with pytest.raises(InvalidInput, match=f"(?s)Line {number}.*5000 characters"):
        await import_(other, file)
    assert not tables(other.settings.tenant, "facts")["facts"]
