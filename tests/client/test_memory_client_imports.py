"""The client is light: a program that uses it loads neither the engine nor what the engine needs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = {"psycopg", "onnx", "onnxruntime", "numpy", "tokenizers", "fastmcp", "fastapi", "pydantic"}
ROOMS = ("butler", "operations", "store", "ai", "policy", "settings", "adapters", "jobs")
ENGINE = LIBRARIES | {f"memory_butler.{room}" for room in ROOMS}


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("from memory_butler.client import MemoryClient; MemoryClient()", ENGINE),
        ("from memory_butler import NewFact, Question; from memory_butler.client import session", ENGINE | {"httpx"}),
    ],
    ids=["client", "session"],
)
def test_what_a_program_with_the_client_does_not_load(program: str, unwanted: set[str]) -> None:
    """Neither the database driver nor a model; for the session helper alone not even the HTTP library."""
    look = f"import sys; {program}; print(*sorted(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", look],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
        timeout=60,
    )
    loaded = set(ran.stdout.split())
    assert "memory_butler.client" in loaded
    assert loaded.isdisjoint(unwanted)


def test_a_name_that_the_package_does_not_have_is_an_error() -> None:
    """Loading on demand hides no mistakes."""
    from memory_butler import client

    with pytest.raises(AttributeError, match="no attribute 'MemoryCLient'"):
        _ = client.MemoryCLient
    assert {name for name in client.__all__ if not hasattr(client, name)} == set()
    assert callable(client.session)
