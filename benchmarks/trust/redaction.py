"""Measure redaction: the share of secrets that is removed, by kind and half, and the look-alikes that are touched.

python -m benchmarks.trust.redaction            # both halves; lists the misses of the tuning half only
python -m benchmarks.trust.redaction --all      # lists the misses of both halves
"""

import argparse
import time
from collections.abc import Iterator

from benchmarks.trust import lookalikes, secrets_in_text
from benchmarks.trust.generated import Case, case
from memory_butler.policy.trust.redaction import redact

GROUPS = ("VENDORS", "ASSIGNED", "COMMANDS", "PROSE", "NUMBERS")
LOOKALIKES = ("WORDS", "IDENTIFIERS")


def secret_cases() -> Iterator[tuple[str, Case]]:
    for group in GROUPS:
        for line in getattr(secrets_in_text, group).splitlines():
            kind, _, template = line.partition(": ")
            if template:
                yield group.lower(), case(kind, template)


def lookalike_cases() -> Iterator[tuple[str, Case]]:
    for group in LOOKALIKES:
        for line in getattr(lookalikes, group).splitlines():
            if line:
                yield group.lower(), case(group.lower(), line)


def leaks(one: Case, text: str) -> bool:
    """True if a secret, or a line of one, is still in the text."""
    return any(line in text for secret in one.secrets for line in secret.splitlines() if len(line) > 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="List misses of the held-out half, too.")
    show_all = parser.parse_args().all
    rows: dict[tuple[str, bool], list[int]] = {}
    characters, began = 0, time.process_time()
    for group, one in secret_cases():
        found = redact(one.text)
        characters += len(one.text)
        missed = leaks(one, found.text)
        for row in (rows.setdefault((group, one.held_out), [0, 0]), rows.setdefault(("secrets", one.held_out), [0, 0])):
            row[0] += not missed
            row[1] += 1
        if missed and (show_all or not one.held_out):
            print(f"missed {one.kind}: {found.text!r}")
    for group, one in lookalike_cases():
        found = redact(one.text)
        characters += len(one.text)
        touched = found.text != one.text
        for row in (
            rows.setdefault((group, one.held_out), [0, 0]),
            rows.setdefault(("look-alikes", one.held_out), [0, 0]),
        ):
            row[0] += touched
            row[1] += 1
        if touched and (show_all or not one.held_out):
            print(f"touched: {one.text!r} -> {found.text!r}")
    seconds = time.process_time() - began
    print(f"{'set':<14}{'tuning':>16}{'held out':>16}")
    for group in (*map(str.lower, GROUPS), "secrets", *LOOKALIKES_LOWER, "look-alikes"):
        cells = [rows.get((group, half), [0, 0]) for half in (False, True)]
        print(
            f"{group:<14}" + "".join(f"{hit:>6} of {size:>3} {100 * hit / max(size, 1):>3.0f}%" for hit, size in cells)
        )
    print(f"CPU time: {1e6 * seconds / characters:.1f} ms per 1,000 characters of short texts")


LOOKALIKES_LOWER = tuple(map(str.lower, LOOKALIKES))

if __name__ == "__main__":
    main()
