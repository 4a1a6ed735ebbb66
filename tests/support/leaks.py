"""Search for a word in every column of the store and in every file of a folder."""

from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql


def cells(owner: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Every column of the store that can hold words, in all tables of the schema."""
    query = """SELECT c.table_name, c.column_name FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = 'memory' AND t.table_type = 'BASE TABLE'
            AND (c.data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'USER-DEFINED'))"""
    return [(row[0], row[1]) for row in owner.execute(query)]


def traces(owner: psycopg.Connection[Any], word: str) -> list[str]:
    """The columns of all tenants in which a word occurs, as text or as the bytes of a text."""
    found = []
    for table, column in cells(owner):
        query = sql.SQL("SELECT count(*) FROM memory.{} WHERE {}::text ILIKE %s OR {}::text ILIKE %s").format(
            sql.Identifier(table), sql.Identifier(column), sql.Identifier(column)
        )
        hits = owner.execute(query, [f"%{word}%", f"%{word.encode().hex()}%"]).fetchone()
        if hits and hits[0]:
            found.append(f"{table}.{column}")
    return sorted(found)


def files_with(folder: Path, word: str) -> list[str]:
    """The files below a folder that contain a word, in any case."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and word.lower().encode() in path.read_bytes().lower():
            found.append(str(path.relative_to(folder)))
    return found
