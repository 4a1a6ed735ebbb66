"""The installed size of a plain installation by package: `python -m tools.packages.sizes [PACKAGE]`.

Counts the files of a distribution and of everything it requires without extras, as installed in this environment.
Bytecode is counted apart: pip writes it at installation, uv does not.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@dataclass(frozen=True)
class Installed:
    name: str
    files_bytes: int
    bytecode_bytes: int


def closure(name: str, path: list[str] | None = None) -> dict[str, metadata.Distribution]:
    """The distribution and everything that it requires without extras of its own, by canonical name."""
    known: dict[str, metadata.Distribution] = {}
    for one in metadata.distributions(path=path or sys.path):
        known.setdefault(canonicalize_name(one.name), one)
    found: dict[str, metadata.Distribution] = {}
    wanted = [(canonicalize_name(name), frozenset[str]())]
    seen = set(wanted)
    while wanted:
        current, extras = wanted.pop()
        found[current] = known[current]
        for requirement in map(Requirement, known[current].requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                entry = canonicalize_name(requirement.name), frozenset(requirement.extras)
                if entry not in seen:
                    seen.add(entry)
                    wanted.append(entry)
    return found


def sizes(name: str, path: list[str] | None = None) -> list[Installed]:
    """The size of each installed package, the largest first."""
    rows = []
    for distribution in closure(name, path).values():
        files = bytecode = 0
        for file in _files(distribution):
            size = file.lstat().st_size
            if file.suffix == ".pyc":
                bytecode += size
            else:
                files += size
        rows.append(Installed(distribution.name, files, bytecode))
    return sorted(rows, key=lambda row: row.files_bytes, reverse=True)


def _files(distribution: metadata.Distribution) -> Iterator[Path]:
    for listed in distribution.files or ():
        file = Path(str(distribution.locate_file(listed)))
        if file.is_file():
            yield file


def main() -> None:
    rows = sizes(sys.argv[1] if len(sys.argv) > 1 else "memory-butler")
    total = Installed("total", sum(row.files_bytes for row in rows), sum(row.bytecode_bytes for row in rows))
    print(f"{'package':28} {'files, MB':>10} {'bytecode, MB':>13}")
    for row in [*rows, total]:
        if row.files_bytes >= 1e6:
            print(f"{row.name:28} {row.files_bytes / 1e6:10.1f} {row.bytecode_bytes / 1e6:13.1f}")


if __name__ == "__main__":
    main()
