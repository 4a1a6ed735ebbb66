"""Many episodes at once: each is stored as it would be by itself, and none suffers from another."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import START
from tests.store.gate.test_database_round_trips import _listened_to

from memory_butler.errors import Conflict, InvalidInput, TargetUnavailable
from memory_butler.models import Caller, Lineage, NewEpisode, Principal, Role
from memory_butler.operations.history.replay import replay
from memory_butler.operations.writing import ingest, remember
from memory_butler.operations.writing.ingest import IncomingEpisode, IngestResult
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import id_maker

Connection = psycopg.Connection[tuple[Any, ...]]

EPISODES = [
    NewEpisode(content="Moved billing to Stripe; refunds are manual.", butler="coder", tags=("Billing", "ops")),
    NewEpisode(content="Anna called about the garden.", butler="coder", idempotency_key="call-1", importance=8),
    NewEpisode(content="Slept badly. " * 400, butler="health", session_id="night", metadata={"hours": 4.5, "ü": [1]}),
    NewEpisode(content="Ran 5 km", butler="health", observed_at=START - timedelta(days=2), idempotency_key="run"),
    NewEpisode(content="Anna called about the garden.", butler="coder", idempotency_key="call-1", importance=8),
    NewEpisode(content="Rotated the “staging” keys\n\tand \\ told Ben.", butler="coder"),
]


def arrivals(*new: NewEpisode) -> list[IncomingEpisode]:
    return [IncomingEpisode(one) for one in new]


def outcome(done: IngestResult) -> str:
    return done.problem.error_class if done.problem else "repeated" if done.repeated else "stored"


TABLES = {
    "episodes": "to_jsonb(m) - 'id' - 'tenant_id' FROM memory.episodes m WHERE m.tenant_id = %s ORDER BY m.id",
    "events": "to_jsonb(e) - '{id,tenant_id,entity_id,text_hash,chain}'::text[] #- '{payload,state,id}'"
    " #- '{payload,state,tenant_id}' FROM memory.memory_events e WHERE e.tenant_id = %s ORDER BY e.seq",
    "texts": "t.body::jsonb - 'salt' FROM memory.texts t WHERE t.tenant_id = %s ORDER BY t.memory_id, 1",
    "keys": "k.butler, k.key, k.request_hash, k.response - 'id', k.created_at, k.expires_at"
    " FROM memory.idempotency_keys k WHERE k.tenant_id = %s ORDER BY k.butler, k.key",
    "butlers": "butler, created_at FROM memory.butlers WHERE tenant_id = %s ORDER BY butler",
    "postings": "p.lexeme, p.frequency, p.words FROM memory.postings p"
    " WHERE p.tenant_id = %s ORDER BY p.memory_id, p.lexeme",
    "passages": "p.ordinal, p.embedding_version, p.embedding::text FROM memory.passages p"
    " WHERE p.tenant_id = %s ORDER BY p.memory_id, p.ordinal",
    "counters": "last_seq, last_ref, documents, document_words FROM memory.tenants WHERE tenant_id = %s",
}


def everything(owner: Connection, tenant: str) -> dict[str, list[tuple[Any, ...]]]:
    return {name: owner.execute(f"SELECT {query}".encode(), (tenant,)).fetchall() for name, query in TABLES.items()}


async def test_a_batch_leaves_the_same_as_single_calls(resources: Resources, tenant: str, owner: Connection) -> None:
    """Rows, words, vectors, keys, counters and events are equal in two tenants, apart from ids."""
    lineage = Lineage(request_id="r1", subrequest_id="s1", segment_id="g1", session_id="day")

    def person(name: str) -> Caller:
        return Caller(Principal(name, "main", Role.ADMIN, name="Ada"), lineage)

    for new in EPISODES:
        await remember.episode(resources, new, person(tenant))
    other = replace(resources, make_id=id_maker(random.Random(tenant)))
    done = await ingest.ingest(other, arrivals(*EPISODES), person(f"{tenant}x"))

    single, batch = everything(owner, tenant), everything(owner, f"{tenant}x")
    assert len(single["episodes"]) == len(single["events"]) == 5
    assert single == batch
    assert [outcome(one) for one in done] == ["stored"] * 4 + ["repeated", "stored"]
    assert (await replay(resources, person(f"{tenant}x"))).equal


async def test_a_bad_item_does_not_spoil_the_good_ones(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Outcomes come in the order given; what is refused names its class and how to recover."""
    done = await ingest.ingest(
        resources,
        arrivals(
            NewEpisode(content="first", butler="health"),
            NewEpisode(content=" ", butler="health"),
            NewEpisode(content="of another", butler="coder"),
            NewEpisode(content="second", butler="Health", importance=11),
            NewEpisode(content="third", butler="Health"),
        ),
        agent("health"),
    )
    assert [outcome(one) for one in done] == [
        "stored", "validation_error", "permission_denied", "validation_error", "stored",
    ]  # fmt: skip
    assert all(one.problem.recovery for one in done if one.problem)


async def test_keys_count_item_by_item(resources: Resources, owner: Connection, tenant: str) -> None:
    """A repeat gets the first answer, whether that came from a single call, a batch or earlier in the same batch; the
    same key with other words is a conflict for that item; another butler's key is another key."""
    first = await remember.episode(resources, NewEpisode(content="one", butler="a", idempotency_key="k"))
    batch = arrivals(
        NewEpisode(content="one", butler="a", idempotency_key="k"),
        NewEpisode(content="two", butler="a", idempotency_key="k"),
        NewEpisode(content="one", butler="b", idempotency_key="k"),
        NewEpisode(content="new", butler="a", idempotency_key="n"),
        NewEpisode(content="new", butler="a", idempotency_key="n"),
        NewEpisode(content="newer", butler="a", idempotency_key="n"),
        NewEpisode(content="no key", butler="a"),
    )
    done = await ingest.ingest(resources, batch)
    assert [outcome(one) for one in done] == [
        "repeated", "conflict", "stored", "stored", "repeated", "conflict", "stored",
    ]  # fmt: skip
    assert done[0].stored == first and done[4].stored == done[3].stored
    again = await ingest.ingest(resources, batch)
    assert [outcome(one) for one in again[:6]] == [
        "repeated", "conflict", "repeated", "repeated", "repeated", "conflict",
    ]  # fmt: skip
    with pytest.raises(Conflict):
        await remember.episode(resources, NewEpisode(content="newer", butler="a", idempotency_key="n"))
    single = await remember.episode(resources, NewEpisode(content="new", butler="a", idempotency_key="n"))
    assert single == done[3].stored
    assert len(everything(owner, tenant)["episodes"]) == 5


async def test_an_item_can_belong_to_a_request_of_its_own(resources: Resources, owner: Connection, tenant: str) -> None:
    """The call's lineage holds for those that bring none."""
    caller = replace(resources.local_caller(), lineage=Lineage(request_id="call"))
    new = NewEpisode(content="x", butler="main")
    await ingest.ingest(
        resources, [IncomingEpisode(new), IncomingEpisode(new, Lineage(request_id="own")), IncomingEpisode(new)], caller
    )
    query = "SELECT request_id FROM memory.memory_events WHERE tenant_id = %s ORDER BY seq"
    assert [row[0] for row in owner.execute(query, (tenant,))] == ["call", "own", "call"]


@pytest.fixture
def poison(owner: Connection) -> Iterator[str]:
    """Words that the database refuses, as a constraint would that nobody thought of."""
    words = "poison 7d3b"
    owner.execute(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE check_violation USING MESSAGE = 'refused'; END $$"
    )
    owner.execute(
        f"CREATE TRIGGER refuse BEFORE INSERT ON memory.episodes FOR EACH ROW WHEN (NEW.content = '{words}')"
        " EXECUTE FUNCTION public.refuse()"
    )
    yield words
    owner.execute("DROP FUNCTION public.refuse() CASCADE")


async def test_what_the_store_refuses_is_refused_alone(resources: Resources, poison: str) -> None:
    """An item that only the database finds fault with fails by itself, and the others are stored."""
    new = [NewEpisode(content=words, butler="main", idempotency_key=words) for words in ("a", poison, "b")]
    done = await ingest.ingest(resources, arrivals(*new))
    assert [outcome(one) for one in done] == ["stored", "integrity_error", "stored"]
    again = await ingest.ingest(resources, arrivals(*new))
    assert [outcome(one) for one in again] == ["repeated", "integrity_error", "repeated"]
    assert [outcome(one) for one in await ingest.ingest(resources, arrivals(new[1]))] == ["integrity_error"]


async def test_what_there_is_no_time_for_is_left_for_another_call(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded in time is stored, the rest says that it was not, and goes through when it is sent again."""
    new = [NewEpisode(content=words, butler="main", idempotency_key=words) for words in ("a", "b", "c")]
    with monkeypatch.context() as hurry:
        hurry.setattr(ingest, "EMBEDDING_SHARE", 0)
        hurry.setattr(ingest, "EMBEDDED_CHARACTERS", 1)
        done = await ingest.ingest(resources, arrivals(*new))
    assert [outcome(one) for one in done] == ["stored", "timeout", "timeout"]
    assert [outcome(one) for one in await ingest.ingest(resources, arrivals(*new))] == ["repeated", "stored", "stored"]


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_its_bounds(resources: Resources, count: int) -> None:
    """An empty list and one above the limit are refused as a whole."""
    with pytest.raises(InvalidInput, match=r"empty|the limit is 100"):
        await ingest.ingest(resources, arrivals(*[NewEpisode(content="x", butler="main")] * count))


async def test_without_the_model_nothing_is_stored(resources: Resources, owner: Connection, tenant: str) -> None:
    """A batch that cannot be embedded fails as a whole, as a single call does."""

    class NoModel:
        async def embed(self, texts: object) -> None:
            raise TargetUnavailable("The weights are missing.")

    away: Any = NoModel()
    with pytest.raises(TargetUnavailable):
        await ingest.ingest(replace(resources, embedder=away), arrivals(*EPISODES))
    assert everything(owner, tenant)["episodes"] == []


async def test_a_batch_costs_as_many_round_trips_as_a_few(
    settings: Settings, server: EmbeddedPostgres, tenant: str
) -> None:
    """Two episodes wait for the database as often as eighty, keys and all."""
    async with _listened_to(settings, server, tenant) as (butler, wire):

        async def cost(count: int) -> int:
            new = [
                NewEpisode(content=f"{count}:{n}", butler="main", idempotency_key=f"{count}:{n}") for n in range(count)
            ]
            before = wire.round_trips
            assert {outcome(one) for one in await ingest.ingest(butler, arrivals(*new))} == {"stored"}
            return wire.round_trips - before

        few = [await cost(count) for count in (2, 3, 4, 5, 6)]
        many = [await cost(count) for count in (80, 81, 82)]
    assert max(many) <= max(few) <= 4
