"""A memory's story and its undoing through the doors: the tool and the command."""

import json
import re
from collections.abc import Callable
from uuid import UUID

import pytest
from fastmcp import Client
from tests.adapters.conftest import FACT, Call, caller_of
from typer.testing import Result

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.tables import history
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.wire.answers import undo_answer
from memory_butler.models import Principal, Role, SkippedEvent, UndoneEvent, UndoReport
from memory_butler.resources import Resources

Command = Callable[..., Result]


async def test_get_tells_the_story_and_undo_takes_it_back(call: Call) -> None:
    """The id that memory_get shows is the one memory_undo takes, and the story goes on."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    await call("memory_forget", type="fact", id=ref, reason="a joke")
    seen = (await call("memory_get", type="fact", id=ref)).body
    assert seen["outlook"] == "Forgotten. Not used any more; it can be restored."
    assert (seen["fades_at"], seen["expires_at"]) == (None, None)
    stored, forgotten = seen["events"]
    assert stored["words"] == "Stored by main."
    assert (forgotten["event"], forgotten["words"]) == ("fact.retracted", "Forgotten by main: “a joke”.")

    done = (await call("memory_undo", id=forgotten["id"], request_context={"request_id": "r1"})).body
    assert (done["kind"], done["undone"], done["request_id"]) == ("event", 1, "r1")
    assert [(line["ref"], line["validity"]) for line in done["taken_back"]] == [(ref, "active")]
    seen = (await call("memory_get", type="fact", id=ref)).body
    last = seen["events"][-1]
    assert (last["words"], last["undoes"], last["group_id"]) == (
        "Undone by main: the forgetting of 2026-03-01.",
        forgotten["id"],
        done["undo_id"],
    )
    assert [event.get("undone") for event in seen["events"]] == [None, True, None]
    assert re.fullmatch(r"Fades in \d+ \w+ \([\d-]+\) unless confirmed, and expires on [\d-]+\.", seen["outlook"])
    assert seen["memory"]["validity"] == "active"
    assert (await call("memory_undo", id=forgotten["id"])).error == "conflict"


async def test_undo_refuses_in_the_closed_classes(call: Call, resources: Resources) -> None:
    """Nonsense, unknown, another's: each with its class and how to recover; agents are turned away."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    event = (await call("memory_get", type="fact", id=ref)).body["events"][0]["id"]
    assert (await call("memory_undo", id=ref)).error == "validation_error"
    assert (await call("memory_undo", id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d")).error == "not_found"
    assert (await call("memory_undo", id=event, skip_changed="perhaps")).error == "validation_error"
    for principal, error in (
        (Principal(resources.settings.tenant, "main", Role.AGENT), "permission_denied"),
        (Principal("another", "main", Role.ADMIN), "not_found"),
    ):
        async with Client(build_server(resources, principal)) as client:
            refused = await caller_of(client)("memory_undo", id=event)
            assert (refused.error, bool(refused.body["recovery"])) == (error, True)
    assert (await call("memory_get", type="fact", id=ref)).body["memory"]["validity"] == "active"


async def test_a_retried_undo_is_answered_the_same(call: Call) -> None:
    """By its idempotency key."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    event = (await call("memory_get", type="fact", id=ref)).body["events"][0]["id"]
    first = await call("memory_undo", id=event, idempotency_key="k1")
    assert not first.is_error
    assert (await call("memory_undo", id=event, idempotency_key="k1")).body == first.body


def test_the_command_line_tells_and_undoes(command: Command) -> None:
    """Look, rehearse, undo, take the undo back; each says in the end what to type next."""
    stored = json.loads(command("remember", "fact", "Anna", "tea", "green", "--json").stdout)
    json.loads(command("remember", "fact", "Anna", "tea", "black", "--json").stdout)
    shown = command("get", stored["ref"])
    assert shown.exit_code == 0
    assert "Superseded by fact:" in shown.stdout
    assert "outlook" in shown.stdout
    group = re.search(r"group\s+([0-9a-f-]{36})", shown.stdout)
    assert group

    rehearsed = command("undo", group[1], "--dry-run")
    assert "2 changes would be undone." in rehearsed.stdout
    assert "To redo" not in rehearsed.stdout
    done = command("undo", group[1])
    assert "2 changes were undone." in done.stdout
    assert f"{stored['ref']}  the supersession of 2026-03-01 → active" in done.stdout
    back = re.search(r"To redo: memory-butler undo ([0-9a-f-]{36})", done.stdout)
    assert back
    again = json.loads(command("undo", back[1], "--json").stdout)
    assert (again["kind"], again["undone"], again["dry_run"], again["skipped"]) == ("group", 2, False, 0)
    assert again["not_brought_back_count"] == 0
    assert "(undone)" in command("get", stored["ref"]).stdout


def test_the_command_line_refuses_what_cannot_be_undone(command: Command) -> None:
    """The error comes as it is raised, for the outermost boundary to show."""
    refused = command("undo", "nonsense")
    assert refused.exit_code == 1
    assert "not the id of an event or a group" in str(refused.exception)


def test_a_long_report_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    """The first lines, how many more, what was left alone and why, what is gone, and no control characters."""
    lines = [
        UndoneEvent(ref=f"fact:{n:04}", event_id=UUID(int=n), what="the expiry of 2026-03-01", validity="active")
        for n in range(100)
    ]
    left = SkippedEvent(ref="rule:k3f7", event_id=UUID(int=7), what="the fading of 2026-03-01", reason="of \x1b[31mred")
    report = UndoReport(
        id=UUID(int=1),
        kind="group",
        undo_id=UUID(int=2),
        dry_run=False,
        undone=1150,
        already_undone=3,
        skipped=1,
        taken_back=tuple(lines),
        left_alone=(left,),
        remarks={"It was renewed.": 1150},
        not_brought_back=tuple(f"episode:{n:04}" for n in range(25)),
    )
    terminal.console().print(history.undone(report))
    said = " ".join(capsys.readouterr().out.split())
    assert "fact:0019 the expiry of 2026-03-01 → active … and 1,130 more 1,150 times: It was renewed." in said
    assert "! rule:k3f7: the fading of 2026-03-01 was skipped, because of �[31mred." in said
    assert "episode:0019 and 5 more." in said
    assert "1,150 changes were undone, 1 skipped, 3 undone before." in said
    answer = undo_answer(report)
    assert (answer.not_brought_back_count, len(answer.not_brought_back)) == (25, 25)


async def test_a_purge_is_shown_first_and_leaves_a_receipt(call: Call) -> None:
    """Without dry_run=false nothing happens; with it the memory is gone for good, and the answer has no words."""
    fact = (await call("memory_store_fact", subject="Ben", predicate="phone", content="It's 555-0199.")).body["ref"]
    shown = (await call("memory_purge", text="555-0199")).body
    assert (shown["dry_run"], shown["count"]) == (True, 1)
    assert shown["touched"] == [{"ref": fact, "why": "named in its content", "line": "Ben · phone: It's 555-0199."}]
    done = (await call("memory_purge", text="555-0199", dry_run=False, reason="She asked.")).body
    assert "555-0199" not in str(done) and len(done["receipt"]) == 36 and done["counts"]["facts"] == 1
    assert (await call("memory_get", type="fact", id=fact)).error == "not_found"
    assert (await call("memory_purge", ref=fact, dry_run=False)).body["receipt"] == done["receipt"]
    assert (await call("memory_purge")).error == "validation_error"
