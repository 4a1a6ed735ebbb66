"""Does each requirement have a wheel for each system? `python -m tools.packages.platforms`

uv resolves the requirements of a plain installation for Linux, macOS and Windows, with the versions of constraints.txt,
and refuses anything that would have to be compiled. Unlike pip it also evaluates the markers of the other system.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.packages import client

PYTHON = "3.12"
# The oldest macOS for which onnxruntime has a wheel.
MACOS = "14.0"
PLATFORMS = {
    "Linux x86_64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    f"macOS {MACOS} arm64": "aarch64-apple-darwin",
    "Windows x86_64": "x86_64-pc-windows-msvc",
}


def unresolved() -> list[str]:
    """The systems for which there is no set of wheels, with the reason."""
    with tempfile.TemporaryDirectory(prefix="mb-platforms-") as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", name, "uv"]
        subprocess.run(pip, check=True)
        # Our own package holds data only.
        wanted = [line for line in client.project()["dependencies"] if not line.startswith("memory-butler-model")]
        (folder / "wanted.in").write_text("\n".join(wanted), encoding="utf-8")
        missing = []
        for system, platform in PLATFORMS.items():
            command = [str(folder / "bin" / "uv"), "pip", "compile", "--quiet", "--only-binary", ":all:"]
            command += ["--python-platform", platform, "--python-version", PYTHON, "wanted.in"]
            command += ["-c", str(client.ROOT / "constraints.txt"), "--no-header", "--no-annotate"]
            environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
            if done.returncode:
                missing.append(f"{system}: {' '.join(done.stderr.split())}")
            else:
                print(f"{system}: {done.stdout.count('==')} wheels")
    return missing


def main() -> None:
    missing = unresolved()
    for line in missing:
        print(line)
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
