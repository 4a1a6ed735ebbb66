"""The butler of a project's agent sessions, derived from its directory and its git remote.

| project | butler |
|---|---|
| a repository with a remote, `git@github.com:Acme/Shop.git` | its last two names, `acme.shop`: one for all its clones |
| a folder without one, `/srv/notes` | its name and a short hash of its path, `notes-3f9ab2`: no two share it |

Names consist of lower-case letters, digits, dots, dashes and underscores. A name that loses characters, or is too long,
also gets a short hash, so that two projects never share a butler. Account, password and host of a remote are not used.
"""

import re
from hashlib import sha256

LONGEST = 63
HASH_DIGITS = 6
_SCP = re.compile(r"^(?:[^/@]+@)?(?:\[[^\]]+\]|[^/:\[\]]{2,}):(?!//)(.+)$")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://[^/]*/(.+)$", re.IGNORECASE)
_UNUSUAL = re.compile(r"[^a-z0-9._-]+")


def project_butler(directory: str, remote: str | None) -> str:
    """Returns the butler of a project; always a valid name."""
    names = _names(remote) if remote else []
    if names:
        return _named(".".join(names), is_exact=True)
    folder = directory.rstrip("/") or "/"
    return _named(folder.rpartition("/")[2], is_exact=False, whole=folder)


def project_title(directory: str, remote: str | None) -> str:
    """Returns the title of a project, used as the topic of its agent sessions."""
    names = _names(remote) if remote else []
    return "/".join(names) or directory.rstrip("/").rpartition("/")[2] or "/"


def _names(remote: str) -> list[str]:
    """Returns the last two parts of a remote's path: owner and repository."""
    address = remote.strip()
    match = _URL.match(address) or _SCP.match(address)
    path = (match[1] if match else address).split("?")[0].split("#")[0].rstrip("/").removesuffix(".git")
    return [name for name in path.split("/") if name.strip(".~ ")][-2:]


def _named(name: str, *, is_exact: bool, whole: str | None = None) -> str:
    small = name.casefold()
    slug = _UNUSUAL.sub("-", small).strip("-._")
    if is_exact and slug == small and len(slug) <= LONGEST:
        return slug
    digest = sha256((whole or small).encode(errors="replace")).hexdigest()[:HASH_DIGITS]
    return f"{slug[: LONGEST - HASH_DIGITS - 1].rstrip('-._') or 'project'}-{digest}"
