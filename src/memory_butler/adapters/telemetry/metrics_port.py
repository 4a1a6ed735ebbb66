"""The metrics of a process without an HTTP server, on a port of their own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from memory_butler.metrics import registry
from memory_butler.settings import Settings

# Several workers on one machine share the setting; each takes the next free port.
PORTS = 16

log = logging.getLogger(__name__)


@contextmanager
def metrics_port(settings: Settings, process: str) -> Iterator[int | None]:
    """Serve the metrics while the context is open. Yields the port, or None if the settings name none or all are in
    use: monitoring never keeps a process from working."""
    registry.identify(process)
    first, host = settings.telemetry.metrics_port, settings.telemetry.metrics_host
    if first is None:
        yield None
        return
    for port in range(first, first + PORTS):
        try:
            server, thread = start_http_server(port, host, registry.REGISTRY)
        except OSError:
            continue
        log.info("metrics are on http://%s:%d/metrics", host, port)
        try:
            yield port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
        return
    log.warning("metrics are not served: no port from %d to %d on %s can be used", first, first + PORTS - 1, host)
    yield None
