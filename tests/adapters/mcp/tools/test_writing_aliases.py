"""Other names of a subject, through the doors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.conftest import FACT, Call
from typer.testing import Result


@pytest.mark.parametrize("names", [["Annie", "Mum"], '["Annie", "Mum"]', "Annie, Mum"])
async def test_a_tool_takes_names_and_shows_them(call: Call, names: Any) -> None:
    """As a list or as what models write for one; memory_get of any fact about the subject shows them."""
    await call("memory_store_fact", **FACT, aliases=names)
    other = await call("memory_store_fact", subject="anna", predicate="city", content="Anna lives in Lisbon.")
    shown = await call("memory_get", type="fact", id=other.body["ref"])
    assert shown.body["aliases"] == ["Annie", "Mum"]


async def test_a_fact_without_names_shows_none(call: Call) -> None:
    stored = await call("memory_store_fact", **FACT)
    assert "aliases" not in (await call("memory_get", type="fact", id=stored.body["ref"])).body


async def test_too_many_names_are_refused_with_the_way_out(call: Call) -> None:
    reply = await call("memory_store_fact", **FACT, aliases=[f"name {n}" for n in range(21)])
    assert (reply.error, "at most 20 names" in reply.body["message"]) == ("validation_error", True)


async def test_forgetting_says_how_many_names_go(call: Call) -> None:
    """Beforehand and afterwards; the names themselves are not repeated then."""
    await call("memory_store_fact", **FACT, aliases=["Annie"])
    shown = await call("memory_forget_about", subject="Anna")
    assert (shown.body["aliases"], shown.body["names"]) == (1, ["anna", "annie"])
    done = await call("memory_forget_about", subject="Anna", dry_run=False)
    assert (done.body["aliases"], "nnie" in done.text) == (1, False)
    assert "aliases" not in (await call("memory_forget_about", subject="Anna")).body


def test_the_command_line_takes_names_and_shows_them(command: Callable[..., Result]) -> None:
    """--alias may be given several times."""
    stored = command("remember", "fact", "Anna", "color", "green", "--alias", "Annie", "--alias", "Mum", "--json")
    ref = json.loads(stored.stdout)["ref"]
    assert json.loads(command("get", ref, "--json").stdout)["aliases"] == ["Annie", "Mum"]
    assert "Annie, Mum" in command("get", ref).stdout
    assert "1 memory and 2 aliases" in command("forget-about", "--subject", "Annie").stdout
