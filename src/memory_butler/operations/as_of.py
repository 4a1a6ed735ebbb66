"""As of: the candidates of a read, as they are now or as they were at another moment."""

from dataclasses import dataclass
from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import Caller
from memory_butler.store import as_of, search_index
from memory_butler.store.search_index import Found, Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What was found, and what is missing that was there then."""

    found: Found
    missing: tuple[str, ...] = ()


def check_moment(butler: Butler, caller: Caller, moment: datetime | None) -> None:
    """Only an administrator looks into the past, and nobody into the future."""
    if moment is None:
        return
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may read as of another moment.", recovery="Leave out as_of to read what holds now."
        )
    now = butler.clock()
    if moment > now:
        raise InvalidInput(
            f"as_of is in the future: it is {now.isoformat(timespec='seconds')} now.",
            recovery="Pass a moment that has passed, or leave out as_of to read what holds now.",
        )


async def candidates(
    butler: Butler, caller: Caller, probe: Probe, moment: datetime | None, *, with_hidden: bool = False
) -> Candidates:
    """Everything that comes into question: from the live tables or, as of a moment, from the log."""
    tenant = caller.principal.tenant
    if moment is None:
        return Candidates(found=await search_index.search(butler.database, tenant, probe, with_hidden=with_hidden))
    past = await as_of.search(butler.database, tenant, probe, with_hidden=with_hidden)
    return Candidates(found=past.then, missing=missing_words(past.wordless))


def missing_words(wordless: dict[str, int]) -> tuple[str, ...]:
    """What can no longer be shown, in a sentence."""
    if not wordless:
        return ()
    counts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in wordless.items()]
    verb = "have" if sum(wordless.values()) > 1 else "has"
    return (f"{' and '.join(counts)} of that time {verb} been deleted since; scores by words may differ",)
