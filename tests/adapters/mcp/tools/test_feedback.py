"""The tools that correct, keep, withdraw and bring back, through a real MCP client in memory."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from fastmcp import Client
from psycopg import sql
from tests.adapters.conftest import FACT, Call, caller_of

from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.wire import answers
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources

TABLES = ("episodes", "facts", "rules", "memory_links", "memory_events", "rule_applications", "texts", "passages",
          "postings", "idempotency_keys", "memory_references")  # fmt: skip


@pytest.fixture
async def agent_call(resources: Resources, tenant: str) -> AsyncIterator[Call]:
    """A caller that is no administrator."""
    async with Client(build_server(resources, Principal(tenant, "health", Role.AGENT))) as client:
        yield caller_of(client)


@pytest.fixture
def everything(owner: psycopg.Connection[Any], tenant: str) -> Any:
    def read() -> dict[str, list[str]]:
        query = "SELECT * FROM memory.{} WHERE tenant_id = %s"
        return {
            table: sorted(map(str, owner.execute(sql.SQL(query).format(sql.Identifier(table)), [tenant]).fetchall()))
            for table in TABLES
        }

    return read


async def test_a_forgotten_fact_is_restored(call: Call) -> None:
    """Out of the search, back into it, and the second time it says that it is there already."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    await call("memory_forget", type="fact", id=ref)
    back = await call("memory_restore", type="facts", id=ref, reason="no joke")
    assert (back.body["outcome"], back.body["ref"]) == ("restored", ref)
    assert [found["ref"] for found in (await call("memory_search", query="Anna green")).body["results"]] == [ref]
    assert (await call("memory_restore", type="fact", id=ref)).body["outcome"] == "already_active"


async def test_a_taken_place_offers_to_supersede(call: Call) -> None:
    """The error names the live fact and the argument that helps; models may write it as text."""
    old = (await call("memory_store_fact", **FACT)).body["ref"]
    new = (await call("memory_store_fact", **{**FACT, "content": "Anna likes blue."})).body["ref"]
    refused = await call("memory_restore", type="fact", id=old)
    assert refused.error == "conflict" and new in refused.body["message"]
    assert "supersede=true" in refused.body["recovery"]
    back = await call("memory_restore", type="fact", id=old, supersede="true")
    assert (back.body["outcome"], back.body["supersedes"]) == ("restored", new)


async def test_a_fact_is_corrected(call: Call) -> None:
    """The answer names the right fact and the wrong one; its history tells who and why."""
    wrong = (await call("memory_store_fact", **FACT, tags=["color"], importance=8)).body["ref"]
    done = await call("memory_correct", fact_id=wrong, content="Anna likes blue.", reason="She told me.")
    assert (done.body["outcome"], done.body["supersedes"]) == ("corrected", wrong)
    seen = (await call("memory_get", type="fact", id=done.body["ref"])).body
    assert (seen["memory"]["content"], seen["memory"]["tags"], seen["memory"]["importance"]) == (
        "Anna likes blue.",
        ["color"],
        8,
    )
    assert [entry["ref"] for entry in seen["chain"]] == [wrong, done.body["ref"]]
    assert (await call("memory_correct", fact_id=done.body["ref"], content="Anna likes blue.")).body[
        "outcome"
    ] == "unchanged"


async def test_pins_go_on_and_off(call: Call) -> None:
    """Each way the outcome says what happened, and the memory shows it."""
    rule = (await call("memory_store_rule", content="Be kind.")).body["ref"]
    outcomes = []
    for tool in ("memory_unpin", "memory_pin", "memory_pin", "memory_unpin"):
        outcomes.append((await call(tool, type="rule", id=rule)).body["outcome"])
        kept = (await call("memory_get", type="rule", id=rule)).body["memory"]
        assert kept["pinned"] is (tool == "memory_pin")
    assert outcomes == ["already_unpinned", "pinned", "already_pinned", "unpinned"]


async def test_a_warning_is_reversed_by_an_administrator_only(call: Call, agent_call: Call) -> None:
    """An agent is refused; afterwards the rule is a candidate without a warning."""
    rule = (await call("memory_store_rule", content="Deploy on Friday.")).body["ref"]
    for _ in range(3):
        await call("memory_mark_harmful", rule_id=rule, reason="The weekend was lost.")
    assert "warning" in (await call("memory_get", type="rule", id=rule)).body["memory"]
    assert (await agent_call("memory_reverse", rule_id=rule)).error == "permission_denied"
    assert (await call("memory_reverse", rule_id=rule, reason="We have tests now.")).body["outcome"] == "reversed"
    kept = (await call("memory_get", type="rule", id=rule)).body["memory"]
    assert kept["maturity"] == "candidate" and "warning" not in kept
    assert (await call("memory_reverse", rule_id=rule)).error == "conflict"


async def test_forgetting_a_source_offers_what_came_from_it(call: Call) -> None:
    """The answer lists it with its words; a second call with `derived` withdraws it as one group."""
    source = (await call("memory_store_episode", content="Anna likes green tea.", butler="main")).body["ref"]
    fact = {"subject": "Anna", "predicate": "tea", "content": "green", "source_episode": source}
    ref = (await call("memory_store_fact", **fact)).body["ref"]
    offered = (await call("memory_forget", type="episode", id=source)).body
    assert offered["derived"] == [{"ref": ref, "line": "Anna · tea: green"}]
    assert "withdrawn" not in offered and "group_id" not in offered
    done = (await call("memory_forget", type="episode", id=source, derived=True)).body
    assert (done["outcome"], done["withdrawn"], done["derived"]) == ("already_retracted", 1, [{"ref": ref}])
    assert (await call("memory_undo", id=done["group_id"])).body["undone"] == 1


async def test_forgetting_about_somebody_is_shown_first(call: Call) -> None:
    """Without dry_run=false nothing happens; with it everything listed is gone, and the group is named."""
    fact = (await call("memory_store_fact", subject="Ben", predicate="sister", content="It's anna@x.org.")).body["ref"]
    other = (await call("memory_store_fact", subject="Ben", predicate="aunt", content="joanna@x.org")).body["ref"]
    shown = (await call("memory_forget_about", text="anna@x.org")).body
    assert shown == {
        "dry_run": True,
        "count": 1,
        "touched": [{"ref": fact, "why": "named in its content", "line": "Ben · sister: It's anna@x.org."}],
    }
    assert (await call("memory_get", type="fact", id=fact)).body["memory"]["validity"] == "active"
    done = (await call("memory_forget_about", text="anna@x.org", dry_run="false", reason="She asked.")).body
    assert (done["dry_run"], done["count"]) == (False, 1)
    assert done["touched"] == [{"ref": fact, "why": "named in its content"}] and len(done["group_id"]) == 36
    states = {ref: (await call("memory_get", type="fact", id=ref)).body["memory"]["validity"] for ref in (fact, other)}
    assert states == {fact: "retracted", other: "active"}
    undone = await call("memory_undo", id=done["group_id"])
    assert not undone.is_error, undone.text
    assert (await call("memory_get", type="fact", id=fact)).body["memory"]["validity"] == "active"


async def test_near_spellings_are_listed_and_forgotten_only_if_passed(call: Call) -> None:
    """A dry run lists them as `similar`; `also` includes one, exactly."""
    fact = (await call("memory_store_fact", subject="Ben", predicate="sister", content="It's anna@x.org.")).body["ref"]
    other = (await call("memory_store_fact", subject="Ben", predicate="shop", content="It's anna+a@x.org.")).body["ref"]
    shown = (await call("memory_forget_about", text="anna@x.org")).body
    assert shown["similar"] == [
        {"spelling": "anna+a@x.org", "why": "with or without a plus tag", "count": 1, "refs": [other]}
    ]
    both = (await call("memory_forget_about", text="anna@x.org", also=["anna+a@x.org"])).body
    assert {entry["ref"] for entry in both["touched"]} == {fact, other} and "similar" not in both
    done = (await call("memory_forget_about", also=["anna+a@x.org"], dry_run=False)).body
    assert [entry["ref"] for entry in done["touched"]] == [other]
    too_many = await call("memory_forget_about", text="anna@x.org", also=["anna+a@x.org"] * 20)
    assert (too_many.error, "the maximum is 20" in too_many.text) == ("validation_error", True)


@pytest.mark.parametrize("dry_run", ["no", "0", 0, "please", [], "nein"])
async def test_only_a_plain_false_sets_it_off(call: Call, dry_run: Any, everything: Any) -> None:
    """Anything that merely looks like a no is refused, and nothing is forgotten."""
    await call("memory_store_fact", **FACT)
    before = everything()
    assert (await call("memory_forget_about", subject="Anna", dry_run=dry_run)).error == "validation_error"
    assert everything() == before


async def test_an_explicit_null_is_a_dry_run(call: Call, everything: Any) -> None:
    """Leaving it out and passing null mean the same."""
    await call("memory_store_fact", **FACT)
    before = everything()
    assert (await call("memory_forget_about", subject="Anna", dry_run=None)).body["dry_run"] is True
    assert everything() == before


async def test_a_subject_hints_at_what_else_names_it(call: Call) -> None:
    """The names it goes by, and how many more memories a text would take in."""
    await call("memory_store_fact", **FACT)
    await call("memory_store_rule", content="Ask Anna first.")
    shown = (await call("memory_forget_about", subject="anna")).body
    assert (shown["count"], shown["names"], shown["mentions"]) == (1, ["anna"], 1)


async def test_a_long_list_is_counted_and_named_in_part(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, the answer stays readable."""
    monkeypatch.setattr(answers, "NAMED", 2)
    for number in range(3):
        await call("memory_store_fact", **{**FACT, "predicate": f"p{number}"})
    shown = (await call("memory_forget_about", subject="Anna")).body
    assert (shown["count"], len(shown["touched"])) == (3, 2)


async def test_a_key_makes_each_of_them_safe_to_retry(call: Call) -> None:
    """The same call with the same key gets the same answer, and does nothing more."""
    fact = (await call("memory_store_fact", **FACT)).body["ref"]
    rule = (await call("memory_store_rule", content="Be kind.")).body["ref"]
    for _ in range(3):
        await call("memory_mark_harmful", rule_id=rule)
    calls = [
        ("memory_pin", {"type": "fact", "id": fact}),
        ("memory_unpin", {"type": "fact", "id": fact}),
        ("memory_correct", {"fact_id": fact, "content": "Anna likes blue."}),
        ("memory_restore", {"type": "fact", "id": fact, "supersede": True}),
        ("memory_reverse", {"rule_id": rule}),
        ("memory_forget_about", {"subject": "Anna", "dry_run": False}),
    ]
    for tool, arguments in calls:
        first = await call(tool, **arguments, idempotency_key=tool)
        assert not first.is_error, first.text
        events = (await call("memory_stats")).body["events"]
        assert (await call(tool, **arguments, idempotency_key=tool)).body == first.body
        assert (await call("memory_stats")).body["events"] == events, tool


BAD = [
    ("memory_restore", {"type": "fact", "id": "fact:zzzz"}, "not_found"),
    ("memory_restore", {"type": "fact", "id": "rule:zzzz"}, "validation_error"),
    ("memory_restore", {"type": "person", "id": "zzzz"}, "validation_error"),
    ("memory_restore", {"type": "fact", "id": "{rule}"}, "validation_error"),
    ("memory_restore", {"type": "fact", "id": "{hidden}"}, "not_found"),
    ("memory_restore", {"type": "fact", "id": "fact:zzzz", "supersede": "perhaps"}, "validation_error"),
    ("memory_correct", {"fact_id": "zzzz", "content": "x"}, "not_found"),
    ("memory_correct", {"fact_id": "rule:zzzz", "content": "x"}, "validation_error"),
    ("memory_correct", {"fact_id": "{rule}", "content": "x"}, "validation_error"),
    ("memory_correct", {"fact_id": "{hidden}", "content": "x"}, "not_found"),
    ("memory_correct", {"fact_id": "{own}", "content": " "}, "validation_error"),
    ("memory_correct", {"fact_id": "{gone}", "content": "x"}, "conflict"),
    ("memory_pin", {"type": "rule", "id": "zzzz"}, "not_found"),
    ("memory_pin", {"type": "rule", "id": "{own}"}, "validation_error"),
    ("memory_pin", {"type": "fact", "id": "{hidden}"}, "not_found"),
    ("memory_pin", {"type": "fact", "id": "{gone}"}, "conflict"),
    ("memory_unpin", {"type": "episode", "id": "{episode}"}, "not_found"),
    ("memory_unpin", {"type": "fact", "id": "{gone}"}, "conflict"),
    ("memory_reverse", {"rule_id": "{rule}"}, "permission_denied"),
    ("memory_mark_helpful", {"rule_id": "{own}"}, "validation_error"),
    ("memory_mark_harmful", {"rule_id": "fact:{own}"}, "validation_error"),
    ("memory_confirm", {"type": "fact", "id": "{gone}"}, "conflict"),
    ("memory_forget_about", {}, "validation_error"),
    ("memory_forget_about", {"text": "a", "dry_run": False}, "validation_error"),
    ("memory_forget_about", {"subject": "", "dry_run": False}, "validation_error"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad[0]} {bad[2]}")
async def test_a_bad_call_is_refused_with_a_way_out(
    call: Call, agent_call: Call, bad: tuple[str, dict[str, Any], str], everything: Any
) -> None:
    """By an agent: unknown, of another type, another butler's, in the wrong state; each its class, nothing changed."""
    tool, arguments, error = bad

    async def stored(tool: str, **given: Any) -> str:
        return str((await call(tool, **given)).body["ref"]).partition(":")[2]

    known = {
        "own": await stored("memory_store_fact", **FACT),
        "gone": await stored("memory_store_fact", **{**FACT, "predicate": "shoe"}),
        "hidden": await stored("memory_store_fact", **FACT, scope="finance"),
        "rule": await stored("memory_store_rule", content="Be kind."),
        "episode": await stored("memory_store_episode", content="Counted money.", butler="finance"),
    }
    await call("memory_forget", type="fact", id=known["gone"])
    before = everything()
    given = {name: value.format(**known) if isinstance(value, str) else value for name, value in arguments.items()}
    reply = await agent_call(tool, **given)
    assert reply.error == error, reply.text
    assert len(reply.body["recovery"]) > 10
    assert everything() == before
