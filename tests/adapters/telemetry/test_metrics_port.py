"""Metrics of processes without a server of their own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from memory_butler.adapters.telemetry.metrics_port import PORTS, metrics_port
from memory_butler.settings import Settings, load_settings


def _free_ports() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1]) % 40_000 + 20_000


def _settings(tmp_path: Path, port: int | None) -> Settings:
    return load_settings(home=tmp_path, telemetry={"metrics_port": port})


def test_two_processes_share_the_setting(tmp_path: Path) -> None:
    """The second takes the next port, and both answer."""
    settings = _settings(tmp_path, _free_ports())
    with metrics_port(settings, "work") as first, metrics_port(settings, "mcp") as second:
        assert first and second and first < second < first + PORTS
        for port in (first, second):
            text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
            assert "process_resident_memory_bytes" in text and 'process="mcp"' in text


def test_without_a_port_nothing_listens(tmp_path: Path) -> None:
    with metrics_port(_settings(tmp_path, None), "work") as port:
        assert port is None


def test_an_address_that_cannot_be_used_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The process goes on without metrics, and the log says so."""
    settings = load_settings(home=tmp_path, telemetry={"metrics_port": 20_000, "metrics_host": "203.0.113.7"})
    with metrics_port(settings, "work") as port:
        assert port is None
    assert "metrics are not served" in caplog.text


def test_a_worker_serves_its_metrics(home: Path) -> None:
    """`work` in a process of its own: the schedule it checks, its memory and its statements."""
    port = _free_ports()
    environment = {
        **os.environ,
        "MEMORY_BUTLER_HOME": str(home),
        "MEMORY_BUTLER_TELEMETRY__METRICS_PORT": str(port),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "memory_butler.adapters.cli.app", "work"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            text = _scraped(port)
        finally:
            worker.send_signal(signal.SIGINT)
            worker.wait(30)
    assert re.search(r'memory_butler_info\{process="work",version="[^"]+"\} 1.0', text)
    assert re.search(r"memory_butler_schedule_checked_timestamp_seconds [1-9]", text)
    assert 'memory_butler_statement_seconds_count{query="job_runs.tenants"}' in text


def _scraped(port: int) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        except httpx.TransportError:
            text = ""
        if 'query="job_runs.tenants"' in text:
            return text
        time.sleep(0.2)
    raise AssertionError("the worker did not serve its metrics")
