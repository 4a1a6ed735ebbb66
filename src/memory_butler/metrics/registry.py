"""The registry of all metrics of a process, and its text form.

Server processes behind one port (`memory-butler serve --workers`) write their metrics to a common folder, as
prometheus-client does it, so that each of them answers for all.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
# The folder of the common metrics; prometheus-client reads the variable when it is imported.
SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
PROCESSES_FILE: Final = "processes.json"
# Of these not the sum is of interest.
_FIRST: Final = frozenset({"process_start_time_seconds", "process_max_fds"})

REGISTRY: Final = CollectorRegistry()
# Memory, processor time, open files and start time of the process.
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
VERSION: Final = Gauge(
    "memory_butler_info",
    "Version and kind of the process.",
    ["version", "process"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)


def identify(process: str) -> None:
    """Set version and kind of this process: serve, work, mcp or host."""
    if SHARED_FOLDER not in os.environ:
        VERSION.clear()
    VERSION.labels(program_version(), process).set(1)


def program_version() -> str:
    """The version of the installed package."""
    try:
        return version("memory-butler")
    except PackageNotFoundError:
        return "0"


def exposition() -> bytes:
    """Return all metrics in the Prometheus text format, of all processes behind the port."""
    folder = os.environ.get(SHARED_FOLDER)
    if not folder:
        return generate_latest(REGISTRY)
    shared = CollectorRegistry()
    MultiProcessCollector(shared, folder)  # type: ignore[no-untyped-call]
    PlatformCollector(registry=shared)
    shared.register(_Processes(Path(folder)))
    return generate_latest(shared)


def write_processes(folder: Path, pids: Sequence[int], restarts: int) -> None:
    """Note which server processes run, for the metrics of all of them."""
    new = folder / f"{PROCESSES_FILE}.new"
    new.write_text(json.dumps({"pids": list(pids), "restarts": restarts}), encoding="utf-8")
    new.replace(folder / PROCESSES_FILE)


class _Processes(Collector):
    """Memory, processor time and files of the server processes together."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / PROCESSES_FILE

    def collect(self) -> Iterator[Metric]:
        found = json.loads(self._file.read_text(encoding="utf-8"))
        yield GaugeMetricFamily(
            "memory_butler_server_processes", "Server processes behind the port.", value=len(found["pids"])
        )
        yield CounterMetricFamily(
            "memory_butler_server_process_restarts",
            "Server processes that ended and were replaced.",
            value=found["restarts"],
        )
        yield from _summed(found["pids"])


def _summed(pids: Sequence[int]) -> Iterator[Metric]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    families: dict[str, Metric] = {}
    for pid in pids:
        for family in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
            families[family.name] = family
            values[family.name] += [sample.value for sample in family.samples]
    for name, family in families.items():
        kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
        value = min(values[name]) if name in _FIRST else sum(values[name])
        yield kind(name, family.documentation, value=value)
