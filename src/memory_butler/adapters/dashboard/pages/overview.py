"""The first page: how memory stands, at a glance."""

from fastapi import Request

from memory_butler.adapters.dashboard.elements import tag
from memory_butler.adapters.dashboard.shell import page
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.operations import report


@page("/", "Overview")
async def overview(visitor: Visitor, request: Request) -> None:
    stats = await visitor.ask("memory_stats", lambda visit: report.report(visit.butler, caller=visit.caller))
    with tag("section", "mb-card"):
        tag("pre", text=str(stats))
