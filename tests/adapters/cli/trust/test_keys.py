"""The commands for encryption keys."""

from collections.abc import Callable

from tests.adapters.conftest import NUTS, Type

from memory_butler.resources import Resources


async def test_status_rotation_and_destruction(
    read_by: Callable[..., Resources], terminal: Callable[[Resources], Type]
) -> None:
    """They show counts, and never a text or a key; a rotation also works if the local user may not read."""
    run = terminal(read_by("agent"))
    told = [await run("keys", "status"), await run("keys", "rotate"), await run("keys", "shred", "--yes")]
    for done in told:
        assert done.exit_code == 0, done.exception or done.output
        assert NUTS not in done.stdout and "enc:v1" not in done.stdout
    status, rotation, destruction = (" ".join(done.stdout.split()) for done in told)
    assert "Encryption is on. 1 memory is encrypted, 0 are not." in status
    assert "Encrypted 0 memories for the first time, 1 anew." in rotation
    assert destruction.startswith("Destroyed 2 keys. 1 memories are unreadable;")
    assert "nothing was changed" in (await run("keys", "shred", "--yes")).stdout
    refused = await run("keys", "shred")
    assert refused.exit_code != 0
