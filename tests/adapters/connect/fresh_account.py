"""A new user's first days with the real Claude Code: one line to connect, no server, and a reboot in between."""

import copy
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

PROMPT = "Please fix the invoice test. We always use a fixed clock in tests."
NEXT_DAY = "Which clock do the invoice tests use?"
TOLD = "fixed clock"
SAID = f"User: We always use a {TOLD} in tests."
PORT = 8158
WAIT_SECONDS = 120
Model = Callable[[], AbstractContextManager[tuple[str, list[str]]]]


def first_days(stage: Any, standing_in: Model) -> Iterator[tuple[bool, str, str]]:
    """What was expected, and whether it happened."""
    account = copy.copy(stage)
    account.home = stage.folder / "account"
    account.home.mkdir()
    account.environment = {**stage.environment, "HOME": str(account.home), "MEMORY_BUTLER_PORT": str(PORT)}
    del account.environment["MEMORY_BUTLER_HOME"]
    try:
        begun = time.monotonic()
        account.run("memory-butler", "connect", "claude-code", "--yes")
        said, asked = _session(account, standing_in, PROMPT)
        first = time.monotonic() - begun
        yield bool(said), f"from one connect line to the end of the first session: {first:.0f} s", said
        yield not any(SAID in request for request in asked), "an empty memory says nothing of it", ""
        kept = _kept(account)
        yield TOLD in kept, "without a server its episode is kept", kept
        _reboot(account.home)
        yield not list(_processes(account.home)), "a reboot: no process is left", ""
        _, asked = _session(account, standing_in, NEXT_DAY)
        yield any(SAID in request for request in asked), "the next day memory says what was decided", "\n".join(asked)
        yield True, f"size of the home folder: {_megabytes(account.home / '.memory-butler')} MB", ""
    finally:
        account.run("memory-butler", "disconnect", "claude-code", "--yes")
        _reboot(account.home)


def _session(account: Any, standing_in: Model, prompt: str) -> tuple[str, list[str]]:
    with standing_in() as (address, requests):
        said = account.run("claude", "-p", prompt, ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=address)
        return said, list(requests)


def _kept(account: Any) -> str:
    """The episodes in the store, once there is one: it is stored after the session has ended."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        command = ("search", "invoice test", "--type", "episode", "--min-relevance", "0", "--json")
        found: str = account.run("memory-butler", *command, MEMORY_BUTLER_BUTLER="acme.shop")
        if json.loads(found.splitlines()[-1])["count"] or time.monotonic() > until:
            return found
        time.sleep(1)


def _processes(home: Path) -> Iterator[int]:
    """The processes of this account, by their command or their environment."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if bytes(home) in known:
            yield int(folder.name)


def _reboot(home: Path) -> None:
    """Kill everything at once, as a loss of power does."""
    while found := list(_processes(home)):
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.2)


def _megabytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1_000_000
