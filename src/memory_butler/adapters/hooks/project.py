"""Project folder and Git remote of an agent session, read from files without starting git."""

import os

LONGEST_CONFIG_BYTES = 200_000
HIGHEST_FOLDERS = 64


def project_of(directory: str) -> tuple[str, str | None]:
    """Return the repository root around a folder and its remote URL; without a repository, the folder itself."""
    folder = os.path.abspath(directory)  # noqa: PTH100 (importing pathlib would take longer than the rest)
    for _ in range(HIGHEST_FOLDERS):
        config = _config_of(os.path.join(folder, ".git"))  # noqa: PTH118
        if config is not None:
            return folder, remote_in(config)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            break
        folder = above
    return os.path.abspath(directory), None  # noqa: PTH100


def remote_in(config: str) -> str | None:
    """Return the URL of `origin` in a Git configuration, else of the first remote."""
    section, found = "", dict[str, str]()
    for line in config.splitlines():
        said = line.strip()
        if said.startswith("["):
            section = said.partition("]")[0].lstrip("[").strip()
        elif section.startswith("remote ") and said.partition("=")[0].strip().lower() == "url":
            name = section.removeprefix("remote ").strip().strip('"')
            found.setdefault(name, said.partition("=")[2].strip().strip('"'))
    return found.get("origin") or next((url for url in found.values() if url), None)


def _config_of(marker: str) -> str | None:
    """Read the configuration of a `.git` folder, or of a `.git` file in a linked working tree."""
    where = marker
    if os.path.isfile(marker):  # noqa: PTH113
        named = (_read(marker) or "").partition("gitdir:")[2].strip()
        where = os.path.join(os.path.dirname(marker), named) if named else ""  # noqa: PTH118, PTH120
        common = _read(os.path.join(where, "commondir"))  # noqa: PTH118
        where = os.path.join(where, common.strip()) if common else where  # noqa: PTH118
    return _read(os.path.join(where, "config")) if where else None  # noqa: PTH118


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(LONGEST_CONFIG_BYTES)
    except OSError:
        return None
