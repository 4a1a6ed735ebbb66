"""The check of episodes: it warns before an important one expires although nothing was kept of it."""

import asyncio
from typing import Any

import psycopg

from memory_butler.adapters.doctor.episode_checks import check_expiring
from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.models import NewEpisode
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.gate.migrate import HEAD


async def found(resources: Resources, revision: str = HEAD) -> Finding:
    context = CheckContext(resources.settings, diagnostics=object(), revision=revision)
    [finding] = await asyncio.to_thread(lambda: list(check_expiring(context)))
    return finding


async def test_an_important_episode_is_named_before_it_expires(
    resources: Resources, owner: psycopg.Connection[Any]
) -> None:
    """With its reference and what to do; a store without such an episode is well."""
    assert (await found(resources)).status == "ok"
    done = await remember.episode(resources, NewEpisode(content="We met Ana.", butler="main", importance=8))
    owner.execute("UPDATE memory.episodes SET expires_at = now() + interval '1 day' WHERE id = %s", [done.id])
    finding = await found(resources)
    assert finding.status == "warning"
    assert finding.message == f"1 important episode expires soon and nothing was kept: episode:{done.ref}"
    assert "--again-empty" in (finding.advice or "")


async def test_an_outdated_store_is_not_read(resources: Resources) -> None:
    """The doctor does not migrate: it says that it did not look."""
    assert "not checked" in (await found(resources, "0001")).message
