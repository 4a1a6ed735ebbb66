"""Settings that hardly anybody turns: each changes what it is there for."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.distillers import Scripted, proposal, say, with_distiller
from tests.support.service import serving

from memory_butler.adapters.http.activity_stream import listen_url
from memory_butler.errors import InvalidInput
from memory_butler.jobs.schedule import SCHEDULE, intervals
from memory_butler.models import BriefRequest, NewEpisode, NewFact
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.consolidation.shard_job import urgent_butlers
from memory_butler.operations.writing import remember
from memory_butler.operations.writing.ingest import IncomingEpisode, ingest
from memory_butler.resources import Resources
from memory_butler.settings import ButlerSettings, DatabaseSettings, Service, load_settings
from memory_butler.store.gate.database import Database
from memory_butler.store.retrieval.vector_index import overseen


def test_hours_are_those_of_the_timetable(tmp_path: Path) -> None:
    """Each job of a shard has its own setting."""
    hours = {"consolidation_hours": 3, "sweep_hours": 5, "cleanup_hours": 7}
    assert intervals(load_settings(home=tmp_path, upkeep=hours), SCHEDULE) == {
        "consolidation": timedelta(hours=3),
        "sweep": timedelta(hours=5),
        "cleanup": timedelta(hours=7),
    }


@pytest.mark.parametrize(
    ("chosen", "presses"),
    [({"early_importance": 9}, True), ({"early_importance": 10}, False), ({"early_importance": 11}, False),
     ({"early_importance": 11, "early_from": 2}, False), ({"early_importance": 11, "early_from": 1}, True)],
)  # fmt: skip
async def test_what_does_not_wait_for_its_turn(resources: Resources, chosen: dict[str, Any], presses: bool) -> None:
    """An episode that is important enough, or as many as make a backlog."""
    ours = with_distiller(resources, Scripted(proposal()), **chosen)
    await say(ours, "Anna moves to Lisbon.", importance=9)
    async with ours.database.read(ours.settings.tenant) as transaction:
        assert set(await urgent_butlers(ours, transaction, ours.clock())) == ({"main"} if presses else set())


async def test_limits_of_requests_and_batches(resources: Resources, tenant: str) -> None:
    """More bytes, or more items, than the settings say are refused, and the limit is named."""
    limits = resources.settings.service.limits.model_copy(update={"request_bytes": 2_000, "batch_items": 1})
    async with serving(resources, limits=limits) as service, service.web(await service.token(tenant)) as web:
        large = await web.post("/api/v1/search", json={"query": "x" * 2_000})
        assert (large.status_code, "2,000 bytes" in large.json()["message"]) == (413, True)
        assert (await web.post("/api/v1/search", json={"query": "x"})).status_code == 200
        arrival = IncomingEpisode(NewEpisode(content="Anna moves to Lisbon.", butler="main"))
        with pytest.raises(InvalidInput, match="the limit is 1"):
            await ingest(service.resources, [arrival, arrival])
        assert len(await ingest(service.resources, [arrival])) == 1


def test_news_are_heard_where_the_settings_say(resources: Resources) -> None:
    """On the connection that is named; else on the usual one, unless that leads through a pooler."""
    direct = SecretStr("postgresql://direct/x")

    def url(pooler: bool | None, **changed: Any) -> str | None:
        settings = resources.settings.model_copy(update={"service": Service(pooler=pooler), **changed})
        return listen_url(replace(resources, settings=settings))

    assert url(True, database=DatabaseSettings(direct_url=direct)) == "postgresql://direct/x"
    assert url(True, service=Service(listen_url=direct)) == "postgresql://direct/x", "the name of earlier versions"
    assert url(None) == resources.database.dsn()
    assert url(True) is None


async def test_indexes_are_built_with_the_memory_that_is_set(resources: Resources) -> None:
    """It is the server's limit for the connection that builds."""
    rules = resources.settings.vector_index.model_copy(update={"build_memory_mb": 33})
    database = Database.from_settings(resources.settings.model_copy(update={"vector_index": rules}))
    async with overseen(database) as overseer:
        await overseer.take_turn()
        shown = await (await overseer._owner.execute("SHOW maintenance_work_mem")).fetchone()
        await overseer.end_turn()
    assert shown == {"maintenance_work_mem": "33MB"}


async def test_a_butler_has_a_token_budget_of_its_own(resources: Resources) -> None:
    """It is used for requests that name none, of this butler only."""
    chosen = {"coder": ButlerSettings(token_budget=40)}
    ours = replace(resources, settings=resources.settings.model_copy(update={"butlers": chosen}))
    for number in range(5):
        new = NewFact(subject="green tea", predicate=f"tin:{number}", content=f"green tea tin number {number}")
        await remember.fact(ours, new)

    async def budget_and_lines(butler: str, tokens: int | None = None) -> tuple[int, int]:
        request = BriefRequest(trigger_prompt="green tea", butler=butler, token_budget=tokens)
        receipt = (await brief(ours, request)).receipt
        return receipt.token_budget, len(receipt.lines)

    assert await budget_and_lines("coder") == (40, 1)
    assert await budget_and_lines("coder", 2000) == (2000, 5)
    assert await budget_and_lines("main") == (3000, 5)
