"""Encrypted text in the briefings of hooks: only roles that may read it get it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.conftest import HIDDEN, NUTS
from tests.adapters.hooks.conftest import Hook, prompted
from tests.support.service import Switch

from memory_butler.resources import Resources


@pytest.mark.parametrize("role", ["admin", "agent"])
async def test_only_readers_get_encrypted_text(
    read_by: Callable[..., Resources], served: tuple[Switch, int], hook: Hook, project: Path, role: str
) -> None:
    """The real hook against the real server: its caller is the local administrator."""
    switch, port = served
    switch.resources = read_by(role)
    switch.settings = switch.resources.settings
    done = await hook("user-prompt", port, prompted(project, "Cook dinner for Anna"))
    assert (NUTS in done.stdout, HIDDEN in done.stdout) == (role == "admin", role != "admin")
