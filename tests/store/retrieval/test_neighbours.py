"""The statement that reads neighbours: its rules are the search's own, and it is one round trip."""

import re
from uuid import UUID

from tests.store.gate.test_database_round_trips import _listened_to

from memory_butler.models import NewEpisode, Reach
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.queries import Names, load_queries
from memory_butler.store.retrieval import neighbours
from memory_butler.store.retrieval.neighbours import Around

SEEN = re.compile(r"CROSS JOIN LATERAL \(SELECT FROM \((?:(?!LATERAL).)*?OFFSET 0\) visible", re.DOTALL)


def test_what_may_be_seen_is_decided_by_the_rules_of_the_search() -> None:
    """To the letter: whoever changes them there changes them here."""
    queries = {name: body.decode() for name, body in load_queries(Names()).items()}
    in_search = set(SEEN.findall(queries["search.by_meaning:usual"]))
    assert set(SEEN.findall(queries["search.by_meaning:full"])) == in_search
    around = SEEN.findall(queries["neighbours.around"])
    assert len(in_search) == 3
    assert [("facts" in rule, "episodes" in rule) for rule in around] == [(True, False)] + [(False, True)] * 3
    assert set(around) < in_search


async def test_the_neighbours_of_all_results_are_one_round_trip(
    settings: Settings, server: EmbeddedPostgres, tenant: str
) -> None:
    """Also more often than it takes until the driver keeps the statement prepared."""
    async with _listened_to(settings, server, tenant) as (butler, wire):
        ids = await _stored(butler)
        asked = Around(ids=ids, expand=2, reach=Reach(None, None), min_confidence=0.0, now=butler.clock())
        for _ in range(8):
            before = wire.round_trips
            found = await neighbours.around(butler.database, tenant, asked)
            assert wire.round_trips - before == 1
            assert [len(beside) for beside in found].count(4) == len(ids) - 4


async def _stored(resources: Resources) -> list[UUID]:
    made = [
        await remember.episode(resources, NewEpisode(content=f"turn {number}", butler="main", session_id="s"))
        for number in range(12)
    ]
    return [one.id for one in made]
