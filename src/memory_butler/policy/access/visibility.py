"""Visibility: the scopes and butlers that a caller may read and write."""

from dataclasses import replace
from typing import TypeVar

from memory_butler.errors import PermissionDenied
from memory_butler.models import EVERY_SCOPE, GLOBAL_SCOPE, BriefRequest, NewEpisode, Principal, Reach

Named = TypeVar("Named", NewEpisode, BriefRequest)


def acting_butler(principal: Principal, butler: str | None) -> str:
    """Returns the butler that a call acts for. Only an administrator may act for another butler."""
    if butler is None or butler == principal.butler:
        return principal.butler
    if principal.role.governs:
        return butler
    raise PermissionDenied(
        f"You are the butler {principal.butler!r} and cannot act as {butler!r}.",
        recovery="Leave out the butler, or ask an administrator.",
    )


def readable(principal: Principal, scope: str | None, butler: str | None) -> Reach:
    """Returns the readable scopes and butlers: global and the butler's own, or only the named scope.

    An administrator who names no butler reads the episodes of every butler, and may read every scope.
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
    # Episodes are never global. The episodes of a butler named "global" stay private.
    return Reach(scopes=(scope,), butlers=() if scope == GLOBAL_SCOPE else (scope,))


def may_write(principal: Principal, scope: str) -> bool:
    return scope in (GLOBAL_SCOPE, principal.butler) or principal.role.governs


def check_writable(principal: Principal, scope: str) -> None:
    if not may_write(principal, scope):
        raise PermissionDenied(f"You may write the scope 'global' or your own, {principal.butler!r}, not {scope!r}.")


def viewer(principal: Principal) -> str | None:
    """Returns the butler whose memories are visible to the caller beside global ones; None for all of the tenant."""
    return None if principal.role.governs else principal.butler


def may_see(principal: Principal, owner: str, *, is_episode: bool) -> bool:
    """True if the caller may see a memory. `owner` is the scope of a fact or rule, or the butler of an episode."""
    if principal.role.governs or owner == principal.butler:
        return True
    return owner == GLOBAL_SCOPE and not is_episode


def named(request: Named, principal: Principal) -> Named:
    """The request with the caller's butler, if it names none."""
    return request if request.butler else replace(request, butler=principal.butler)
