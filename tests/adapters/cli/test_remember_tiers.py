"""Generations through the doors: MCP for agents, the command line for people."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from fastmcp import Client
from psycopg.rows import dict_row
from tests.adapters.conftest import Call, caller_of

from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import InvalidInput
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources

References = Callable[[], list[tuple[str, str | None]]]


@pytest.fixture
def references(owner: psycopg.Connection[Any], tenant: str) -> References:
    """Every counted reference: which memory, in which session."""

    def read() -> list[tuple[str, str | None]]:
        with owner.cursor(row_factory=dict_row) as cursor:
            cursor.execute("SELECT * FROM memory.memory_references WHERE tenant_id = %s ORDER BY seq", [tenant])
            return [(str(row["memory_id"]), row["session_id"]) for row in cursor]

    return read


# --- MCP ------------------------------------------------------------------------------------------


async def test_notes_are_stored_into_tiers_and_found_there(call: Call) -> None:
    """Eden makes an episode, mid and long a fact; a search of a tier returns what is in it, and says so."""
    made = {
        tier: await call("memory_store", content=f"Tea note {n}", **({"tier": tier} if tier else {}), tags="tea, tin")
        for n, tier in enumerate(("", "mid-term", "long"))
    }
    assert [reply.body["type"] for reply in made.values()] == ["episode", "fact", "fact"]
    for word, tier, reply in (
        ("short", "eden", made[""]),
        ("mid", "mid", made["mid-term"]),
        ("long-term", "long", made["long"]),
    ):
        found = (await call("memory_search", query="tea note", tier=word)).body
        assert [(result["ref"], result["tier"]) for result in found["results"]] == [(reply.body["ref"], tier)]
        assert found["results"][0]["tags"] == ["tea", "tin"]
        seen = (await call("memory_get", type=reply.body["type"], id=reply.body["ref"])).body
        assert seen["tier"] == tier
    again = await call("memory_store", content="Tea note 1", tier="mid")
    assert (again.body["outcome"], again.body["ref"]) == ("confirmed", made["mid-term"].body["ref"])


async def test_a_note_reads_as_one_in_a_briefing(call: Call) -> None:
    """No hash reaches the model."""
    ref = (await call("memory_store", content="The tea is in the blue tin.", tier="long")).body["ref"]
    context = (await call("memory_context", trigger_prompt="Where is the tea?", butler="main")).body["context"]
    assert f"- main · note: The tea is in the blue tin. [{ref}] confidence 1.00" in context
    assert "note:" not in context.replace("note: The", "")


async def test_an_agents_note_is_its_own(resources: Resources, tenant: str) -> None:
    """Without a name it is the caller's; under another butler's name it is refused."""
    async with Client(build_server(resources, Principal(tenant, "health", Role.AGENT))) as client:
        call = caller_of(client)
        ref = (await call("memory_store", content="Ran five miles.")).body["ref"]
        assert (await call("memory_get", type="episode", id=ref)).body["memory"]["butler"] == "health"
        assert (await call("memory_store", content="x", butler="finance")).error == "permission_denied"
        assert (await call("memory_store", content="x", butler="finance", tier="long")).error == "permission_denied"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory_store", {"content": "x", "tier": "forever"}, "one of: eden, mid, long"),
        ("memory_store", {"content": "", "tier": "mid"}, "content is empty"),
        ("memory_store", {"content": "x" * 4001, "tier": "mid"}, "the limit is 4000"),
        ("memory_store", {"content": "x", "tier": ["mid"]}, "tier must be text"),
        ("memory_search", {"query": "x", "tier": "old"}, "one of: eden, mid, long"),
        ("memory_search", {"query": "x", "tier": "eden", "types": ["facts"]}, "eden holds no facts"),
    ],
)
async def test_bad_input_is_said_and_changes_nothing(
    call: Call, tool: str, arguments: dict[str, Any], words: str
) -> None:
    """An error of the right class with what is wrong, and no event."""
    refused = await call(tool, **arguments)
    assert refused.error == "validation_error" and words in refused.body["message"]
    assert (await call("memory_stats")).body["events"] == 0


async def test_reading_tools_count_with_the_session_they_name(call: Call, references: References) -> None:
    """Search, recall and get bump each memory they return once; context and stats bump nothing."""
    fact = (await call("memory_store", content="Tea is green.", tier="mid")).body
    episode = (await call("memory_store", content="Tea was made.")).body

    def session(name: str) -> dict[str, Any]:
        return {"request_context": {"session_id": name}}

    await call("memory_context", trigger_prompt="Is tea green?", butler="main", **session("s0"))
    await call("memory_stats", **session("s0"))
    assert references() == []
    await call("memory_search", query="tea", **session("s1"))
    assert sorted(references()) == sorted([(fact["id"], "s1"), (episode["id"], "s1")])
    await call("memory_recall", topic="tea", **session("s2"))
    await call("memory_get", type="fact", id=fact["ref"], **session("s3"))
    await call("memory_get", type="fact", id=fact["ref"])
    assert references()[2:] == [(fact["id"], "s2"), (fact["id"], "s3"), (fact["id"], None)]
    tiers = (await call("memory_stats")).body["tiers"]
    assert (tiers["mid"]["references"], tiers["eden"]["references"]) == (4, 1)


# --- command line ---------------------------------------------------------------------------------


def test_a_person_stores_and_finds_by_tier(command: Callable[..., Any], references: References) -> None:
    """`store` and `search --tier` do as the tools do, and what a person looks up counts as no reference."""

    def cli(*arguments: str) -> str:
        done = command(*arguments)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    assert cli("store", "Watered the fern.", "--tag", "plants").startswith("Stored episode:")
    done = json.loads(cli("store", "The fern likes shade.", "--tier", "long-term", "--importance", "8", "--json"))
    assert (done["type"], done["outcome"]) == ("fact", "created")
    assert cli("store", "The fern likes shade.", "--tier", "long") == f"Confirmed {done['ref']}.\n"
    found = json.loads(cli("search", "fern", "--tier", "long", "--json"))
    assert [(result["ref"], result["tier"]) for result in found["results"]] == [(done["ref"], "long")]
    shown = cli("search", "fern", "--verbose")
    assert "user · note: The fern likes shade." in shown and "stable · long-term" in shown and "Eden · seen" in shown
    assert json.loads(cli("recall", "fern", "--json"))["count"] == 1
    assert "long" in cli("get", done["ref"])
    assert references() == []
    stats = cli("stats")
    assert "Tiers\n" in stats and "references" in stats and "Tiers by butler" not in stats
    cli("store", "Raked the leaves.", "--butler", "garden")
    both = cli("stats")
    table = both[both.index("Tiers by butler") :].splitlines()[1:4]
    assert [line.split()[:4] for line in table[1:]] == [["garden", "1", "of", "50000"], ["main", "1", "of", "50000"]]
    assert all(len(line.rstrip()) <= 80 for line in both.splitlines())


def test_a_person_is_told_what_a_tier_is(command: Callable[..., Any]) -> None:
    """A tier that does not exist, and one that cannot hold what is asked for, are errors with a way out."""
    refused = command("search", "fern", "--tier", "eden", "--type", "rule").exception
    assert isinstance(refused, InvalidInput)
    assert "eden holds no rules" in refused.message and "Leave out types" in refused.recovery
    assert isinstance(command("store", "x", "--tier", "attic").exception, InvalidInput)
