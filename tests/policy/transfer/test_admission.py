"""Rows of an export: what no write could have stored is refused."""

from typing import Any

import pytest

from memory_butler.policy.transfer.admission import refusal_of

FACT: dict[str, Any] = {"content": "x" * 4000, "subject": "a" * 200, "predicate": "b", "tags": ["t"], "metadata": {}}


def test_what_a_write_could_have_stored_is_admitted() -> None:
    assert refusal_of("fact", FACT) is None
    assert (
        refusal_of("episode", {"content": "x" * 20_000, "tags": ["t" * 64] * 20, "metadata": {"a": "b" * 16_000}})
        is None
    )
    assert refusal_of("text", {"body": "x" * 60_000}) is None


@pytest.mark.parametrize(
    ("kind", "row", "said"),
    [
        ("fact", FACT | {"content": "x" * 4001}, "4001 characters; the limit is 4000"),
        ("rule", {"content": "x" * 4001}, "the limit is 4000"),
        ("episode", {"content": "x" * 20_001}, "the limit is 20000"),
        ("fact", FACT | {"subject": "x" * 100_000}, "subject has 100000 characters"),
        ("fact", FACT | {"tags": ["t"] * 21}, "more than 20 tags"),
        ("fact", FACT | {"tags": ["t" * 1000]}, "more than 64 characters"),
        ("fact", FACT | {"metadata": {"a": "b" * 20_000}}, "the limit is 16384"),
        ("fact", FACT | {"metadata": {"a": "\x00"}}, "NUL"),
        ("application", {"reason": "x" * 10_000}, "the limit is 1000"),
        ("alias", {"alias_label": "x" * 10_000}, "the limit is 200"),
        ("event", {"actor": "x" * 10_000}, "the limit is 200"),
    ],
)
def test_what_no_write_could_have_stored_is_refused(kind: str, row: dict[str, Any], said: str) -> None:
    assert said in (refusal_of(kind, row) or "")
