"""Every number of the lifecycle changes what becomes of a butler's memories, and of nobody else's."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from memory_butler.models import Caller, NewNote
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

Rows = Callable[[str], list[dict[str, Any]]]
Agent = Callable[..., Caller]

# Of each tier one memory that was used on the second and the fourth day, and one that was never used.
AS_STORED = {
    "eden used": "active",
    "eden unused": "active",
    "mid used": "active standard",
    "mid unused": "active standard",
    "long used": "active stable",
    "long unused": "active stable",
}
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing": ({}, {}),
    "ttl_days": ({"eden": {"ttl_days": 2}}, {"eden used": "deleted", "eden unused": "deleted"}),
    "protected_from": ({"eden": {"ttl_days": 2, "protected_from": 2}}, {"eden unused": "deleted"}),
    "protected_from, one more than there were": (
        {"eden": {"ttl_days": 2, "protected_from": 3}},
        {"eden used": "deleted", "eden unused": "deleted"},
    ),
    "eden's capacity": ({"eden": {"capacity": 1}}, {"eden used": "deleted"}),
    "mid's capacity": ({"mid": {"capacity": 1}}, {"mid unused": "expired standard"}),
    "mid's stale_after_days": (
        {"mid": {"stale_after_days": 2.5, "promote_after_days": 2.5}},
        {"mid unused": "expired standard"},
    ),
    "promote_after_references and promote_after_days": (
        {"mid": {"promote_after_references": 2, "promote_after_days": 2}},
        {"mid used": "active stable"},
    ),
    "promote_after_references alone": ({"mid": {"promote_after_references": 2}}, {}),
    "promote_after_days alone": ({"mid": {"promote_after_days": 2}}, {}),
    "long's capacity": ({"long": {"capacity": 1}}, {"long unused": "expired stable"}),
    "long's stale_after_days": ({"long": {"stale_after_days": 2.5}}, {"long unused": "expired stable"}),
    "the preset": ({"preset": "generational"}, {"eden used": "deleted", "eden unused": "deleted"}),
}


@pytest.mark.parametrize(("own", "change"), SETTINGS.values(), ids=SETTINGS)
async def test_a_setting_of_one_butler_counts_for_that_butler(
    resources: Resources, agent: Agent, clock: Any, rows: Rows, owner: psycopg.Connection[Any], *, own: Any, change: Any
) -> None:
    """Two butlers do the same for three days; after the sweep they differ by what the setting says, and no more."""
    settings = load_settings(
        home=resources.settings.home, tenant=resources.settings.tenant, butlers={"coder": {"lifecycle": own}}
    )
    lived = replace(resources, settings=settings)
    stored = []
    for name in ("coder", "plain"):
        for content in AS_STORED:
            note = NewNote(content=content, tier=content.split()[0])
            stored.append((name, content, await remember.store(lived, note, agent(name))))
            clock.move(seconds=1)
    if "capacity" in own.get("eden", {}):
        # Only what has been consolidated may go before its time.
        consolidate = "UPDATE memory.episodes SET consolidation_status = 'consolidated' WHERE id = %s"
        for _, content, done in stored:
            if content == "eden used":
                owner.execute(consolidate, [done.id])
    for days in (1, 2):
        clock.move(days=days)
        for name, content, done in stored:
            if content.endswith(" used"):
                await get.get(lived, done.type, done.ref, agent(name, session_id=f"{days}"))

    await sweep(lived)

    states = {row["id"]: f"{row['validity']} {row.get('permanence', '')}".strip() for row in rows("facts")}
    states |= {row["id"]: row["validity"] for row in rows("episodes")}
    became: dict[str, dict[str, str]] = {"coder": {}, "plain": {}}
    for name, content, done in stored:
        became[name][content] = states.get(done.id, "deleted")
    assert became == {"coder": {**AS_STORED, **change}, "plain": AS_STORED}
