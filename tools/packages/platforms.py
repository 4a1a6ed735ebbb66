"""Does each requirement have a wheel for each system? `python -m tools.packages.platforms`

Nothing is installed: pip resolves the requirements of a plain installation for Linux, macOS and Windows, with the
versions of constraints.txt, and refuses anything that would have to be compiled.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.packages import client

PYTHON = "3.12"
PLATFORMS = {
    "Linux x86_64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": ("macosx_14_0_arm64", "macosx_13_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
    "Windows x86_64": ("win_amd64",),
}


def unresolved() -> list[str]:
    """The systems for which pip finds no set of wheels, with its last words."""
    missing = []
    for name, tags in PLATFORMS.items():
        done = _resolve(tags)
        if done.returncode:
            missing.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        else:
            print(f"{name}: {len(done.stdout.rpartition('Would install')[2].split())} wheels")
    return missing


def _resolve(tags: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    own = "memory-butler-model"
    wanted = [line for line in client.project()["dependencies"] if not line.startswith(own)]
    with tempfile.TemporaryDirectory(prefix="mb-platform-") as folder:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
        command += [
            "--target",
            folder,
            "--python-version",
            PYTHON,
            "--implementation",
            "cp",
            "--disable-pip-version-check",
        ]
        command += [part for tag in tags for part in ("--platform", tag)]
        command += ["-c", str(client.ROOT / "constraints.txt"), *wanted]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(folder))


def main() -> None:
    missing = unresolved()
    for line in missing:
        print(line)
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
