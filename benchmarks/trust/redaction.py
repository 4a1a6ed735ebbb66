"""Measure redaction: the share of secrets that is removed, by kind and set, and the look-alikes that are touched.

python -m benchmarks.trust.redaction            # all sets; lists the misses of the tuning half only
python -m benchmarks.trust.redaction --all      # lists all misses

The first set has a tuning half and a half that was held out; the other sets were written later, one after the other,
without a look at the detectors or before their first run. From the third on, the misses of one half were then read,
those of the other half never.
"""

import argparse
import time
from collections.abc import Iterator
from types import ModuleType

from rich.table import Table

from benchmarks.support.machine import wide_console
from benchmarks.trust import (
    fifth_lookalikes,
    fifth_secrets,
    fourth_lookalikes,
    fourth_secrets,
    lookalikes,
    secrets_in_text,
    sixth_lookalikes,
    sixth_secrets,
    third_lookalikes,
    third_secrets,
    unseen_secrets,
)
from benchmarks.trust.generated import Case, case
from memory_butler.policy.trust.redaction import redact

GROUPS = ("VENDORS", "ASSIGNED", "COMMANDS", "PROSE", "NUMBERS")
LOOKALIKES = ("WORDS", "IDENTIFIERS")
SECOND_GROUPS = ("CLOUD", "CONFIGURED", "SAID", "PERSONAL")
THIRD_GROUPS = ("SERVICES", "FILES", "TYPED", "PLAIN")
TUNING, HELD_OUT, SECOND = "tuning", "held out", "second set"
LATER_GROUPS = ("VENDORS", "FILES", "COMMANDS", "TALK")
READ, UNREAD = ", read half", ", unread half"
# The sets with halves: their secrets, the groups of those, and their look-alikes.
HALVED = {
    "third set": (third_secrets, THIRD_GROUPS, third_lookalikes),
    "fourth set": (fourth_secrets, LATER_GROUPS, fourth_lookalikes),
    "fifth set": (fifth_secrets, LATER_GROUPS, fifth_lookalikes),
    "sixth set": (sixth_secrets, LATER_GROUPS, sixth_lookalikes),
}
PARTS = (TUNING, HELD_OUT, SECOND, *(name + half for name in HALVED for half in (READ, UNREAD)))
TOO_MANY = 0.01
# Share of the secrets that must be removed. The goal is .95; halves that nobody read are below it.
ENOUGH = 0.95
ENOUGH_UNREAD = 0.80

# Set, group, whether it is a secret, and the case.
Labelled = tuple[str, str, bool, Case]


def secret_cases() -> Iterator[tuple[str, Case]]:
    """The secrets of the first set, with their groups."""
    yield from _secrets(secrets_in_text, GROUPS)


def lookalike_cases() -> Iterator[tuple[str, Case]]:
    for group in LOOKALIKES:
        yield from (
            (group.lower(), case(group.lower(), line)) for line in getattr(lookalikes, group).splitlines() if line
        )


def second_secrets(salt: str = "") -> Iterator[tuple[str, Case]]:
    yield from _secrets(unseen_secrets, SECOND_GROUPS, salt)


def second_lookalikes() -> Iterator[tuple[str, Case]]:
    yield from (("look-alikes", case("", line)) for line in unseen_secrets.ALIKE.splitlines() if line)


def halved_cases() -> Iterator[Labelled]:
    """The sets whose misses were read for one half only."""
    for name, (secrets, groups, alike) in HALVED.items():
        for group, one in _secrets(secrets, groups):
            yield name + (UNREAD if one.held_out else READ), group, True, one
        for line in alike.ALIKE.splitlines():
            one = case("", line)
            if line:
                yield name + (UNREAD if one.held_out else READ), "look-alikes", False, one


def enough(part: str) -> float:
    """The share of the secrets of a part that must be removed."""
    return ENOUGH_UNREAD if part.endswith(UNREAD) else ENOUGH


def all_secrets(salt: str = "") -> Iterator[Case]:
    """The secrets of both sets, with values that depend on the salt."""
    yield from (one for _, one in _secrets(secrets_in_text, GROUPS, salt))
    yield from (one for _, one in second_secrets(salt))


def _secrets(module: ModuleType, groups: tuple[str, ...], salt: str = "") -> Iterator[tuple[str, Case]]:
    for group in groups:
        for line in getattr(module, group).splitlines():
            kind, _, template = line.partition(": ")
            if template:
                yield group.lower(), case(kind, template, salt)


def leaks(one: Case, text: str) -> bool:
    """True if a secret, or a line of one, is still in the text."""
    return any(line in text for secret in one.secrets for line in secret.splitlines() if len(line) > 2)


def labelled() -> Iterator[Labelled]:
    for secret, cases in ((True, secret_cases()), (False, lookalike_cases())):
        yield from ((HELD_OUT if one.held_out else TUNING, group, secret, one) for group, one in cases)
    for secret, cases in ((True, second_secrets()), (False, second_lookalikes())):
        yield from ((SECOND, group, secret, one) for group, one in cases)
    yield from halved_cases()


def measure(show: frozenset[str] = frozenset()) -> dict[tuple[str, str], tuple[int, int]]:
    """By set and group: removed or touched texts, and all. The groups "secrets" and "look-alikes" are the sums."""
    counts: dict[tuple[str, str], list[int]] = {}
    for part, group, secret, one in labelled():
        found = redact(one.text).text
        hit = not leaks(one, found) if secret else found != one.text
        for name in {group, "secrets" if secret else "look-alikes"}:
            row = counts.setdefault((part, name), [0, 0])
            row[0] += hit
            row[1] += 1
        if hit is not secret and part in show:
            print(f"missed {one.kind}: {found!r}" if secret else f"touched: {one.text!r} -> {found!r}")
    return {key: (hits, size) for key, (hits, size) in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="List misses of all sets but the unread halves.")
    read = tuple(part for part in PARTS if not part.endswith(UNREAD))
    show = read if parser.parse_args().all else (TUNING,)
    began = time.process_time()
    counts = measure(frozenset(show))
    seconds = time.process_time() - began
    table = Table("set", "group", "secrets removed", "look-alikes touched")
    for part in PARTS:
        for group in dict.fromkeys(group for name, group in counts if name == part):
            if group != "look-alikes":
                cells = (counts[part, group], counts[part, "look-alikes"] if group == "secrets" else None)
                table.add_row(part, group, *(f"{cell[0]} of {cell[1]}" if cell else "" for cell in cells))
    wide_console().print(table)
    characters = sum(len(one.text) for *_, one in labelled())
    print(f"CPU time: {1e6 * seconds / characters:.1f} ms per 1,000 characters of short texts")


if __name__ == "__main__":
    main()
