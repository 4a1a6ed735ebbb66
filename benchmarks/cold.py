"""What a process costs that starts from nothing: time to its first answer, and memory."""

import json
import os
import statistics
import subprocess
import sys
import time

import psutil

from memory_butler.store.embedded.server import EmbeddedPostgres

FIRST_ANSWER = """
import asyncio, json, sys, psutil
from memory_butler import BriefRequest, open_resources
async def main():
    async with open_resources(home=sys.argv[1], tenant=sys.argv[2]) as resources:
        from memory_butler.operations.briefing.brief import brief
        briefing = await brief(resources, BriefRequest(trigger_prompt="Who repaired the old bicycle?", butler="main"))
        resident = psutil.Process().memory_info().rss
        print(json.dumps({"tokens": briefing.receipt.used_tokens, "rss": resident}), flush=True)
asyncio.run(main())
"""


def first_answers(server: EmbeddedPostgres, times: int, tenant: str) -> dict[str, float]:
    """From starting the process to its first context: with the database already running, and with it stopped."""
    running, stopped, resident = [], [], []
    for _ in range(times):
        seconds, memory = _first_answer(server, tenant)
        running.append(seconds)
        resident.append(memory)
    for _ in range(times):
        server.stop()
        stopped.append(_first_answer(server, tenant)[0])
    return {
        "first_answer_seconds_database_running": round(statistics.median(running), 2),
        "first_answer_seconds_database_stopped": round(statistics.median(stopped), 2),
        "resident_mb_of_a_fresh_process": round(statistics.median(resident)),
    }


def resident_mb() -> int:
    return round(psutil.Process().memory_info().rss / 2**20)


def server_mb(server: EmbeddedPostgres) -> int:
    """Memory of the database and all its processes, shared pages counted once."""
    if server.pid is None:
        return 0
    root = psutil.Process(server.pid)
    total = 0
    for process in (root, *root.children(recursive=True)):
        try:
            total += process.memory_full_info().pss
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
    return round(total / 2**20)


def _first_answer(server: EmbeddedPostgres, tenant: str) -> tuple[float, float]:
    command = [sys.executable, "-c", FIRST_ANSWER, str(server.home), tenant]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        seconds = time.perf_counter() - started
        process.stdout.read()
    answer = json.loads(line)
    assert answer["tokens"] > 0, "the first answer was empty"
    return seconds, answer["rss"] / 2**20
