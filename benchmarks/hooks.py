"""What a hook costs: the real command against a running server, against a start of Python that does nothing.

    python -m benchmarks.hooks [--calls 30]

It needs a server (`memory-butler serve`) at the usual port, or at MEMORY_BUTLER_PORT.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

COMMAND = [sys.executable, "-m", "memory_butler.adapters.entry", "hook"]
EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "session-end": "SessionEnd",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=30)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as folder:
        transcript = Path(folder) / "session.jsonl"
        turn = {"type": "user", "message": {"role": "user", "content": "We decided to keep the old invoices for now."}}
        transcript.write_text((json.dumps(turn) + "\n") * 4000)
        told = {
            "session_id": "bench",
            "transcript_path": str(transcript),
            "cwd": folder,
            "source": "startup",
            "prompt": "Hi",
        }
        nothing = _milliseconds([sys.executable, "-c", "pass"], {}, calls)
        print(_line("python -c pass", nothing, nothing))
        for event, name in EVENTS.items():
            taken = _milliseconds([*COMMAND, event], {**told, "hook_event_name": name}, calls)
            print(_line(event, taken, nothing))
        os.environ["MEMORY_BUTLER_PORT"] = "1"
        print(_line("session-start, no server", _milliseconds([*COMMAND, "session-start"], told, calls), nothing))


def _milliseconds(command: list[str], told: dict[str, str], calls: int) -> list[float]:
    given, taken = json.dumps(told).encode(), []
    for number in range(calls + 1):
        begun = time.perf_counter()
        subprocess.run(command, input=given, stdout=subprocess.DEVNULL, check=True)
        if number:  # the first one warms the caches of files
            taken.append((time.perf_counter() - begun) * 1000)
    return sorted(taken)


def _line(name: str, taken: list[float], nothing: list[float]) -> str:
    p50, p95 = (quantiles(taken, n=100)[at] for at in (49, 94))
    return f"{name:<26} p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   {p50 / quantiles(nothing, n=100)[49]:4.1f} x"


if __name__ == "__main__":
    main()
