"""Every error that is raised deliberately: its class, whether a retry can help, how to recover.

The set of classes is closed. MCP, REST and CLI translate an error by its `error_class` and nothing else. The docstring
of a class is its default message.
"""

from typing import ClassVar


class MemoryButlerError(Exception):
    """Memory Butler failed."""

    error_class: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False
    default_recovery: ClassVar[str] = "Run `memory-butler doctor` and read the log in the home folder."

    def __init__(self, message: str | None = None, *, recovery: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.recovery = recovery or self.default_recovery
        super().__init__(self.message)

    def as_dict(self) -> dict[str, object]:
        return {
            "error": self.error_class,
            "message": self.message,
            "retryable": self.retryable,
            "recovery": self.recovery,
        }


class InvalidInput(MemoryButlerError):
    """The request is not valid; nothing was changed."""

    error_class = "validation_error"
    default_recovery = "Fix the argument named in the message and retry."


class NotFound(MemoryButlerError):
    """The memory does not exist."""

    error_class = "not_found"
    default_recovery = "Use memory_search to find the memory, then pass its reference (for example fact:k3f7) or id."


class PermissionDenied(MemoryButlerError):
    """The caller is not allowed to do this."""

    error_class = "permission_denied"
    default_recovery = "Use your own butler name and either scope 'global' or your own scope."


class Conflict(MemoryButlerError):
    """The request conflicts with what is stored."""

    error_class = "conflict"
    default_recovery = "Read the current state with memory_get; use a new idempotency key for a new request."


class IntegrityViolation(MemoryButlerError):
    """The change would break an invariant of the store; nothing was changed."""

    error_class = "integrity_error"
    default_recovery = "Do not retry. Read the memory with memory_get to see its state."


class TargetUnavailable(MemoryButlerError):
    """The memory store cannot be reached. This does not mean that there are no memories."""

    error_class = "target_unavailable"
    retryable = True
    default_recovery = "Continue without memory and try again later; `memory-butler doctor` shows what is wrong."


class DeadlinePassed(MemoryButlerError):
    """The call exceeded its deadline and was cancelled."""

    error_class = "timeout"
    retryable = True
    default_recovery = "Try again, with the same idempotency key if it was a write."


class OverloadRejected(MemoryButlerError):
    """Too many requests at once; this one was not started."""

    error_class = "overload_rejected"
    retryable = True
    default_recovery = "Wait a second and try again, with the same idempotency key if it was a write."


class InternalError(MemoryButlerError):
    """An unexpected error occurred inside Memory Butler."""

    error_class = "internal_error"


ERROR_CLASSES: dict[str, type[MemoryButlerError]] = {
    kind.error_class: kind
    for kind in (
        InvalidInput,
        NotFound,
        PermissionDenied,
        Conflict,
        IntegrityViolation,
        TargetUnavailable,
        DeadlinePassed,
        OverloadRejected,
        InternalError,
    )
}


class DistillerUnavailable(TargetUnavailable):
    """The distiller is not available now."""

    default_recovery = "Check the `consolidation` settings and run `memory-butler doctor`; the episodes stay pending."


class UnusableProposal(InvalidInput):
    """The distiller's output is not valid; nothing was changed."""

    default_recovery = "Return one JSON object that follows the schema."


class Unprocessable(InvalidInput):
    """The distiller cannot process this episode; a retry would fail again."""

    default_recovery = "Store it in smaller parts, or choose another distiller and requeue it."
