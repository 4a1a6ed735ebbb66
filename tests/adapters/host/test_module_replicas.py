"""A host with replicas: its agents' reads go there, and each agent sees its own writes."""

from pathlib import Path

from fastmcp import Client
from psycopg.conninfo import conninfo_to_dict
from tests.adapters.conftest import caller_of
from tests.adapters.host.conftest import Handle
from tests.adapters.host.test_module import memory_of, started, table
from tests.support.replication import StreamingReplica, plane_of, serves, until


async def test_a_hosted_agent_reads_from_a_replica_and_sees_its_own_writes(
    host_dsn: str, home: Path, replica: StreamingReplica
) -> None:
    account = str(conninfo_to_dict(host_dsn)["user"])
    database = {"replicas": [replica.dsn(account, account)], "replica_wait_seconds": 1}
    module, server = await started(table(home, database=database), Handle(host_dsn, schema="near"), "near")
    try:
        resources = await memory_of(module).lazy.get(20)
        await until(resources, serves)
        async with Client(server) as client:
            call = caller_of(client)

            async def stored_and_found(color: str) -> int:
                served = plane_of(resources).states()[0].reads
                await call("memory_store_fact", subject="Anna", predicate="color", content=color)
                found = await call("memory_search", query="Anna color", min_relevance=0)
                assert [one["content"] for one in found.body["results"]] == [color]
                return plane_of(resources).states()[0].reads - served

            assert await stored_and_found("blue") > 0
            replica.pause_replay()
            try:
                assert await stored_and_found("green") == 0, "the primary has it, the replica does not"
            finally:
                replica.resume_replay()
    finally:
        await module.on_shutdown()
