"""Small files of other memories, as those programs write them."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

TABLES = ("episodes", "facts", "rules", "memory_links", "memory_events", "texts", "passages", "postings", "butlers")

Lines = Callable[..., Path]


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    """A file of JSON Lines."""

    def write(name: str, *rows: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
        return path

    return write


@pytest.fixture
def graph(lines: Lines) -> Path:
    return lines(
        "memory.jsonl",
        {"type": "entity", "name": "Anna Schmidt", "entityType": "person",
         "observations": ["Speaks Spanish", "Likes green tea", "Likes green tea", "Her password is hunter2"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Anna Schmidt", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from": "Anna Schmidt", "to": "Lisbon", "relationType": "works_at"},
        "not json",
    )  # fmt: skip


@pytest.fixture
def claude_mem_database(tmp_path: Path) -> Path:
    path = tmp_path / "claude-mem.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT UNIQUE NOT NULL,
                memory_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
                started_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER, status TEXT NOT NULL);
            CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
                project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT,
                narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,
                created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
            CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
                project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
                files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
                created_at_epoch INTEGER NOT NULL);
            INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, narrative, concepts,
                created_at, created_at_epoch) VALUES
                ('m1', 'shop', 'bugfix', 'Rounding fixed', 'Prices were off by a cent',
                 '["Prices are stored in cents"]', 'The total was summed as a float.', '["money", "how-it-works"]',
                 '2026-02-01T10:00:00.000Z', 1769940000000);
            INSERT INTO observations (memory_session_id, project, type, created_at, created_at_epoch) VALUES
                ('m1', 'shop', 'change', '2026-02-01T10:00:00.000Z', 1769940000000);
            INSERT INTO session_summaries (memory_session_id, project, request, learned, completed, created_at,
                created_at_epoch) VALUES
                ('m1', 'shop', 'Fix the rounding', 'Floats cannot hold prices', 'Prices are whole cents now',
                 '2026-02-01T11:00:00.000Z', 1769943600000);
            """
        )
    connection.close()
    return path


@pytest.fixture
def service_database(tmp_path: Path) -> Path:
    path = tmp_path / "sqlite_vec.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
                content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
                created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL);
            INSERT INTO memories (content_hash, content, tags, memory_type, metadata, created_at, deleted_at) VALUES
                ('h1', 'The staging server is in Frankfurt', 'infra,server', 'note', '{}', 1769940000.5, NULL),
                ('h2', 'Deploys need two approvals', '["process"]', 'decision', '{}', 1769940001.0, NULL),
                ('h3', 'Old news', '', NULL, '{}', 1769940002.0, 1769950000.0);
            """
        )
    connection.close()
    return path


@pytest.fixture
def transcripts(lines: Lines, tmp_path: Path) -> Path:
    def said(kind: str, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content}
        base = {"type": kind, "message": message, "sessionId": "s-1", "cwd": str(tmp_path / "shop"), "uuid": "u"}
        return {**base, "timestamp": "2026-02-03T09:30:00.123Z", **more}

    lines(
        "projects/-shop/s-1.jsonl",
        {"type": "summary", "summary": "Rounding", "leafUuid": "u"},
        said("user", "I prefer whole cents for all prices. The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789."),
        said("assistant", [{"type": "thinking", "thinking": "hmm"}, {"type": "tool_use", "name": "Edit", "input": {}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]),
        said("user", "Never show this.", isMeta=True),
        said("assistant", [{"type": "text", "text": "Done: I changed the price column to whole cents."}]),
    )
    lines("projects/-shop/s-2.jsonl", said("user", "hi", sessionId="s-2"))
    return tmp_path / "projects"


NOTES = """---
name: shop
---
# The shop

<!-- nothing to see -->
Prices are stored in whole cents
and shown with two digits.

## Style

- **Always** run `make test` before a commit.
- Use British spelling.
- The API key is: Zq7xK9vW2m-41
- [ ] Colours come from the design team.
- short

| a | table |
|---|---|

```sh
rm -rf build
```
@docs/more.md
"""


@pytest.fixture
def notes_file(tmp_path: Path) -> Path:
    path = tmp_path / "CLAUDE.md"
    path.write_text(NOTES)
    return path


@pytest.fixture
def mem0_file(tmp_path: Path) -> Path:
    path = tmp_path / "mem0.json"
    answer = {
        "results": [
            {"id": "a", "memory": "Likes to play cricket on weekends", "hash": "h", "metadata": {"category": "hobbies"},
             "created_at": "2026-01-02T03:04:05.678-08:00", "updated_at": None, "user_id": "alice",
             "categories": ["hobbies", "sports"]},
            {"id": "b", "memory": "Runs tests before pushing", "hash": "h", "user_id": None, "agent_id": "coder"},
            {"id": "c", "memory": ""},
        ],
        "relations": [{"source": "alice", "relationship": "plays", "target": "cricket"}, {"source": "alice"}],
    }  # fmt: skip
    path.write_text(json.dumps(answer))
    return path


@pytest.fixture
def everything(owner: psycopg.Connection[Any], tenant: str) -> Callable[[], dict[str, list[str]]]:
    """Every row of the test's tenant, in a form that can be compared."""

    def read() -> dict[str, list[str]]:
        query = sql.SQL("SELECT t::text FROM memory.{} t WHERE tenant_id = %s ORDER BY 1")
        return {
            name: [str(row[0]) for row in owner.execute(query.format(sql.Identifier(name)), [tenant])]
            for name in TABLES
        }

    return read
