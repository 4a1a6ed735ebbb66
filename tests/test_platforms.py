"""Every module imports on a system without the modules and functions that only POSIX has."""

import subprocess
import sys
from pathlib import Path

import memory_butler

PACKAGE = Path(memory_butler.__file__).parent
# Imported twice: the first time loads the libraries, which look at the real system.
IMPORT_ALL = """
import importlib, os, select, signal, socket, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
for module in [name for name in sys.modules if name.partition(".")[0] == "memory_butler"]:
    del sys.modules[module]
for name in ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "readline"):
    sys.modules[name] = None
for module, names in {
    os: "geteuid getuid getgid chown fork killpg getpgid setsid O_NOFOLLOW O_DIRECTORY pidfd_open statvfs sync",
    select: "poll epoll POLLIN",
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM",
    socket: "AF_UNIX",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for module in sys.argv[1:]:
    importlib.import_module(module)
print("imported", len(sys.argv) - 1)
"""


def test_all_modules_import_without_posix() -> None:
    names = [
        ".".join(("memory_butler", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
    ]
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"imported {len(names)}\n"
