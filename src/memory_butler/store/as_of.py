"""The store as it was: a tenant's memories rebuilt from its log, as of a moment, into temporary tables, and searched.

The memories come from the events up to that moment, by the statements that a replay uses; the search is the same
statement that every search runs, reading those tables instead of the live ones. All of it is undone afterwards.
"""

from dataclasses import dataclass, replace

from memory_butler.errors import TargetUnavailable
from memory_butler.store import search_index
from memory_butler.store.database import Database, Session
from memory_butler.store.replay import FIRST_ID, LAST_ID
from memory_butler.store.search_index import Probe

LONGEST_SECONDS = 60
LAST_SEQ = 2**63 - 1
TEMPORARY = "pg_temp"
ROOMS = (
    "as_of.make_tenants",
    "as_of.make_facts",
    "as_of.make_rules",
    "as_of.make_episodes",
    "as_of.index_sessions",
    "as_of.make_aliases",
    "as_of.make_references",
    "as_of.make_wordless",
    "as_of.make_known",
    "as_of.make_passages",
    "as_of.make_postings",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search in the past found, and how many memories of that time are gone by now."""

    then: search_index.Found
    wordless: dict[str, int]


async def search(database: Database, tenant: str, probe: Probe, *, with_hidden: bool) -> Found:
    """The search as it would have been answered at the probe's moment."""
    names = replace(database.names, rebuilt_in=TEMPORARY)
    async with database.rehearse(tenant, LONGEST_SECONDS, names) as session:
        await _require_room(session)
        for room in ROOMS:
            await session.send(room)
        await session.send("replay.rebuild_references", after=0, upto=LAST_SEQ, until=probe.now)
        await session.send("replay.rebuild_states", after=FIRST_ID, upto=LAST_ID, until=probe.now)
        await session.send("as_of.fill_known")
        await session.send("as_of.measure")
        await session.send("as_of.fill_tenants", now=probe.now)
        cursor = await search_index.ask(session, probe, with_hidden=with_hidden)
        then = search_index.sorted_out(await cursor.fetchall())
        gone = await session.all("as_of.wordless")
    return Found(then=then, wordless={row["entity_type"]: row["count"] for row in gone})


async def _require_room(session: Session) -> None:
    room = await session.one("as_of.ask_for_room")
    assert room
    if not room["granted"]:
        raise TargetUnavailable(
            "The past is rebuilt in temporary tables, and this database does not let Memory Butler make any.",
            recovery=f'As the owner of the database run: GRANT TEMPORARY ON DATABASE "{room["database"]}"'
            f' TO "{room["role"]}"',
        )
