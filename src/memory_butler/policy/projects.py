"""Which butler a project's sessions belong to, from where the project is and where it comes from.

| project | butler |
|---|---|
| a repository with a remote, `git@github.com:Acme/Shop.git` | its last two names, `acme.shop`: one for all its clones |
| a folder without one, `/srv/notes` | its name and a short hash of its path, `notes-3f9ab2`: no two share it |

Names are written in small letters, digits, dots, dashes and underscores. One that loses something by this, or is too
long, gets a short hash, too, so that two projects never become one. What a remote says beside its path (the account,
the password, the host) is not used.
"""

import re
from hashlib import sha256

LONGEST = 63
HASH_DIGITS = 6
_SCP = re.compile(r"^(?:[^/@]+@)?(?:\[[^\]]+\]|[^/:\[\]]{2,}):(?!//)(.+)$")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://[^/]*/(.+)$", re.IGNORECASE)
_UNUSUAL = re.compile(r"[^a-z0-9._-]+")


def butler_of(directory: str, remote: str | None) -> str:
    """The name of the butler; a pure function of both, and always a valid name."""
    names = _names(remote) if remote else []
    if names:
        return _named(".".join(names), sure=True)
    folder = directory.rstrip("/") or "/"
    return _named(folder.rpartition("/")[2], sure=False, whole=folder)


def described(directory: str, remote: str | None) -> str:
    """The project in words, as what a session in it is about."""
    names = _names(remote) if remote else []
    return "/".join(names) or directory.rstrip("/").rpartition("/")[2] or "/"


def _names(remote: str) -> list[str]:
    """The last two names of a remote's path: who owns it and what it is called."""
    given = remote.strip()
    match = _URL.match(given) or _SCP.match(given)
    path = (match[1] if match else given).split("?")[0].split("#")[0].rstrip("/").removesuffix(".git")
    return [name for name in path.split("/") if name.strip(".~ ")][-2:]


def _named(name: str, *, sure: bool, whole: str | None = None) -> str:
    small = name.casefold()
    slug = _UNUSUAL.sub("-", small).strip("-._")
    if sure and slug == small and len(slug) <= LONGEST:
        return slug
    digest = sha256((whole or small).encode(errors="replace")).hexdigest()[:HASH_DIGITS]
    return f"{slug[: LONGEST - HASH_DIGITS - 1].rstrip('-._') or 'project'}-{digest}"
