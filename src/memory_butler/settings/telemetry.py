"""Settings of monitoring."""

from pydantic import Field

from memory_butler.settings.values import Group


class Telemetry(Group):
    """Metrics of processes without an HTTP server, and figures of all tenants. `serve` has metrics at `/metrics`."""

    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65_520,
        description="Port on which `work` and `mcp` serve their metrics. If it is in use, by another worker for "
        "example, the next free one of the 15 after it. Unset: none.",
    )
    metrics_host: str = Field(
        "127.0.0.1", description="Address of that port. Metrics name no tenant, caller or memory, and need no token."
    )
    sample_seconds: float = Field(
        300,
        ge=1,
        le=3600,
        description="Seconds between two samples of all tenants: backlogs, jobs, queue, database. One worker takes "
        "it, all processes export it.",
    )
    report_seconds: float = Field(
        30,
        ge=0.1,
        le=600,
        description="Seconds between two reports of a process: it stores what it has measured for the service levels, "
        "and exports the newest sample.",
    )
