"""How memories live, told through the doors: an agent on MCP, a person at the terminal, and a clock that moves.

One rule earns trust, another becomes a warning. One fact is used until it belongs to the long-term memory; another is
left alone until it is gone, and is brought back twice, in two ways.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastmcp import Client

from memory_butler.adapters.mcp.server import build_server
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources

Say = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def ask(resources: Resources, tenant: str) -> AsyncIterator[Say]:
    """The agent, whose name is coder: calls a tool, in a session if one is named, and gets its answer."""
    async with Client(build_server(resources, Principal(tenant, "coder", Role.AGENT))) as client:

        async def call(tool: str, /, session: str | None = None, **arguments: Any) -> dict[str, Any]:
            context = {"request_context": {"session_id": session}} if session else {}
            answer = await client.call_tool(f"memory_{tool}", {**arguments, **context})
            return dict(answer.structured_content)

        yield call


@pytest.fixture
def person(command: Callable[..., Any]) -> Say:
    """The person at the terminal: runs a command on the same store, by the same clock."""

    async def run(*arguments: str) -> dict[str, Any]:
        done = await asyncio.to_thread(command, *arguments, "--json")
        assert done.exit_code == 0, done.output
        return dict(json.loads(done.stdout))

    return run


async def test_how_memories_live(ask: Say, person: Say, clock: Any) -> None:  # noqa: PLR0915 - a life is long
    """Trust is earned and lost, use moves a fact up, neglect lets one go, and nothing that went is lost."""

    async def memory(ref: str) -> dict[str, Any]:
        """A person's look at a memory, which does not count as use."""
        return await person("get", ref)

    async def briefing(prompt: str) -> list[str]:
        built = await ask("context", trigger_prompt=prompt, butler="coder")
        return str(built["context"]).splitlines()

    async def found(query: str, *options: str) -> set[str]:
        return {result["ref"] for result in (await person("search", query, *options))["results"]}

    # The first of March. An agent writes down two rules and two facts that will not hold for long.
    begun: datetime = clock.now
    migrate = (await ask("store_rule", content="Run the migrations before the tests"))["ref"]
    restart = (await ask("store_rule", content="Restart the service when a test hangs"))["ref"]
    passing = {"permanence": "ephemeral", "subject": "office"}
    port = (await ask("store_fact", **passing, predicate="demo_port", content="The demo answers on port 8200"))["ref"]
    alarm = (await ask("store_fact", **passing, predicate="alarm", content="The alarm is tested on Thursday"))["ref"]
    for ref in (migrate, restart, port, alarm):
        assert (await memory(ref))["tier"] == "mid"

    # Both facts are told what awaits them if nothing happens: sixteen days to fade, thirty to go.
    prospects = await memory(alarm)
    fades, goes = (datetime.fromisoformat(prospects[name]) - begun for name in ("fades_at", "expires_at"))
    assert (fades.days, goes.days) == (16, 29)

    # In the first week the agent asks for the demo's port twice a day, follows the first rule, and it helps.
    for day in range(1, 9):
        clock.move(days=1)
        await ask("search", f"day-{day}", query="Which port is the demo on?", tier="mid", types=["fact"], limit=1)
        assert (await ask("get", f"day-{day}", type="fact", id=port))["memory"]["validity"] == "active"
        await ask("mark_helpful", f"day-{day}", rule_id=migrate)
        if day == 4:
            assert (await memory(migrate))["memory"]["maturity"] == "candidate"
    assert (await memory(migrate))["memory"]["maturity"] == "established"
    assert (await memory(migrate))["tier"] == "long"

    # The other rule helped once and then did harm. The third time it becomes what it is: a warning.
    await ask("mark_helpful", "day-8", rule_id=restart)
    for reason in ("the logs were lost", "it only hid a deadlock", "a customer was cut off"):
        assert (await memory(restart))["memory"]["maturity"] == "candidate"
        clock.move(hours=1)
        await ask("mark_harmful", "day-8", rule_id=restart, reason=reason)
    inverted = (await memory(restart))["memory"]
    assert (inverted["maturity"], inverted["content"]) == ("anti_pattern", "Restart the service when a test hangs")
    rules = [
        line for line in await briefing("A test hangs, restart the service and the migrations?") if "rule:" in line
    ]
    assert rules[0].startswith("- WARNING ANTI-PATTERN: Do NOT restart the service when a test hangs. This caused")
    assert "the logs were lost; it only hid a deadlock; a customer was cut off" in rules[0]
    assert rules[1].endswith(f"[{migrate}] established")

    # Sixteen references over seven days: the sweep makes the port a fact that fades more slowly. The alarm waits.
    rehearsed = await person("sweep", "--dry-run")
    assert (await memory(port))["memory"]["permanence"] == "ephemeral"
    swept = await person("sweep")
    assert swept["changed"] == rehearsed["changed"] == 1
    promoted = await memory(port)
    assert (promoted["memory"]["permanence"], promoted["tier"]) == ("volatile", "mid")
    assert datetime.fromisoformat(promoted["expires_at"]) > begun + goes
    assert [event["event"] for event in promoted["events"]] == ["fact.created", "fact.promoted"]

    # So it goes on. Eight days later the port is a standard fact, after eight more a stable one: long-term memory.
    for days, permanence in ((range(9, 17), "standard"), (range(17, 25), "stable")):
        for day in days:
            clock.move(days=1)
            await ask("recall", f"day-{day}", topic="the port of the demo", limit=1)
            await ask("get", f"day-{day}", type="fact", id=port)
            if day <= 15:
                await ask("mark_helpful", f"day-{day}", rule_id=migrate)
        await person("sweep")
        assert (await memory(port))["memory"]["permanence"] == permanence
    assert (await memory(port))["tier"] == "long"
    assert port in await found("demo port", "--tier", "long")

    # Twenty-four days have gone by. Fifteen times the first rule has helped, but it is too young to be proven.
    earned = (await memory(migrate))["memory"]
    assert (earned["success_count"], earned["maturity"]) == (15, "established")

    # Nobody has asked for the alarm. It has faded: out of the answers, and still there for those who insist.
    assert (await memory(alarm))["memory"]["validity"] == "fading"
    assert alarm not in await found("alarm Thursday")
    assert alarm in await found("alarm Thursday", "--min-confidence", "0.05")

    # After a month the sweep finds it gone, and finds the first rule old enough: proven, without another mark.
    clock.move(days=7)
    await person("sweep")
    gone = await memory(alarm)
    assert gone["memory"]["validity"] == "expired"
    assert alarm not in await found("alarm Thursday", "--min-confidence", "0")
    assert (await memory(migrate))["memory"]["maturity"] == "proven"
    assert {migrate, port} <= await found("migrations demo port", "--tier", "long")

    # That was a mistake, says the person, and takes that one change back. The rest of the sweep stands.
    expiry = next(event for event in gone["events"] if event["event"] == "fact.expired")
    undone = await person("undo", expiry["id"])
    assert undone["undone"] == 1
    back = await memory(alarm)
    assert back["memory"]["validity"] == "active"
    assert [event["event"] for event in back["events"]][-2:] == ["fact.expired", "fact.undone"]
    assert alarm in await found("alarm Thursday")
    assert (await memory(migrate))["memory"]["maturity"] == "proven"

    # It is left alone again, for longer than before, and goes again. This time the agent asks for it back.
    clock.move(days=31)
    await person("sweep")
    assert (await memory(alarm))["memory"]["validity"] == "expired"
    assert (await ask("restore", type="fact", id=alarm))["outcome"] == "restored"
    clock.move(days=1)
    await person("sweep")
    restored = await memory(alarm)
    assert (restored["memory"]["validity"], restored["effective_confidence"] > 0.9) == ("active", True)
    assert alarm in await found("alarm Thursday")

    # Half a year on nothing has been said about either rule. Even the proven one begins to fade; the warning does not.
    clock.move(days=180)
    await person("sweep")
    assert (await memory(restart))["memory"]["validity"] == "active"
    assert restart in await found("restart the service")
    assert (await memory(migrate))["memory"]["validity"] == "fading"
    assert (await ask("confirm", type="rule", id=migrate))["outcome"] == "confirmed"
    assert (await memory(migrate))["memory"]["validity"] == "active"

    # And the books add up: the port and the proven rule are in the long-term memory, used as often as was said.
    tiers = (await ask("stats"))["tiers_by_butler"]["coder"]
    assert (tiers["long"]["count"], tiers["long"]["oldest"]) == (2, begun.isoformat())
    assert tiers["long"]["references"] >= 3 * 16
    assert clock.now - begun == timedelta(days=24 + 7 + 31 + 1 + 180, hours=3)

    # All of it can be told again from the log alone.
    assert (await person("replay", "--verify"))["equal"]
