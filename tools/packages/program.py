"""The wheel `memory-butler`, built from a copy: nothing is left in the source tree, and nothing stale gets in."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(out: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="mb-source-") as name:
        source = Path(name)
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, source / file)
        package = source / "src" / "memory_butler"
        shutil.copytree(ROOT / "src" / "memory_butler", package, ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out.absolute())]
        built = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
        if built.returncode:
            raise SystemExit(built.stdout + built.stderr)
    return max(out.glob("memory_butler-*.whl"), key=lambda file: file.stat().st_mtime)
