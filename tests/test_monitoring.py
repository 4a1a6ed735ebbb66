"""Rules and dashboard in deploy/ fit the program: tested rules, runbooks for all alerts, metrics that exist."""

import importlib
import json
import pkgutil
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

import memory_butler.metrics
from memory_butler.metrics.calls import SECONDS
from memory_butler.metrics.registry import REGISTRY, _Processes, write_processes

ROOT = Path(__file__).parents[1]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RUNBOOK = (ROOT / "docs" / "guides" / "alerts.md").read_text(encoding="utf-8")
GROUPS: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules.yml").read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
TESTS: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text(encoding="utf-8"))["tests"]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
NAME = re.compile(r"\b(?:memory_butler|process)_\w+")
# Labels of metrics, and the word of a recorded series.
NOT_METRICS = {"memory_butler"}


def promtool(*arguments: str) -> str:
    done = subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all samples that processes can export."""
    for module in pkgutil.iter_modules(memory_butler.metrics.__path__):
        importlib.import_module(f"memory_butler.metrics.{module.name}")
    folder = tmp_path_factory.mktemp("metrics")
    write_processes(folder, [], 0)
    several = CollectorRegistry()
    several.register(_Processes(folder))
    found = set()
    for family in (*REGISTRY.collect(), *several.collect()):
        ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        found |= {family.name + end for end in ends}
    return found


def test_the_rules_are_valid_and_pass_their_tests() -> None:
    assert "SUCCESS" in promtool("check", "rules", "rules.yml")
    assert "SUCCESS" in promtool("test", "rules", "rules_test.yml")


def test_every_alert_is_tested_firing_and_silent() -> None:
    cases = [case for test in TESTS for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == set(ALERTS)
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == set(ALERTS)


def test_every_alert_has_its_runbook() -> None:
    """A heading of its own, to which the alert leads, and no entry without an alert."""
    assert set(re.findall(r"^### (MemoryButler\w+)$", RUNBOOK, re.MULTILINE)) == set(ALERTS)
    for name, alert in ALERTS.items():
        assert alert["annotations"]["runbook"] == f"docs/guides/alerts.md#{name.lower()}"
        assert alert["labels"]["severity"] in {"page", "ticket"} and alert["annotations"]["summary"]


def test_the_configuration_for_prometheus_names_the_rules() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    assert config["rule_files"] == ["rules.yml"]
    assert {job["job_name"] for job in config["scrape_configs"]} == {"memory-butler", "memory-butler-work"}


def test_rules_use_metrics_that_exist(metrics: set[str]) -> None:
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    for rule in RULES:
        expression = rule["expr"]
        for name in sorted(recorded, key=len, reverse=True):
            expression = expression.replace(name, "")
        assert set(NAME.findall(expression)) - NOT_METRICS <= metrics, rule
    # A bucket that the histogram does not have would never fire.
    edges = {
        float(edge) for rule in RULES for edge in re.findall(r'call_seconds_bucket\{[^}]*le="([\d.]+)"', rule["expr"])
    }
    assert edges == {0.25, 0.35} and edges <= set(SECONDS)


def test_the_dashboard_uses_metrics_that_exist(metrics: set[str]) -> None:
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert len(expressions) > 20
    used = {name for expression in expressions for name in NAME.findall(expression)} - NOT_METRICS
    assert used <= metrics, used - metrics
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in DASHBOARD["panels"]})
