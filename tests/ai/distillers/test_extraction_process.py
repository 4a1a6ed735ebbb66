"""Extraction in a process of its own: the same proposals, and a text that takes too long stops nothing else."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.ai.distillers.batches import batch, until

from memory_butler.ai.distillers.builtin import propose
from memory_butler.ai.distillers.extraction_process import ExtractionProcess, ProcessDistiller, TooSlow
from memory_butler.errors import Unprocessable

SCRIPTED = "tests.ai.distillers.scripted_extraction:propose"
# Long enough for a short text on a busy machine.
PLENTY = 120.0


@pytest.fixture
def process() -> Iterator[ExtractionProcess]:
    process = ExtractionProcess(SCRIPTED)
    yield process
    process.end()


def is_alive(pid: int) -> bool:
    """False also for a process that has ended and that nobody waits for."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


async def test_it_proposes_what_the_grammar_proposes() -> None:
    given = batch("I work at Acme. Always run the tests before committing.", "I'm allergic to peanuts.")
    assert (await ProcessDistiller(PLENTY).distil(given)).proposal == propose(given)


async def test_a_text_that_takes_too_long_is_stopped_while_the_event_loop_is_free(process: ExtractionProcess) -> None:
    steps = 0
    stalled = asyncio.create_task(ProcessDistiller(0.5, process).distil(batch("STALL")))
    while not stalled.done():
        await asyncio.sleep(0.01)
        steps += 1
    with pytest.raises(TooSlow, match=r"the episode took longer than 0\.5 seconds"):
        await stalled
    assert steps > 10
    # The next batch gets a new process.
    fine = await ProcessDistiller(PLENTY, process).distil(batch("I work at Acme."))
    assert isinstance(fine.proposal, dict) and len(fine.proposal["facts"]) == 1


async def test_a_cancelled_run_does_not_wait_for_the_text(process: ExtractionProcess) -> None:
    await ProcessDistiller(PLENTY, process).distil(batch("I work at Acme."))
    first = process.pid
    stalled = asyncio.create_task(ProcessDistiller(PLENTY, process).distil(batch("STALL")))
    await until(lambda: process.busy)
    stalled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stalled
    await until(lambda: not process.busy)
    assert first and not is_alive(first)


async def test_a_text_that_ends_the_process_fails_alone(process: ExtractionProcess) -> None:
    with pytest.raises(Unprocessable, match="ended the extraction process twice"):
        await ProcessDistiller(PLENTY, process).distil(batch("CRASH"))
    assert (await ProcessDistiller(PLENTY, process).distil(batch("I work at Acme."))).proposal


async def test_an_idle_process_ends_and_starts_again_on_demand() -> None:
    process = ExtractionProcess(SCRIPTED, idle_seconds=0.05)
    assert process.pid is None
    given = batch("I work at Acme.")
    first = (await ProcessDistiller(PLENTY, process).distil(given)).proposal
    await until(lambda: process.pid is None)
    assert (await ProcessDistiller(PLENTY, process).distil(given)).proposal == first
    await until(lambda: process.pid is None)


async def test_it_loads_no_model_and_no_database_driver(process: ExtractionProcess) -> None:
    loaded = (await ProcessDistiller(PLENTY, process).distil(batch("MODULES"))).proposal
    assert isinstance(loaded, list) and "memory_butler.english.extraction.episode" in loaded
    assert not {"onnxruntime", "tokenizers", "psycopg", "fastmcp", "nicegui"} & set(loaded)


@pytest.mark.parametrize("kill", [False, True])
async def test_the_process_ends_with_its_parent(kill: bool) -> None:
    """Also with a parent that is killed while a text stalls: the process sets itself a time."""
    code = (
        "import asyncio\n"
        "from tests.ai.distillers.batches import batch\n"
        "from memory_butler.ai.distillers.extraction_process import ExtractionProcess, ProcessDistiller, shared\n"
        f"process = ExtractionProcess({SCRIPTED!r}) if {kill} else shared\n"
        "asyncio.run(ProcessDistiller(100, process).distil(batch('I work at Acme.')))\n"
        "print(process.pid, flush=True)\n"
    )
    if kill:
        code += "asyncio.run(ProcessDistiller(1, process).distil(batch('STALL')))\n"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout
    pid = int(await parent.stdout.readline())
    if kill:
        parent.kill()
    await parent.wait()
    await until(lambda: not is_alive(pid), 60)
