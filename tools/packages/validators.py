"""The validators of Claude Desktop and of Agent Skills, and what pip finds for each system: `make test-clients`.

Needs Node.js and the package indexes. Nothing is installed outside a temporary folder.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tools.packages import mcpb
from tools.packages.client import project
from tools.packages.platforms import unresolved

VALIDATOR = "@anthropic-ai/mcpb@2.1.2"
SKILL_VALIDATOR = "skills-ref==0.1.1"
SKILLS = Path(__file__).parents[2] / "plugins" / "claude-code" / "skills"


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


def validate_skills(folder: Path) -> None:
    """Run the reference validator of Agent Skills on each skill of the plugin."""
    venv.create(folder / "skills", with_pip=True)
    programs = folder / "skills" / "bin"
    subprocess.run([str(programs / "pip"), "install", "--quiet", SKILL_VALIDATOR], check=True)
    for skill in sorted(one for one in SKILLS.iterdir() if one.is_dir()):
        subprocess.run([str(programs / "agentskills"), "validate", str(skill)], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mb-validators-") as name:
        validate_bundle(Path(name))
        validate_skills(Path(name))
    missing = unresolved()
    print("wheels for each system: " + ("all found" if not missing else "; ".join(missing)))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
