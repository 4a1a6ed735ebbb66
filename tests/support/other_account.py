"""Another account of this machine: a real one if the tests run as root, else one that only the server believes in."""

import os
import subprocess
import sys
from typing import Any

import pytest

NOBODY = 65534
ASK = """
import http.client, sys
line = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
line.request("GET", sys.argv[2], headers=dict(pair.split("=", 1) for pair in sys.argv[3:]))
reply = line.getresponse()
print(reply.status)
print(reply.read().decode())
"""


def asks(patch: pytest.MonkeyPatch, port: int, path: str, *headers: str) -> tuple[int, str]:
    """Returns the status and the body that another account gets. Call it in a thread: the server has to answer."""
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    else:
        own = os.geteuid()
        patch.setattr("memory_butler.adapters.http.peer.os.geteuid", lambda: own + 1)
    done = subprocess.run(
        # The interpreter of the system: the one of the tests may be in a folder that is closed to others.
        ["/usr/bin/python3" if account else sys.executable, "-c", ASK, str(port), path, *headers],
        capture_output=True, text=True, check=True, cwd="/", **account,
    )  # fmt: skip
    status, _, body = done.stdout.partition("\n")
    return int(status), body
