"""The closed set of errors: class, retry, recovery."""

import pytest

from memory_butler import errors
from memory_butler.errors import ERROR_CLASSES, MemoryButlerError
from memory_butler.store.gate.database import StoreUpgraded

CONTRACT = {
    "validation_error": False,
    "not_found": False,
    "permission_denied": False,
    "conflict": False,
    "integrity_error": False,
    "target_unavailable": True,
    "timeout": True,
    "overload_rejected": True,
    "internal_error": False,
}


def every_error(kind: type[MemoryButlerError] = MemoryButlerError) -> list[type[MemoryButlerError]]:
    return [kind, *(error for below in kind.__subclasses__() for error in every_error(below))]


def test_the_set_of_classes_is_closed() -> None:
    """Exactly the nine classes of the contract, each with its answer to whether a retry can help."""
    assert {name: kind.retryable for name, kind in ERROR_CLASSES.items()} == CONTRACT


@pytest.mark.parametrize("kind", every_error())
def test_every_error_is_of_a_known_class_and_says_how_to_recover(kind: type[MemoryButlerError]) -> None:
    """Raised without a word, an error still has a message and a way out, in plain values."""
    shown = kind().as_dict()
    assert shown["error"] in CONTRACT
    assert shown["retryable"] is kind.retryable
    assert str(shown["message"]).endswith(".")
    assert str(shown["recovery"]).endswith(".")
    assert str(kind("Tea is cold.")) == "Tea is cold."
    assert kind("x", recovery="Warm it.").as_dict()["recovery"] == "Warm it."


def test_an_upgraded_store_is_unavailable_for_good() -> None:
    """The older process is told not to try again but to be restarted."""
    assert StoreUpgraded.error_class == "target_unavailable"
    assert not StoreUpgraded.retryable
    assert "Restart" in StoreUpgraded().recovery


def test_errors_of_the_module_are_all_in_the_table() -> None:
    """No error class can be raised by name without a door knowing it."""
    named = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemoryButlerError)}
    named.remove(MemoryButlerError)
    assert named >= set(ERROR_CLASSES.values())
    assert [kind for kind in named if not issubclass(kind, ERROR_CLASSES[kind.error_class])] == []


def test_unavailable_does_not_read_as_empty() -> None:
    """An agent that cannot reach its memory is told that this does not mean there is none."""
    assert "not mean" in errors.TargetUnavailable().message
