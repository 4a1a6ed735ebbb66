"""All measurements and checks of trust, with one table at the end: `make test-trust`.

The commands of the single measurements print details: `python -m benchmarks.trust.poison --show`, for example.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.support.machine import scratch_store, wide_console
from benchmarks.trust import amsb, doors, poison, redaction
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings

# Every door gets each so-many-th secret; `python -m benchmarks.trust.doors` sends all.
EVERY = 6
# What is checked by tests, and where.
CHECKS = {
    "purge: no word left in a table": (
        "tests/operations/trust/test_purge.py",
        "tests/operations/trust/test_audit_secrets.py",
    ),
    "purge: no byte left in a file": ("tests/store/trust",),
    "encryption: no word in the data folder, keys": (
        "tests/store/encryption",
        "tests/operations/trust/test_encryption_keys.py",
    ),
    "encryption: readers, exports": ("tests/operations/trust/test_protection.py",),
    "hash chain: names the first break": ("tests/store/history", "tests/operations/history/test_replay.py"),
    "quarantine and review, every door": (
        "tests/operations/trust/test_quarantine.py",
        "tests/adapters/rest/test_administration_trust.py",
        "tests/adapters/cli/trust",
        "tests/adapters/dashboard/actions/test_memory_actions_review.py",
    ),
    "imports are assessed": ("tests/operations/transfer/test_import_.py", "tests/policy/transfer"),
    "six canaries, every door and log": (
        "tests/stories/test_secret_canaries.py",
        "tests/operations/writing/test_admission.py",
    ),
    "detectors: cases, fuzzed, linear time": ("tests/policy/trust",),
    "other accounts of the machine": (
        "tests/adapters/http/test_local_access.py",
        "tests/adapters/http/test_local_socket.py",
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    result: str
    goal: str
    passed: bool


def main() -> None:
    console = wide_console()
    rows, began = [], time.monotonic()
    for row in measurements(console):
        rows.append(row)
        console.print(
            f"{time.monotonic() - began:6.0f} s  {'ok    ' if row.passed else 'FAILED'}  {row.name}", markup=False
        )
    table = Table("measurement", "result", "goal", "")
    for row in rows:
        table.add_row(row.name, row.result, row.goal, "ok" if row.passed else "FAILED")
    console.print(table)
    sys.exit(not all(row.passed for row in rows))


def measurements(console: Console) -> Iterator[Row]:
    yield from _owasp()
    yield from _poison()
    yield from _redaction()
    yield from _doors()
    for name, paths in CHECKS.items():
        yield _tests(console, name, paths)


def _owasp() -> Iterator[Row]:
    async def run() -> Row:
        with scratch_store() as server:
            async with open_resources(load_settings(home=server.home)) as resources:
                _, card = await amsb.grade(resources)
        good = card.score >= amsb.ENOUGH and not card.critical_breaches and not card.false_positives
        result = (
            f"{card.grade.value}, {card.score:.1f}; {card.critical_breaches} critical, "
            f"{card.false_positives} of {card.benign_total} false alarms"
        )
        return Row("OWASP AMSB", result, f"≥ {amsb.ENOUGH:.0f}; 0; 0", good)

    yield asyncio.run(run())


def _poison() -> Iterator[Row]:
    async def run() -> dict[tuple[str, str], poison.Result]:
        with scratch_store() as server:
            async with open_resources(load_settings(home=server.home)) as resources:
                return await poison.measure(resources)

    words = {"poisoned": "poison, absent or marked", "legitimate": "legitimate, kept and briefed"}
    for (name, part), result in asyncio.run(run()).items():
        size = len(result.passed) + len(result.failed)
        more = f" ({result.quarantined} quarantined)" if name == "poisoned" else ""
        passed = result.share >= poison.ENOUGH
        yield Row(f"{words[name]}: {part}", f"{len(result.passed)} of {size}{more}", "≥ 95 %", passed)


def _redaction() -> Iterator[Row]:
    counts = redaction.measure()
    for part in redaction.PARTS:
        hits, size = counts[part, "secrets"]
        enough = redaction.enough(part)
        yield Row(f"secrets removed: {part}", f"{hits} of {size}", f"≥ {enough:.0%}", hits >= enough * size)
    touched = [counts[part, "look-alikes"] for part in redaction.PARTS]
    hits, size = sum(one for one, _ in touched), sum(many for _, many in touched)
    yield Row("look-alikes touched: all sets", f"{hits} of {size}", "≤ 1 %", hits <= redaction.TOO_MANY * size)


def _doors() -> Iterator[Row]:
    for name, (removed, size) in asyncio.run(doors.measure(EVERY)).items():
        yield Row(f"secrets found nowhere: {name}", f"{removed} of {size}", "≥ 95 %", removed >= doors.ENOUGH * size)


def _tests(console: Console, name: str, paths: tuple[str, ...]) -> Row:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--no-header", *paths], capture_output=True, text=True, check=False
    )
    if done.returncode:
        console.print(done.stdout[-6000:], markup=False, highlight=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]
    return Row(name, last.strip(" =")[:60], "all pass", done.returncode == 0)


if __name__ == "__main__":
    main()
