"""Install packages with pip and show progress on one line: `python tools/install.py TITLE PIP-ARGUMENTS…`.

Uses the standard library only: it runs before anything is installed.
"""

import subprocess
import sys
import time
from collections import deque

LINES_SHOWN_ON_FAILURE = 30
REPORT_EVERY_SECONDS = 10.0


def main() -> int:
    title, *arguments = sys.argv[1:]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-color"]
    pip = subprocess.Popen(
        [*command, "--progress-bar", "off", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    tail: deque[str] = deque(maxlen=LINES_SHOWN_ON_FAILURE)
    started, reported, packages = time.monotonic(), 0.0, 0
    assert pip.stdout
    for line in pip.stdout:
        tail.append(line)
        words = line.split()
        if not words or words[0] not in ("Collecting", "Downloading", "Installing", "Building"):
            continue
        packages += words[0] == "Collecting"
        step = "installing" if words[0] == "Installing" else f"{words[0].lower()} {words[-1 if len(words) == 2 else 1]}"
        elapsed = time.monotonic() - started
        if sys.stdout.isatty():
            sys.stdout.write(f"\r\033[K{title}: {packages} packages, {elapsed:.0f} s, {step[:60]}")
        elif elapsed - reported >= REPORT_EVERY_SECONDS or words[0] == "Installing":
            reported = elapsed
            sys.stdout.write(f"{title}: {packages} packages, {elapsed:.0f} s, {step[:60]}\n")
        sys.stdout.flush()
    code = pip.wait()
    if sys.stdout.isatty():
        sys.stdout.write("\r\033[K")
    if code:
        sys.stdout.write("".join(tail))
        sys.stdout.write(f"{title}: failed\n")
    else:
        sys.stdout.write(f"{title}: done in {time.monotonic() - started:.0f} s\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
