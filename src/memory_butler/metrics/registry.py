"""The registry of all metrics of a process, and its text form."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
REGISTRY: Final = CollectorRegistry()
# Memory, processor time, open files and start time of the process.
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
VERSION: Final = Info("memory_butler", "Version and kind of the process.", registry=REGISTRY)


def identify(process: str) -> None:
    """Set version and kind of this process: serve, work, mcp or host."""
    VERSION.info({"version": program_version(), "process": process})


def program_version() -> str:
    """The version of the installed package."""
    try:
        return version("memory-butler")
    except PackageNotFoundError:
        return "0"


def exposition() -> bytes:
    """Return all metrics in the Prometheus text format."""
    return generate_latest(REGISTRY)
