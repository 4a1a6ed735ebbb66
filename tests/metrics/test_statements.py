"""Statements by the name of their query, fetched or not, and waits for a connection."""

from memory_butler.metrics.registry import REGISTRY
from memory_butler.models import Question
from memory_butler.operations.retrieval.search import search
from memory_butler.resources import Resources
from memory_butler.store.gate.queries import load_queries


def _count(query: str) -> float:
    return REGISTRY.get_sample_value("memory_butler_statement_seconds_count", {"query": query}) or 0


async def test_every_statement_of_a_transaction_is_measured_under_its_name(resources: Resources) -> None:
    """Also the ones whose rows nobody fetches, such as the one that binds the tenant."""
    before = _count("database.bind_read"), _count("stats.log")
    async with resources.database.read(resources.settings.tenant) as transaction:
        await transaction.one("stats.log")
    assert (_count("database.bind_read"), _count("stats.log")) == (before[0] + 1, before[1] + 1)


async def test_the_label_is_one_of_the_named_queries(resources: Resources) -> None:
    """So the number of series is bounded by the number of queries."""
    await search(resources, Question(query="tea"))
    known = set(load_queries(resources.database.names))
    metric = next(one for one in REGISTRY.collect() if one.name == "memory_butler_statement_seconds")
    measured = {sample.labels["query"] for sample in metric.samples}
    assert "search.candidates" in measured or any(name.startswith("search.") for name in measured)
    assert measured <= known


async def test_a_wait_for_a_connection_is_measured(resources: Resources) -> None:
    before = REGISTRY.get_sample_value("memory_butler_pool_wait_seconds_count") or 0
    async with resources.database.read(resources.settings.tenant):
        pass
    assert (REGISTRY.get_sample_value("memory_butler_pool_wait_seconds_count") or 0) == before + 1
