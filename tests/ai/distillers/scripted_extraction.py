"""A grammar for the extraction process that does what the text says: stall, crash, or tell which modules are loaded."""

import os
import re
import sys
from typing import Any

from memory_butler.ai.distillers.builtin import propose as usual
from memory_butler.models import Batch


def propose(batch: Batch) -> Any:
    texts = " ".join(batch.texts.values())
    if "STALL" in texts:
        # Exponential: it never ends, and it holds the interpreter lock.
        re.match(r"(a|aa)+$", "a" * 200 + "b")
    if "CRASH" in texts:
        os._exit(3)
    if "MODULES" in texts:
        return sorted(sys.modules)
    return usual(batch)
