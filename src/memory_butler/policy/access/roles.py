"""Roles and the operations they allow. Tools declare their roles themselves (adapters/mcp/tools).

Inside a tenant, scopes restrict an operation further (visibility.py): an agent acts as its own butler. Only an operator
may act in another tenant, and only by naming it.
"""

from memory_butler.errors import PermissionDenied
from memory_butler.models import Principal, Role

ANY_ROLE = frozenset(Role)
WRITERS = frozenset({Role.AGENT, Role.ADMIN, Role.OPERATOR})
ADMINS = frozenset({Role.ADMIN, Role.OPERATOR})
OPERATORS = frozenset({Role.OPERATOR})

_READING = ("list_memories", "history", "links")
_ADMINISTERING = (
    *(
        "jobs",
        "runs",
        "review",
        "dead_letters",
        "requeue",
        "quarantine",
        "purge_receipts",
        "consolidate",
        "tokens",
        "system_info",
        "export",
        "import",
    ),
)
ALLOWED: dict[str, frozenset[Role]] = {
    **dict.fromkeys(_READING, ANY_ROLE),
    **dict.fromkeys(_ADMINISTERING, ADMINS),
    # Operating the service: its metrics cover all tenants.
    "metrics": OPERATORS,
}


def check_role(principal: Principal, operation: str, roles: frozenset[Role] | None = None) -> None:
    """Raise `PermissionDenied` unless the caller's role is in `roles`, by default those of the table.

    An operation that is not in the table is denied to every role.
    """
    roles = ALLOWED.get(operation, frozenset()) if roles is None else roles
    if principal.role not in roles:
        allowed = ", ".join(role for role in Role if role in roles) or "nobody"
        raise PermissionDenied(
            f"The role {principal.role} may not use {operation}; allowed: {allowed}.",
            recovery="Use a token with one of these roles, or ask an administrator.",
        )


def require_admin(principal: Principal, action: str, recovery: str = "Ask an administrator.") -> None:
    if not principal.role.governs:
        raise PermissionDenied(f"Only an administrator may {action}.", recovery=recovery)


def switch_tenant(principal: Principal, tenant: str) -> Principal:
    """The principal of an operator who acts in another tenant. Other roles may not."""
    if tenant == principal.tenant:
        return principal
    if principal.role is not Role.OPERATOR:
        raise PermissionDenied(
            "Only an operator may work in another tenant.", recovery="Omit the tenant; your token determines it."
        )
    return Principal(tenant, principal.butler, principal.role, name=principal.name, home=principal.tenant)
