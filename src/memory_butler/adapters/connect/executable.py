"""The command line with which another program can start Memory Butler."""

import os
import shutil
import sys
from pathlib import Path

NAME = "memory-butler"
USUAL_HOME = "~/.memory-butler"


def executable() -> list[str]:
    """Return the absolute path of the installed command, or a `python -m` command line."""
    beside = Path(sys.executable).with_name(NAME)
    found = str(beside) if beside.exists() else shutil.which(NAME)
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "memory_butler.adapters.entry"]  # noqa: PTH100


def shared_executable() -> list[str]:
    """Return the bare command name if it is on the PATH, for files that are shared with others."""
    found, here = shutil.which(NAME), executable()
    is_same = found is not None and Path(found).resolve() == Path(here[0]).resolve()
    return [NAME] if is_same else here


def is_usual(home: Path) -> bool:
    """Return True for the default home folder."""
    return home == Path(USUAL_HOME).expanduser().absolute()
