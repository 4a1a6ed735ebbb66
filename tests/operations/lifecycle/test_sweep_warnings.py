"""The sweep's warning before an important episode expires although nothing was kept of it."""

import pytest
from tests.conftest import MovingClock

from memory_butler.models import NewEpisode
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


async def test_a_sweep_warns_before_an_important_episode_expires_unkept(
    resources: Resources, clock: MovingClock, caplog: pytest.LogCaptureFixture
) -> None:
    """In its report and in the log, two days ahead; a dry run logs nothing. After the end it is gone."""
    new = NewEpisode(content="We met Ana.", butler="main", importance=8)
    ref = (await remember.episode(resources, new)).ref
    assert (await sweep(resources)).shards[0].expiring == ()
    clock.move(days=5.5)
    assert (await sweep(resources, dry_run=True)).shards[0].expiring == (f"episode:{ref}",)
    assert caplog.records == []
    [shard] = (await sweep(resources)).shards
    assert (shard.expiring, shard.expiring_total) == ((f"episode:{ref}",), 1)
    assert shard.as_dict()["expiring_unkept"] == {"episodes": 1, "next": [f"episode:{ref}"]}
    assert f"1 important episodes of main expire soon and nothing was kept: episode:{ref}" in caplog.messages
    clock.move(days=2)
    assert (await sweep(resources)).shards[0].expiring_total == 0
