"""Export and import: a tenant comes out of a file as it went in, or not at all."""

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewFact, Principal, Role
from memory_butler.operations.history import undo
from memory_butler.operations.history.replay import replay
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.export_file import atomic_file
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.writing import remember
from memory_butler.policy.access.roles import switch_tenant
from memory_butler.policy.transfer import export_format
from memory_butler.resources import Resources
from memory_butler.store.transfer import tenant_rows as store

Connection = psycopg.Connection[Any]
KEPT = ("episodes", "episode_tombstones", "facts", "rules", "rule_applications", "memory_links", "aliases",
        "butlers", "distilled_keys")  # fmt: skip
PAST = ("texts", "memory_events", "memory_references")
DERIVED = ("passages", "postings")


@pytest.fixture(params=[500, 2], ids=["in one go", "page by page"])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a small tenant comes, and as a large one does."""
    monkeypatch.setattr(store, "PAGE", request.param)
    monkeypatch.setattr("memory_butler.operations.transfer.import_.PAGE", request.param)


@pytest.mark.usefixtures("pages")
async def test_a_tenant_comes_out_as_it_went_in(
    source: Resources, other: Resources, tables: Any, tmp_path: Path, clock: Any
) -> None:
    """Every row of every table is the same but for the tenant, what is derived too, and the log still tells it all."""
    file = tmp_path / "memory.jsonl"
    told: list[tuple[str, int, int]] = []
    exported = await export(source, file, progress=lambda *step: told.append(step))
    assert told[-1] == ("Exporting", sum(exported.counts.values()), sum(exported.counts.values()))
    assert all(exported.counts[kind] for kind in export_format.KINDS if kind != "distilled")
    before = tables(source.settings.tenant)
    clock.move(days=3)
    imported = await import_(other, file)
    assert (imported.outcome, imported.source) == ("imported", source.settings.tenant)
    assert tables(other.settings.tenant) == before
    assert tables(source.settings.tenant) == before
    report = await replay(other)
    assert report.equal, report
    assert imported.indexed == sum(exported.counts[kind] for kind in ("episode", "fact", "rule"))


async def test_the_same_file_again_changes_nothing(
    source: Resources, other: Resources, tables: Any, tmp_path: Path, owner: Connection
) -> None:
    """Also not after the tenant has changed; and an import that was broken off before the index was made goes on."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    await import_(other, file)
    owner.execute("DELETE FROM memory.passages WHERE tenant_id = %s", [other.settings.tenant])
    again = await import_(other, file)
    assert again.outcome == "already there"
    assert again.indexed == len(tables(other.settings.tenant, "episodes", "facts", "rules")["facts"]) + 2
    await remember.fact(other, NewFact(subject="user", predicate="pet", content="a cat"))
    state = tables(other.settings.tenant)
    assert (await import_(other, file)).outcome == "already there"
    assert tables(other.settings.tenant) == state


async def test_what_comes_after_an_import_is_counted_on(source: Resources, other: Resources, tmp_path: Path) -> None:
    """New memories get references that no imported one has, and new events come after the imported ones."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    await import_(other, file)
    here = await remember.fact(other, NewFact(subject="user", predicate="pet", content="a cat"))
    there = await remember.fact(source, NewFact(subject="user", predicate="pet", content="a cat"))
    assert here.ref == there.ref
    assert (await replay(other)).equal


async def test_ids_are_made_anew_everywhere(
    source: Resources, other: Resources, tables: Any, tmp_path: Path, owner: Connection
) -> None:
    """No id of the source is left, references and order stay, and history, undo and replay still hold together."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    await import_(other, file, ids_anew=True)
    old, new = tables(source.settings.tenant), tables(other.settings.tenant)
    assert {name: len(rows) for name, rows in new.items()} == {name: len(rows) for name, rows in old.items()}
    ids = {json.loads(row)[key] for name in ("episodes", "facts", "rules", "aliases", "memory_events",
           "rule_applications") for row in old[name] for key in ("id",)}  # fmt: skip
    everything = json.dumps(new)
    assert ids
    assert not [one for one in ids if one in everything]
    for name in ("facts", "rules", "episodes"):
        by_id = [[(UUID(json.loads(row)["id"]), json.loads(row)["ref"]) for row in t[name]] for t in (old, new)]
        assert [ref for _, ref in sorted(by_id[0])] == [ref for _, ref in sorted(by_id[1])]
    report = await replay(other)
    assert report.equal, report
    assert (await import_(other, file, ids_anew=True)).outcome == "already there"
    corrected = owner.execute(
        "SELECT id FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'fact.retracted'",
        [other.settings.tenant],
    ).fetchone()
    assert corrected
    assert (await undo.undo(other, str(corrected[0]))).undone


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("ids_anew", [False, True])
async def test_a_file_without_history_becomes_a_log_of_what_is(
    source: Resources, other: Resources, tables: Any, tmp_path: Path, ids_anew: bool
) -> None:
    """The memories are the same, and one event tells of each: a replay of them equals the tables."""
    file = tmp_path / "memory.jsonl"
    exported = await export(source, file, events=False)
    assert not set(exported.counts) & set(export_format.HISTORY)
    await import_(other, file, ids_anew=ids_anew)
    if not ids_anew:
        assert tables(other.settings.tenant, *KEPT) == tables(source.settings.tenant, *KEPT)
    report = await replay(other)
    assert report.equal, report
    assert report.tables["episode_tombstones"].rebuilt == 1
    assert report.removed_texts == ()
    assert (await import_(other, file, ids_anew=ids_anew)).outcome == "already there"


async def test_an_operator_leaves_a_trace_in_another_tenant(
    source: Resources, other: Resources, tables: Any, tmp_path: Path, owner: Connection
) -> None:
    """Every look is on record there, also one that ends with it; what comes after such records is moved behind them."""
    file = tmp_path / "memory.jsonl"
    operator = Principal("home", "main", Role.OPERATOR)
    away = Caller(switch_tenant(operator, source.settings.tenant))
    await export(source, file, away)
    there = Caller(switch_tenant(operator, other.settings.tenant))
    await import_(other, file, there)
    assert tables(other.settings.tenant, *KEPT) == tables(source.settings.tenant, *KEPT)
    seqs = owner.execute(
        "SELECT seq, event_type FROM memory.memory_events WHERE tenant_id = %s AND entity_type = 'access' ORDER BY seq",
        [other.settings.tenant],
    ).fetchall()
    assert [name for _, name in seqs] == ["operator.visited", "operator.visited", "store.imported"]
    assert seqs[0][0] == 1
    assert (await import_(other, file, there, dry_run=True)).outcome == "would be found already there"
    assert (await import_(other, file, there)).outcome == "already there"
    with pytest.raises(Conflict):
        await import_(other, file, there, ids_anew=True)
    visits = "SELECT count(*) FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'operator.visited'"
    assert owner.execute(visits, [other.settings.tenant]).fetchone() == (5,)
    assert (await replay(other)).equal


async def test_export_and_import_are_for_those_who_govern(
    source: Resources, agent: Callable[..., Caller], tmp_path: Path
) -> None:
    """An agent gets neither, no file appears, and a tenant that is not there is not made by asking for it."""
    file = tmp_path / "memory.jsonl"
    with pytest.raises(PermissionDenied):
        await export(source, file, agent())
    with pytest.raises(PermissionDenied):
        await import_(source, file, agent())
    nobody = Caller(switch_tenant(Principal("home", "main", Role.OPERATOR), "nobody-there"))
    with pytest.raises(NotFound):
        await export(source, file, nobody)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_is_for_nobody_else_and_has_its_name_when_it_is_whole(
    source: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is readable by its owner alone, another file is not written over, and a broken export leaves nothing."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    whole = file.read_bytes()
    with pytest.raises(InvalidInput, match="exists already"):
        await export(source, file)
    with (
        pytest.raises(InvalidInput, match="exists already"),
        atomic_file(tmp_path / "late.jsonl", replace=False),
    ):
        (tmp_path / "late.jsonl").write_text("came in between")
    assert (tmp_path / "late.jsonl").read_text() == "came in between"
    (tmp_path / "late.jsonl").unlink()
    broken = replace(source, clock=lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        await export(broken, file, replace=True)
    assert file.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [file]
    await export(source, file, replace=True)
    assert file.read_bytes() == whole


async def test_a_tenant_with_memories_is_left_alone(
    source: Resources, other: Resources, tables: Any, tmp_path: Path
) -> None:
    """Nothing is mixed: the import is refused, with what to do instead."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    await remember.fact(other, NewFact(subject="user", predicate="pet", content="a cat"))
    before = tables(other.settings.tenant)
    with pytest.raises(Conflict, match="has memories already"):
        await import_(other, file)
    with pytest.raises(Conflict, match="has memories already"):
        await import_(source, file)
    assert tables(other.settings.tenant) == before


async def test_a_dry_run_says_what_would_come(source: Resources, other: Resources, tables: Any, tmp_path: Path) -> None:
    """The file is checked to its end and nothing is stored, not even the tenant."""
    file = tmp_path / "memory.jsonl"
    exported = await export(source, file)
    planned = await import_(other, file, dry_run=True)
    assert (planned.outcome, planned.counts) == ("would be imported", exported.counts)
    assert not any(tables(other.settings.tenant).values())


def test_every_field_is_documented() -> None:
    """docs/guides/import-export.md names each record and each of its fields, and nothing that is not there."""
    page = (Path(__file__).parents[3] / "docs" / "guides" / "import-export.md").read_text(encoding="utf-8")
    for kind, fields in export_format.FIELDS.items():
        section = page.split(f"\n#### `{kind}`\n", 1)[1].split("\n####", 1)[0].split("\n## ", 1)[0]
        named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert sorted(named) == sorted(fields), kind
