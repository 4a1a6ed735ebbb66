"""A `claude` command that does what it was told to, and notes what it was given."""

import json
import sys
from pathlib import Path
from typing import Any

SCRIPT = """#!{python}
import json, os, signal, subprocess, sys, time
from pathlib import Path

here = Path(__file__).parent
step = json.loads((here / "step.json").read_text())


def note(name, value):
    (here / (name + ".new")).write_text(json.dumps(value))
    (here / (name + ".new")).rename(here / name)


def stay(ignoring=False):
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(300)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    if ignoring:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("pids", [os.getpid(), child.pid])
    time.sleep(300)


if step.get("deaf"):
    os.close(0)
else:
    note("given", {{"arguments": sys.argv[1:], "stdin": sys.stdin.read(), "environment": dict(os.environ),
                   "folder": os.getcwd(), "files": os.listdir(), "group": os.getpgid(0), "pid": os.getpid()}})
if "stay" in step:
    stay(step["stay"] == "ignoring")
if step.get("leave"):
    code = "import time; time.sleep(300)"
    note("pids", [subprocess.Popen([sys.executable, "-c", code], start_new_session=True).pid])
sys.stderr.write(step.get("complaint", ""))
sys.stdout.write(step.get("output", ""))
sys.stdout.flush()
if step.get("flood"):
    while True:
        sys.stdout.write("x" * 65536)
if "die" in step:
    os.kill(os.getpid(), getattr(signal, step["die"]))
sys.exit(step.get("code", 0))
"""


class ScriptedClaude:
    """The command in a folder of its own, to be put on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = folder / "claude"
        self.command.write_text(SCRIPT.format(python=sys.executable))
        self.command.chmod(0o755)
        self.will(output=envelope('{"version": 1}'))

    def will(self, **step: Any) -> None:
        """What the next run does."""
        (self.folder / "step.json").write_text(json.dumps(step))

    def noted(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def has_noted(self, name: str) -> bool:
        return (self.folder / name).exists()


def envelope(result: str | None, **changed: Any) -> str:
    """What `claude -p --output-format json` prints."""
    said = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 1,
        "result": result,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.0123,
        "usage": {
            "input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 3,
            "output_tokens": 40,
        },
    }
    return json.dumps({**said, **changed}) + "\n"


def complaint(words: str, status: int | None = None, **changed: Any) -> str:
    """What it prints when it could not get an answer."""
    usage = {"input_tokens": 0, "output_tokens": 0}
    given = {"is_error": True, "api_error_status": status, "stop_reason": "stop_sequence", "total_cost_usd": 0}
    return envelope(words, **{**given, "usage": usage, **changed})
