"""This program as another one can start it."""

import os
import shutil
import sys
from pathlib import Path

NAME = "memory-butler"
USUAL_HOME = "~/.memory-butler"


def executable() -> list[str]:
    """From any folder: where it is installed, or as a module where it is not."""
    beside = Path(sys.executable).with_name(NAME)
    found = str(beside) if beside.exists() else shutil.which(NAME)
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "memory_butler.adapters.entry"]  # noqa: PTH100


def shared_executable() -> list[str]:
    """For a file that others get, too: by name alone where the search path leads to it."""
    found, here = shutil.which(NAME), executable()
    is_same = found is not None and Path(found).resolve() == Path(here[0]).resolve()
    return [NAME] if is_same else here


def is_usual(home: Path) -> bool:
    """Whether this is where the store is when nobody says otherwise."""
    return home == Path(USUAL_HOME).expanduser().absolute()
