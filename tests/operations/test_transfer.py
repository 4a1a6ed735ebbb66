"""Export and import: a tenant comes out of a file as it went in, or not at all."""

import hashlib
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Principal, Question, Role
from memory_butler.operations import correct, forget, judge, pin, recall, remember, sweep, undo
from memory_butler.operations.export import export
from memory_butler.operations.import_ import import_
from memory_butler.operations.replay import replay
from memory_butler.operations.transfer_file import written_whole
from memory_butler.policy import transfer
from memory_butler.policy.roles import visiting
from memory_butler.store import transfer as store

Connection = psycopg.Connection[Any]
KEPT = ("episodes", "episode_tombstones", "facts", "rules", "rule_applications", "memory_links", "aliases",
        "butlers", "distilled_keys")  # fmt: skip
PAST = ("texts", "memory_events", "memory_references")
DERIVED = ("passages", "postings")


@pytest.fixture
def tables(owner: Connection) -> Callable[..., dict[str, list[str]]]:
    """Every row of a tenant as text, without the tenant; of its log everything but the looks of others."""

    def read(tenant: str, *names: str) -> dict[str, list[str]]:
        found = {}
        for name in names or (*KEPT, *PAST, *DERIVED):
            query = sql.SQL("SELECT to_jsonb(t) - 'tenant_id' AS row FROM memory.{} t WHERE tenant_id = %s").format(
                sql.Identifier(name)
            )
            with owner.cursor(row_factory=dict_row) as cursor:
                rows = [row["row"] for row in cursor.execute(query, [tenant])]
            for row in rows:
                for part in ("state", "tombstone"):
                    row.get("payload", {}).get(part, {}).pop("tenant_id", None)
            found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows if row.get("entity_type") != "access")
        return found

    return read


async def _live(butler: Butler, clock: Any) -> None:
    """A life with everything in it that a file can hold."""
    gone = await remember.episode(butler, NewEpisode(content="We met Annie", butler="main", session_id="s1"))
    await remember.fact(
        butler,
        NewFact(subject="Anna", predicate="color", content="blue", source_episode=gone.ref, aliases=("Annie",)),
    )
    clock.move(days=8)
    await sweep.sweep(butler)
    episode = await remember.episode(
        butler, NewEpisode(content="We talked “über” 日本", butler="health", metadata={"n": 1.5, "deep": {"x": [None]}})
    )
    fact = NewFact(subject="user", predicate="color", content="blue", source_episode=episode.ref)
    old = await remember.fact(butler, fact)
    clock.move(hours=-1)  # the newer fact has the lower id
    green = await remember.fact(butler, NewFact(subject="user", predicate="color", content="green"))
    clock.move(hours=2)
    await correct.correct(butler, green.ref, "dark green", reason="seen by daylight")
    rule = await remember.rule(butler, NewRule(content="Ask first", tags=("a", "b")))
    await pin.pin(butler, "rule", rule.ref)
    await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason="it was late")
    await judge.mark(butler, rule.ref, Outcome.HELPFUL)
    tea = await remember.fact(butler, NewFact(subject="user", predicate="tea", content="black"))
    await forget.forget(butler, "fact", tea.ref, reason="no more")
    await recall.search(butler, Question(query="green", min_relevance=0))
    assert old.ref != green.ref


async def _undo_last_mark(butler: Butler, owner: Connection) -> None:
    marked = owner.execute(
        "SELECT id FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'rule.helpful'",
        [butler.settings.tenant],
    ).fetchone()
    assert marked
    await undo.undo(butler, str(marked[0]))


@pytest.fixture
async def source(butler: Butler, clock: Any, owner: Connection) -> Butler:
    await _live(butler, clock)
    await _undo_last_mark(butler, owner)
    return butler


@pytest.fixture
def other(butler: Butler) -> Butler:
    """The same butler at home in a tenant that does not exist yet."""
    tenant = f"t{uuid4().hex[:16]}"
    return replace(butler, settings=butler.settings.model_copy(update={"tenant": tenant}))


@pytest.fixture(params=[500, 2], ids=["in one go", "page by page"])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a small tenant comes, and as a large one does."""
    monkeypatch.setattr(store, "PAGE", request.param)
    monkeypatch.setattr("memory_butler.operations.import_.BATCH", request.param)


@pytest.mark.usefixtures("pages")
async def test_a_tenant_comes_out_as_it_went_in(
    source: Butler, other: Butler, tables: Any, tmp_path: Path, clock: Any
) -> None:
    """Every row of every table is the same but for the tenant, what is derived too, and the log still tells it all."""
    file = tmp_path / "memory.jsonl"
    told: list[tuple[str, int, int]] = []
    exported = await export(source, file, progress=lambda *step: told.append(step))
    assert told[-1] == ("Exporting", sum(exported.counts.values()), sum(exported.counts.values()))
    assert all(exported.counts[kind] for kind in transfer.KINDS if kind != "distilled")
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
    source: Butler, other: Butler, tables: Any, tmp_path: Path, owner: Connection
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


async def test_what_comes_after_an_import_is_counted_on(source: Butler, other: Butler, tmp_path: Path) -> None:
    """New memories get references that no imported one has, and new events come after the imported ones."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    await import_(other, file)
    here = await remember.fact(other, NewFact(subject="user", predicate="pet", content="a cat"))
    there = await remember.fact(source, NewFact(subject="user", predicate="pet", content="a cat"))
    assert here.ref == there.ref
    assert (await replay(other)).equal


async def test_ids_are_made_anew_everywhere(
    source: Butler, other: Butler, tables: Any, tmp_path: Path, owner: Connection
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
    source: Butler, other: Butler, tables: Any, tmp_path: Path, ids_anew: bool
) -> None:
    """The memories are the same, and one event tells of each: a replay of them equals the tables."""
    file = tmp_path / "memory.jsonl"
    exported = await export(source, file, events=False)
    assert not set(exported.counts) & set(transfer.HISTORY)
    await import_(other, file, ids_anew=ids_anew)
    if not ids_anew:
        assert tables(other.settings.tenant, *KEPT) == tables(source.settings.tenant, *KEPT)
    report = await replay(other)
    assert report.equal, report
    assert report.tables["episode_tombstones"].rebuilt == 1
    assert report.removed_texts == ()
    assert (await import_(other, file, ids_anew=ids_anew)).outcome == "already there"


async def test_an_operator_leaves_a_trace_in_another_tenant(
    source: Butler, other: Butler, tables: Any, tmp_path: Path, owner: Connection
) -> None:
    """Every look is on record there, also one that ends with it; what comes after such records is moved behind them."""
    file = tmp_path / "memory.jsonl"
    operator = Principal("home", "main", Role.OPERATOR)
    away = Caller(visiting(operator, source.settings.tenant))
    await export(source, file, away)
    there = Caller(visiting(operator, other.settings.tenant))
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
    source: Butler, agent: Callable[..., Caller], tmp_path: Path
) -> None:
    """An agent gets neither, no file appears, and a tenant that is not there is not made by asking for it."""
    file = tmp_path / "memory.jsonl"
    with pytest.raises(PermissionDenied):
        await export(source, file, agent())
    with pytest.raises(PermissionDenied):
        await import_(source, file, agent())
    nobody = Caller(visiting(Principal("home", "main", Role.OPERATOR), "nobody-there"))
    with pytest.raises(NotFound):
        await export(source, file, nobody)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_is_for_nobody_else_and_has_its_name_when_it_is_whole(
    source: Butler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is readable by its owner alone, another file is not written over, and a broken export leaves nothing."""
    file = tmp_path / "memory.jsonl"
    await export(source, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    whole = file.read_bytes()
    with pytest.raises(InvalidInput, match="there already"):
        await export(source, file)
    with (
        pytest.raises(InvalidInput, match="there already"),
        written_whole(tmp_path / "late.jsonl", replace=False),
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


async def test_a_tenant_with_memories_is_left_alone(source: Butler, other: Butler, tables: Any, tmp_path: Path) -> None:
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


async def test_a_dry_run_says_what_would_come(source: Butler, other: Butler, tables: Any, tmp_path: Path) -> None:
    """The file is checked to its end and nothing is stored, not even the tenant."""
    file = tmp_path / "memory.jsonl"
    exported = await export(source, file)
    planned = await import_(other, file, dry_run=True)
    assert (planned.outcome, planned.counts) == ("would be imported", exported.counts)
    assert not any(tables(other.settings.tenant).values())


def _resealed(lines: list[bytes]) -> bytes:
    """The file as somebody would make it who knows how its checksums come about."""
    rows = [json.loads(line) for line in lines[:-1]]
    sealed = [transfer.seal(json.dumps({k: v for k, v in row.items() if k != "sum"})) for row in rows]
    digest = hashlib.sha256(b"".join(sealed)).hexdigest()
    return b"".join([*sealed, transfer.end_line(len(sealed), digest)])


def _changed(lines: list[bytes], record: str, /, **values: Any) -> tuple[bytes, int]:
    number = next(n for n, line in enumerate(lines) if json.loads(line)["record"] == record)
    row = json.loads(lines[number]) | values
    lines[number] = json.dumps(row).encode() + b"\n"
    return _resealed(lines), number + 1


async def test_damage_is_told_by_its_line(source: Butler, other: Butler, tables: Any, tmp_path: Path) -> None:
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
        ("fact", {"tenant_id": "somebody"}, "the fact has an unknown field 'tenant_id'"),
        ("text", {"body": "{}"}, "'body' of the text does not match 'hash'"),
        ("event", {"seq": 0}, "the event's number 0 is out of order"),
        ("rule", {"created_at": "yesterday"}, "'created_at' of the rule is not of the form time"),
        ("rule", {"maturity": "holy"}, r"up to line \d+: The store refused the change"),
        ("fact", {"supersedes_id": str(uuid4())}, "what it stands on is not in the file"),
        ("link", {"target_id": str(uuid4())}, r"up to line \d+: The store refused the change"),
        ("alias", {"record": "spell"}, "a record 'spell' is not known"),
    ):
        text, number = _changed(list(lines), record, **values)
        cases.append((text, f"Line {number}: {said}" if "stands on" not in said else said))
    for text, said in cases:
        file.write_bytes(text)
        with pytest.raises(InvalidInput, match=said):
            await import_(other, file)
        assert not any(tables(other.settings.tenant).values()), said
    file.write_bytes(whole)
    assert (await import_(other, file)).outcome == "imported"


def test_every_field_is_documented() -> None:
    """docs/import-export.md names each record and each of its fields, and nothing that is not there."""
    page = (Path(__file__).parents[2] / "docs" / "import-export.md").read_text(encoding="utf-8")
    for kind, fields in transfer.FIELDS.items():
        section = page.split(f"\n#### `{kind}`\n", 1)[1].split("\n####", 1)[0].split("\n## ", 1)[0]
        named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert sorted(named) == sorted(fields), kind
