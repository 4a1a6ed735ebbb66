"""The timetable: what is on it, how often it runs, and that what it names does what it says."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.jobs.timetable import TIMETABLE, cadences
from memory_butler.models import Caller, Lineage, NewEpisode, Question
from memory_butler.operations import recall, remember
from memory_butler.operations.upkeep import shard_of
from memory_butler.operations.waiting import count_waiting
from memory_butler.settings import load_settings

from ..conftest import MovingClock

HOURS = {"consolidation": 6, "sweep": 24, "cleanup": 24}


def test_everything_that_must_happen_is_on_it(tmp_path: Path) -> None:
    """Consolidation every six hours, sweep and cleanup daily; what is reported on is what runs, in the same order."""
    settings = load_settings(home=tmp_path)
    assert cadences(settings, TIMETABLE) == {job: timedelta(hours=hours) for job, hours in HOURS.items()}
    assert list(settings.upkeep.cadences()) == [entry.job for entry in TIMETABLE]


@pytest.mark.parametrize("job", HOURS)
def test_how_often_is_a_setting_and_whether_is_not(tmp_path: Path, job: str) -> None:
    """Another cadence is taken; never, always and next year are refused by the setting's name."""
    settings = load_settings(home=tmp_path, upkeep={f"{job}_hours": 12})
    assert settings.upkeep.cadences()[job] == timedelta(hours=12)
    for hours in (0, -1, 0.01, 9000, "never"):
        with pytest.raises(InvalidInput, match=f"upkeep.{job}_hours"):
            load_settings(home=tmp_path, upkeep={f"{job}_hours": hours})
    with pytest.raises(InvalidInput, match=r"upkeep\.skip"):
        load_settings(home=tmp_path, upkeep={"skip": job})


@pytest.mark.parametrize("name", ["concurrency", "tick_seconds", "lost_after_seconds"])
def test_a_worker_has_bounds(tmp_path: Path, name: str) -> None:
    """Nothing and far too much are refused by the setting's name."""
    for value in (0, 1_000_000):
        with pytest.raises(InvalidInput, match=f"upkeep.{name}"):
            load_settings(home=tmp_path, upkeep={name: value})


async def test_consolidation_counts_what_waits_and_does_not_pretend(butler: Butler, clock: MovingClock) -> None:
    """Pending episodes of the shard alone, first in line those that several sessions asked for; nothing distilled."""
    caller = shard_of(butler.settings.tenant, "main")
    for n in range(3):
        await remember.episode(butler, NewEpisode(content=f"Talk number {n} about tulips.", butler="main"))
    await remember.episode(butler, NewEpisode(content="Somebody else's tulips.", butler="other"))
    empty: dict[str, Any] = {"distilled": 0, "note": "no distiller is installed"}
    assert await count_waiting(butler, caller) == {"pending": 3, "first_in_line": 0, **empty}
    for session in ("s1", "s2", "s3"):
        question = Question(query="talk number tulips", types=("episode",), butler="main", mode="keyword")
        asking = Caller(caller.principal, Lineage(session_id=session))
        assert len((await recall.search(butler, question, asking)).results) == 3
    assert (await count_waiting(butler, caller))["first_in_line"] == 0
    clock.move(hours=6)
    assert await count_waiting(butler, caller) == {"pending": 3, "first_in_line": 3, **empty}
