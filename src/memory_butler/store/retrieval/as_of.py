"""Search as of a past moment: rebuilds a tenant's memories from the event log into temporary tables and searches them.

A replay's statements rebuild the memories from the events up to that moment. The statements of every search then read
those tables instead of the live ones. Everything is rolled back afterwards.
"""

from dataclasses import replace

from memory_butler.errors import TargetUnavailable
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.history.replay import FIRST_ID, LAST_ID
from memory_butler.store.retrieval.search import Candidates, SearchQuery, send

LONGEST_SECONDS = 60
LAST_SEQ = 2**63 - 1
TEMPORARY = "pg_temp"
TABLES = (
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
    "as_of.make_profiles",
    "as_of.make_postings",
)


async def search(database: Database, tenant: str, query: SearchQuery) -> tuple[Candidates, dict[str, int]]:
    """The candidates as of the query's moment, and how many memories of that time were deleted since, by type."""
    names = replace(database.names, rebuilt_in=TEMPORARY)
    async with database.rollback_only(tenant, LONGEST_SECONDS, names) as transaction:
        await _require_temporary_tables(transaction)
        for table in TABLES:
            await transaction.send(table)
        await transaction.send("replay.rebuild_references", after=0, upto=LAST_SEQ, until=query.now)
        await transaction.send("replay.rebuild_states", after=FIRST_ID, upto=LAST_ID, until=query.now)
        await transaction.send("as_of.fill_known")
        await transaction.send("as_of.measure")
        await transaction.send("as_of.fill_tenants", now=query.now)
        candidates = await (await send(transaction, query.params())).candidates()
        deleted = await transaction.all("as_of.wordless")
    return candidates, {row["entity_type"]: row["count"] for row in deleted}


async def _require_temporary_tables(transaction: Transaction) -> None:
    room = await transaction.one("as_of.ask_for_room")
    assert room
    if not room["granted"]:
        raise TargetUnavailable(
            "The past is rebuilt in temporary tables, and this database does not let Memory Butler make any.",
            recovery=f'As the owner of the database run: GRANT TEMPORARY ON DATABASE "{room["database"]}"'
            f' TO "{room["role"]}"',
        )
