"""Who may do what: one table of roles and operations for every door.

What an operation does inside a tenant is bounded further by scope (reach.py): an agent works as its own butler. Nobody
but an operator reaches another tenant, and only by asking for it.
"""

from memory_butler.errors import PermissionDenied
from memory_butler.models import Principal, Role

EVERYBODY = frozenset(Role)
WORKERS = frozenset({Role.AGENT, Role.ADMIN, Role.OPERATOR})
GOVERNORS = frozenset({Role.ADMIN, Role.OPERATOR})
OPERATORS = frozenset({Role.OPERATOR})

ALLOWED: dict[str, frozenset[Role]] = {
    # Looking things up.
    "memory_search": EVERYBODY,
    "memory_recall": EVERYBODY,
    "memory_explain": EVERYBODY,
    "memory_get": EVERYBODY,
    "memory_stats": EVERYBODY,
    "memory_context": EVERYBODY,
    "memory_context_batch": EVERYBODY,
    "memory_activity_stream": EVERYBODY,
    "list_memories": EVERYBODY,
    "history": EVERYBODY,
    "links": EVERYBODY,
    # Working as a butler.
    "memory_store_episode": WORKERS,
    "memory_store_fact": WORKERS,
    "memory_store_rule": WORKERS,
    "memory_store": WORKERS,
    "memory_ingest_batch": WORKERS,
    "memory_confirm": WORKERS,
    "memory_mark_helpful": WORKERS,
    "memory_mark_harmful": WORKERS,
    "memory_correct": WORKERS,
    "memory_forget": WORKERS,
    "memory_forget_about": WORKERS,
    "memory_restore": WORKERS,
    "memory_pin": WORKERS,
    "memory_unpin": WORKERS,
    "memory_consolidation_claim": WORKERS,
    "memory_consolidation_submit": WORKERS,
    # Governing a tenant.
    "memory_reverse": GOVERNORS,
    "memory_undo": GOVERNORS,
    "jobs": GOVERNORS,
    "runs": GOVERNORS,
    "review": GOVERNORS,
    "dead_letters": GOVERNORS,
    "requeue": GOVERNORS,
    "consolidate": GOVERNORS,
    "tokens": GOVERNORS,
    "machinery": GOVERNORS,
    "export": GOVERNORS,
    "import": GOVERNORS,
    # Looking after the service: its figures are about all tenants together.
    "metrics": OPERATORS,
}


def check_role(principal: Principal, operation: str) -> None:
    """Refuse what the caller's role does not allow. What is not in the table is allowed to nobody."""
    roles = ALLOWED.get(operation, frozenset())
    if principal.role not in roles:
        allowed = ", ".join(role for role in Role if role in roles) or "nobody"
        raise PermissionDenied(
            f"The role {principal.role} may not use {operation}; allowed: {allowed}.",
            recovery="Use a token with such a role, or ask an administrator to do it.",
        )


def visiting(principal: Principal, tenant: str) -> Principal:
    """An operator in another tenant, who asked for it; nobody else gets there."""
    if tenant == principal.tenant:
        return principal
    if principal.role is not Role.OPERATOR:
        raise PermissionDenied(
            "Only an operator may work in another tenant.", recovery="Leave out the tenant; your token names yours."
        )
    return Principal(tenant, principal.butler, principal.role, name=principal.name, home=principal.tenant)
