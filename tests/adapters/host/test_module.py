"""The module by itself: two butlers in one database, their hooks, tools and upkeep, and what failures do to a host."""

import asyncio
import logging
import socket
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastmcp import Client, FastMCP
from tests.adapters.conftest import PARAMETERS, caller_of
from tests.adapters.host.conftest import Handle
from tests.ai.distillers.scripted_server import answer, scripted_server

from memory_butler.adapters.host import MemoryModule, SessionEnd
from memory_butler.adapters.host.hosted_memory import HostedMemory
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import InvalidInput
from memory_butler.jobs.schedule import SCHEDULE
from memory_butler.models import Question
from memory_butler.operations.retrieval import get, search
from memory_butler.store.gate.migrate import HEAD

QUIET: dict[str, Any] = {"upkeep": {"worker": False}, "session": {"deadline_seconds": 60}, "deadline_seconds": 60}


def table(home: Path, **more: Any) -> dict[str, Any]:
    """A table for tests: no worker of its own, and time enough on a busy machine."""
    merged = {**QUIET, "home": str(home), **more}
    merged["session"] = {**QUIET["session"], **more.get("session", {})}
    return merged


async def started(config: dict[str, Any], db: object, name: str) -> tuple[MemoryModule, FastMCP[None]]:
    module, server = MemoryModule(embedder=FakeEmbedder()), FastMCP[None](name)
    await module.register_tools(server, config, db, name)
    await module.on_startup(config, db)
    return module, server


@pytest.fixture(scope="module")
async def pair(host_dsn: str, home: Path) -> AsyncIterator[dict[str, tuple[MemoryModule, FastMCP[None]]]]:
    """Two butlers of one host in one database, started at the same time."""
    made = await asyncio.gather(
        *(started(table(home), Handle(host_dsn, schema=name), name) for name in ("health", "travel"))
    )
    yield dict(zip(("health", "travel"), made, strict=True))
    await asyncio.gather(*(module.on_shutdown() for module, _ in made))


def memory_of(module: MemoryModule, name: str | None = None) -> HostedMemory:
    memory = module._memory(name)
    assert memory
    return memory


async def episode(module: MemoryModule, ended: SessionEnd, name: str | None = None) -> Any:
    assert ended.outcome == "stored" and ended.ref and not ended.degraded
    resources = await memory_of(module, name).lazy.get(5)
    return (await get.get(resources, "episode", ended.ref)).memory


def test_the_interface_hosts_expect() -> None:
    """Name, schema of the table, dependencies and the label of the migrations' branch are there before any start."""
    module = MemoryModule()
    assert (module.name, module.dependencies, module.migration_revisions()) == ("memory", [], "memory")
    assert module.config_schema.model_validate({"tools": ["recall"]})
    assert "memory_context" in module.instructions


async def test_what_one_butler_stores_the_other_never_sees(pair: dict[str, Any]) -> None:
    """Facts for everybody, episodes, statistics and contexts: all of them end at the butler's own schema."""
    (health, health_server), (travel, travel_server) = pair["health"], pair["travel"]
    async with Client(health_server) as ours, Client(travel_server) as theirs:
        call, other = caller_of(ours), caller_of(theirs)
        before = (await other("memory_stats")).body
        stored = await call(
            "memory_store_fact", subject="Anna", predicate="blood_group", content="Anna has A positive."
        )
        assert stored.body["outcome"] == "created"
        told = await health.after_session("s-iso", "Anna decided to take her pills after breakfast.", True)
        assert told.outcome == "stored"
        found = await call("memory_search", query="blood group of Anna", types=["fact"])
        assert [hit["content"] for hit in found.body["results"]] == ["Anna has A positive."]
        assert (await other("memory_search", query="blood group of Anna")).body["results"] == []
        assert (await other("memory_get", type="fact", id=stored.body["id"])).error == "not_found"
        assert (await other("memory_stats")).body == before
    assert "A positive" in (await health.before_session("blood group of Anna")).text
    assert "Anna" not in (await travel.before_session("blood group of Anna, pills after breakfast")).text


async def test_tools_work_as_their_butler_whatever_a_call_says(pair: dict[str, Any]) -> None:
    """The name of the butler comes from the host: a call that names another is refused."""
    async with Client(pair["health"][1]) as client:
        call = caller_of(client)
        assert (await call("memory_context", trigger_prompt="x", butler="travel")).error == "permission_denied"
        assert (await call("memory_store_episode", content="x y z", butler="travel")).error == "permission_denied"
        refused = await call("memory_store_fact", subject="a", predicate="b", content="c", scope="travel")
        assert refused.error == "permission_denied"


async def test_the_database_keeps_the_schemas_apart(pair: dict[str, Any], host_dsn: str) -> None:
    """Each schema is whole, at the newest revision and with a queue of its own; the role that works in one has no right
    in the other."""
    with psycopg.connect(host_dsn, autocommit=True) as host:
        shapes = [
            host.execute(
                "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s"
                " ORDER BY 1, 2",
                (schema,),
            ).fetchall()
            for schema in ("health_memory", "travel_memory")
        ]
        assert shapes[0] == shapes[1] and ("procrastinate_jobs", "id", "bigint") in shapes[0]
        assert host.execute("SELECT version_num FROM travel_memory.alembic_version").fetchone() == (HEAD,)
        host.execute("SET ROLE health_memory_app")
        host.execute("SELECT count(*) FROM health_memory.facts")
        for refused in ("SELECT count(*) FROM travel_memory.facts", "SELECT count(*) FROM travel_memory.tokens"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                host.execute(refused)


async def test_news_of_one_schema_is_not_heard_in_the_other(pair: dict[str, Any], host_dsn: str) -> None:
    """Each schema has a channel of its own."""
    async with await psycopg.AsyncConnection.connect(host_dsn, autocommit=True) as listener:
        await listener.execute("LISTEN memory_events_health_memory")
        await listener.execute("LISTEN memory_events_travel_memory")
        await pair["travel"][0].after_session("s-news", "The user decided to go to Porto.", True)
        heard = [news.channel async for news in listener.notifies(timeout=5, stop_after=1)]
    assert heard == ["memory_events_travel_memory"]


async def test_upkeep_of_one_schema_leaves_the_other_alone(pair: dict[str, Any], host_dsn: str) -> None:
    """A host with a timetable of its own has the jobs run; they are recorded in that butler's schema only."""
    (health, _), (travel, _) = pair["health"], pair["travel"]
    for module in (health, travel):
        await module.after_session("s-upkeep", "The user lives in Lisbon and likes trains.", True)
    ran = await travel.run_due()
    assert {one.job for one in ran} == {entry.job for entry in SCHEDULE}
    assert {(one.butler, one.outcome) for one in ran} == {("travel", "succeeded")}
    state = (await travel.health())["travel"]
    assert state["status"] == "ok" and state["upkeep"]["jobs"]["sweep"]["outcome"] == "succeeded"
    assert (await health.health())["health"]["upkeep"]["jobs"]["sweep"]["last_run"] == "never"
    resources = await memory_of(travel).lazy.get(5)
    found = await search.search(resources, Question(query="Where does the user live?", types=("fact",)))
    assert "Lisbon" in [entry.hit.content for entry in found.results]


TALK = [
    {"role": "user", "text": "Hello! I always fly with hand luggage. My password is hunter2.", "tools": []},
    {"role": "tool", "content": "ERROR my flight was never found"},
    {
        "role": "assistant",
        "content": "Booked the train to Porto.",
        "tools": [{"name": "mcp__rail__book"}, "memory_search"],
    },
]


async def test_the_episode_is_the_summary_or_what_was_extracted(
    pair: dict[str, Any], host_dsn: str, home: Path
) -> None:
    """A choice of each butler; never the transcript, never a secret, tagged by tools and content, with its lineage."""
    summed, _ = pair["travel"]
    request = {"request_id": "r-1", "subrequest_id": 7, "colour": "green"}
    ended = await summed.after_session(
        "s-sum", "Booked a train to Porto. The PIN is 4711.", True, exchanges=TALK, request_context=request
    )
    kept = await episode(summed, ended)
    said = "Booked a train to Porto.\nThe PIN is [redacted: pin]."
    assert (kept.content, kept.session_id, kept.request_id) == (said, "s-sum", "r-1")
    assert (kept.butler, kept.tags[:2]) == ("travel", ["rail", "porto"])
    config = table(home, session={"episode": "extract", "importance": 8}, db_schema="travel_memory")
    extracting, _ = await started(config, host_dsn, "travel")
    try:
        kept = await episode(extracting, await extracting.after_session("s-ext", "not this", True, exchanges=TALK))
    finally:
        await extracting.on_shutdown()
    assert kept.content == (
        "User: I always fly with hand luggage.\nUser: My password is [redacted: password].\n"
        "Assistant: Booked the train to Porto."
    )
    assert (kept.importance, kept.tags[:2]) == (8, ["rail", "porto"])


async def test_what_leaves_no_episode(pair: dict[str, Any]) -> None:
    """Upkeep by flag or by trigger, failures, and sessions in which nothing was said: no episode, and nothing amiss."""
    module, server = pair["health"]
    said = "The user decided to take the pills at noon."
    async with Client(server) as client:
        before = (await caller_of(client)("memory_stats")).body
        for ended in [
            await module.after_session("n-1", said, True, maintenance=True),
            await module.after_session("n-2", said, True, trigger_source="schedule:memory_consolidation"),
            await module.after_session("n-3", said, False),
            await module.after_session("n-4", "Thanks!", True),
            await module.after_session("n-5", None, True),
        ]:
            assert (ended.outcome, ended.degraded, ended.ref) == ("none", False, None) and ended.reason
        assert (await caller_of(client)("memory_stats")).body == before


async def test_a_session_that_ends_twice_leaves_one_episode(pair: dict[str, Any]) -> None:
    """Told again, as after a crash of the host, it is the same episode; told otherwise, it changes nothing."""
    module, _ = pair["health"]
    first = await module.after_session("twice", "The user decided to walk more.", True)
    assert await module.after_session("twice", "The user decided to walk more.", True) == first
    other = await module.after_session("twice", "The user decided to walk less.", True)
    assert (other.outcome, other.degraded) == ("none", False) and "already" in str(other.reason)
    long = await module.after_session("x" * 300, "The user decided to run.", True)
    assert long.outcome == "none" and "session_id" in str(long.reason)


async def test_a_model_notes_what_matters_and_the_summary_stands_in_for_it(
    host_dsn: str, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its notes become the episode, and it never sees a secret; when it fails, the summary does, and that is told."""
    with scripted_server() as model:
        model.script = [answer("The user flies with hand luggage.\nToken: quokka-7Hn2"), answer("NOTHING"), (500, {})]
        chosen = {"distiller": "model", "model": {"name": "tiny", "base_url": model.url, "seconds": 120}}
        config = table(home, session={"episode": "model"}, consolidation=chosen, db_schema="travel_memory")
        module, _ = await started(config, host_dsn, "travel")
        try:
            for number in range(3):
                ended = await module.after_session(f"m-{number}", "A trip was booked.", True, exchanges=TALK)
                assert ended == SessionEnd("pending")
                await module.settle()
            troubles = (await module.health())["travel"]["troubles"]
            resources = await memory_of(module).lazy.get(5)
            async with resources.database.read("default") as transaction:
                found = await (
                    await transaction._connection.execute(
                        "SELECT session_id, content FROM travel_memory.episodes WHERE session_id LIKE 'm-%' ORDER BY 1"
                    )
                ).fetchall()
        finally:
            await module.on_shutdown()
        sent = str(model.requests)
    assert [(row["session_id"], row["content"]) for row in found] == [
        ("m-0", "The user flies with hand luggage.\nToken: [redacted: token]"),
        ("m-2", "A trip was booked."),
    ]
    assert "hand luggage" in sent and "hunter2" not in sent and "never found" not in sent
    assert "model" in troubles and any(one.levelno == logging.ERROR for one in caplog.records)


async def test_a_model_that_nobody_set_is_told_at_the_start(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The choice stands, the summary stands in for it, and both the log and the butler's state say so."""
    module = MemoryModule()
    config = table(home, session={"episode": "model"})
    await module.register_tools(FastMCP("x"), config, "postgresql://nobody@127.0.0.1:1/x", "x")
    assert "no model is set" in memory_of(module).troubles["model"]
    assert [one.levelno for one in caplog.records if "no model is set" in one.getMessage()] == [logging.ERROR]


class Lent(FakeEmbedder):
    """An embedder that is closed by nobody but its host."""

    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_a_host_may_name_its_butler_late_or_share_one_module(host_dsn: str, home: Path) -> None:
    """Started before it is named, or one module for all butlers: hooks go to the butler that is meant, or to none."""
    embedder = Lent()
    module, config = MemoryModule(embedder=embedder), table(home)
    handles = {name: Handle(host_dsn, schema=name) for name in ("health", "travel")}
    for name, db in handles.items():
        await module.on_startup(config, db, "a credential store", blob_store=None)
        await module.register_tools(FastMCP(name), config, db, name)
    try:
        ended = await module.after_session("shared", "The user decided to see Goa.", True, butler_name="travel")
        assert (await episode(module, ended, "travel")).butler == "travel"
        assert "Goa" in (await module.before_session("see Goa", butler_name="travel")).text
        assert "Goa" not in (await module.before_session("see Goa", butler_name="health")).text
        unsaid = await module.before_session("see Goa")
        assert unsaid.degraded and "health, travel" not in unsaid.text and "several butlers" in str(unsaid.reason)
        assert (await module.after_session("s", "I decided it.", True)).degraded
        assert set(await module.health()) == {"health", "travel"}
    finally:
        await module.on_shutdown()
    assert await module.health() == {} and not embedder.closed


async def test_tool_groups_choose_what_an_agent_gets(home: Path) -> None:
    """Only the named groups are on the server, and never a tool that an agent may not use."""
    everything, some, none = FastMCP[None]("a"), FastMCP[None]("b"), FastMCP[None]("c")
    for server, chosen in ((everything, {}), (some, {"tools": ["recall"]}), (none, {"tools": []})):
        await MemoryModule().register_tools(
            server, table(home, **chosen), "postgresql://nobody@localhost/x", server.name
        )
    names = {tool.name for tool in await everything.list_tools()}
    assert names == set(PARAMETERS) - {"memory_undo", "memory_reverse", "memory_purge"}
    recall = "search recall explain get stats context"
    assert {tool.name for tool in await some.list_tools()} == {f"memory_{name}" for name in recall.split()}
    assert await none.list_tools() == []


async def test_wrong_configuration_is_refused_at_the_start(home: Path, host_dsn: str) -> None:
    """Before anything is opened or registered, in both of the calls that get it; switched off, nothing happens."""
    module, server = MemoryModule(), FastMCP[None]("x")
    wrong = {"retrieval": {"weights": {"relevance": 0.9}}}
    with pytest.raises(InvalidInput, match=r"add up to 1\.5"):
        await module.on_startup(wrong, host_dsn)
    with pytest.raises(InvalidInput, match=r"add up to 1\.5"):
        await module.register_tools(server, wrong, host_dsn, "x")
    await module.register_tools(server, {"enabled": False}, host_dsn, "x")
    assert await server.list_tools() == [] and await module.health() == {}
    assert (await module.before_session("anything")).text == ""
    await module.register_tools(server, table(home), host_dsn, "x")
    with pytest.raises(InvalidInput, match="different memory configuration"):
        await module.register_tools(server, table(home, pool_size=3), host_dsn, "x")
    with pytest.raises(InvalidInput, match="configuration or database"):
        await module.register_tools(server, table(home), "postgresql://nobody@localhost/other", "x")


async def test_a_memory_that_cannot_be_reached_never_takes_the_host_down(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No server at all: the start goes through, hooks say degraded, tools answer in kind, health tells why, and the
    first failure of each kind is logged as an error, once."""
    db = Handle("postgresql://nobody@127.0.0.1:1/nothing")
    config = table(home, deadline_seconds=1, session={"deadline_seconds": 1})
    module, server = await started(config, db, "lost")
    for _ in range(2):
        begun = await module.before_session("anything at all")
        assert begun.degraded and "does not mean that there are no memories" in begun.text
        assert str(begun.reason).startswith("target_unavailable: ")
    ended = await module.after_session("s", "The user decided to wait.", True)
    assert (ended.outcome, ended.degraded) == ("none", True)
    async with Client(server) as client:
        reply = await caller_of(client)("memory_search", query="anything")
        assert reply.error == "target_unavailable" and reply.body["retryable"]
    state = (await module.health())["lost"]
    assert state["status"] == "down" and {"start", "before_session", "after_session"} <= state["troubles"].keys()
    await module.on_shutdown()
    loud = [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]
    assert len([line for line in loud if "before_session" in line]) == 1


async def test_a_hanging_database_is_given_up_at_the_deadline(home: Path) -> None:
    """A server that accepts and never answers: the hooks come back, with the reason."""
    config = table(home, deadline_seconds=0.2, session={"deadline_seconds": 0.1})
    with socket.create_server(("127.0.0.1", 0)) as hung:
        db = Handle(f"postgresql://x@127.0.0.1:{hung.getsockname()[1]}/x")
        module, _ = await started(config, db, "stuck")
        begun = await module.before_session("anything")
        assert begun.degraded and begun.reason
        await module.on_shutdown()


async def test_nonsense_from_a_host_is_no_fault_of_its_session(pair: dict[str, Any]) -> None:
    """Arguments of the wrong kind are told as degraded, never raised."""
    module, _ = pair["health"]
    assert (await module.before_session("")).degraded
    assert (await module.before_session("x", {"request_id": "y" * 500})).degraded
    for wrong in (["what?"], 7):
        assert (await module.after_session("s", "I decided it.", True, exchanges=wrong)).degraded
    assert (await module.after_session("s-none", "I decided it.", True, exchanges=None, tools=None)).outcome == "stored"


async def test_failed_upkeep_is_loud(pair: dict[str, Any], caplog: pytest.LogCaptureFixture, host_dsn: str) -> None:
    """A job that fails is logged as an error and stands in the health until it works again."""
    module, _ = pair["health"]
    await module.after_session("s-loud", "The user likes walking in the woods.", True)
    with psycopg.connect(host_dsn, autocommit=True) as host:
        host.execute("ALTER TABLE health_memory.facts RENAME TO facts_away")
        try:
            ran = await module.run_due()
        finally:
            host.execute("ALTER TABLE health_memory.facts_away RENAME TO facts")
    assert "failed" in {one.outcome for one in ran}
    state = (await module.health())["health"]
    assert state["status"] == "degraded" and any(what.startswith("upkeep ") for what in state["troubles"])
    assert any(one.levelno == logging.ERROR and "upkeep" in one.getMessage() for one in caplog.records)


async def test_the_worker_inside_consolidates_what_sessions_leave(host_dsn: str, home: Path) -> None:
    """With the usual settings the module looks after itself: what was told becomes a fact without anybody's doing."""
    config = table(home, upkeep={"tick_seconds": 0.1}, db_schema=f"w{uuid.uuid4().hex[:8]}")
    module, _ = await started(config, host_dsn, "worker")
    try:
        await module.after_session("w-1", "The user lives in Lisbon.", True)
        async with asyncio.timeout(60):
            outcome = None
            while outcome != "succeeded":
                jobs = (await module.health())["worker"]["upkeep"]["jobs"]
                outcome = jobs["consolidation"].get("outcome")
        assert "lives in: Lisbon" in (await module.before_session("Where does the user live?")).text
    finally:
        await module.on_shutdown()
