"""What a caller may see and write."""

from memory_butler.errors import PermissionDenied
from memory_butler.models import EVERY_SCOPE, GLOBAL_SCOPE, Principal, Reach


def acting_butler(principal: Principal, butler: str | None) -> str:
    """The butler a call acts for. Only an administrator may act for another one than its own."""
    if butler is None or butler == principal.butler:
        return principal.butler
    if principal.role.governs:
        return butler
    raise PermissionDenied(f"You are the butler {principal.butler!r} and cannot act as {butler!r}.")


def readable(principal: Principal, scope: str | None, butler: str | None) -> Reach:
    """Global and the butler's own scope; a named scope alone if one is named.

    An administrator who names no butler reads every butler's episodes, and may ask for every scope.
    """
    acting = acting_butler(principal, butler)
    if scope is None:
        every_butler = principal.role.governs and butler is None
        return Reach(scopes=(GLOBAL_SCOPE, acting), butlers=None if every_butler else (acting,))
    if scope == EVERY_SCOPE:
        if not principal.role.governs:
            raise PermissionDenied("Only an administrator may read every scope.")
        return Reach(scopes=None, butlers=None if butler is None else (acting,))
    if scope not in (GLOBAL_SCOPE, acting) and not principal.role.governs:
        raise PermissionDenied(f"The scope {scope!r} belongs to another butler.")
    # No episode is global: a butler that happens to be called so keeps its own to itself.
    return Reach(scopes=(scope,), butlers=() if scope == GLOBAL_SCOPE else (scope,))


def check_writable(principal: Principal, scope: str) -> None:
    if scope not in (GLOBAL_SCOPE, principal.butler) and not principal.role.governs:
        raise PermissionDenied(f"You may write the scope 'global' or your own, {principal.butler!r}, not {scope!r}.")


def eyes(principal: Principal) -> str | None:
    """With which butler's eyes a caller looks at what a memory is joined to; None sees everything of the tenant."""
    return None if principal.role.governs else principal.butler


def may_see(principal: Principal, owner: str, *, is_episode: bool) -> bool:
    """May this caller see a memory it names? `owner` is the scope of a fact or rule, the butler of an episode."""
    if principal.role.governs or owner == principal.butler:
        return True
    return owner == GLOBAL_SCOPE and not is_episode
