"""The validator of Claude Desktop on the bundle, and what pip finds for each system: `make test-clients`.

Needs Node.js and the package indexes. Nothing is installed outside a temporary folder.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.packages import mcpb
from tools.packages.client import project
from tools.packages.platforms import unresolved

VALIDATOR = "@anthropic-ai/mcpb@2.1.2"


def validate_bundle(folder: Path) -> None:
    """Run `mcpb validate` on the manifest of the built bundle."""
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(mcpb.manifest(project())), encoding="utf-8")
    command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), VALIDATOR]
    subprocess.run(command, check=True)
    validator = folder / "node_modules" / ".bin" / "mcpb"
    done = subprocess.run([str(validator), "validate", str(manifest)], capture_output=True, text=True, check=False)
    print(f"mcpb validate: {(done.stdout + done.stderr).strip()}")
    if done.returncode:
        raise SystemExit(1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mb-validators-") as name:
        validate_bundle(Path(name))
    missing = unresolved()
    print("wheels for each system: " + ("all found" if not missing else "; ".join(missing)))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
