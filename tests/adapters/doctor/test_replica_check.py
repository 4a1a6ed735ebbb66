"""The doctor's finding about each replica."""

import asyncio

from pydantic import SecretStr
from tests.support.replication import StreamingReplica

from memory_butler.adapters.doctor.checks import CHECKS
from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.adapters.doctor.replica_check import check_replicas
from memory_butler.resources import Resources
from memory_butler.settings import DatabaseSettings, Settings
from memory_butler.store.embedded.server import EmbeddedPostgres


def _findings(settings: Settings, *urls: str) -> list[Finding]:
    database = DatabaseSettings(replicas=tuple(map(SecretStr, urls)))
    context = CheckContext(settings.model_copy(update={"database": database}))
    list(CHECKS["database"](context))
    return list(check_replicas(context))


async def test_each_replica_is_reported_with_its_lag_or_its_problem(
    resources: Resources, replica: StreamingReplica, server: EmbeddedPostgres
) -> None:
    urls = (replica.dsn(), server.dsn("memory_app", "memory"), "postgresql://memory_app@127.0.0.1:9/memory")
    found = await asyncio.to_thread(_findings, resources.settings, *urls)
    assert [one.status for one in found] == ["ok", "ok", "problem"]
    assert "serves reads" in found[0].message
    assert found[1].message.endswith(" is the primary")
    assert "cannot be reached" in found[2].message and found[2].message.startswith("database.replicas[2] (127.0.0.1:9)")


async def test_a_single_url_that_is_the_primary_is_a_problem(resources: Resources, server: EmbeddedPostgres) -> None:
    [found] = await asyncio.to_thread(_findings, resources.settings, server.dsn("memory_app", "memory"))
    assert found.status == "problem" and "it is the primary itself" in found.message


async def test_without_replicas_there_is_nothing_to_report(resources: Resources) -> None:
    assert await asyncio.to_thread(_findings, resources.settings) == []
