"""Saying which episodes wait to be distilled again, with the way back."""

from uuid import UUID

from nicegui import ui

from memory_butler.adapters.dashboard import distilling
from memory_butler.adapters.dashboard.acting import Done
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.models import MemoryType
from memory_butler.operations import look
from memory_butler.operations.dead_letters import Requeued


async def tell_requeued(visitor: Visitor, bar: UndoBar, done: Requeued, request_id: str) -> None:
    """What was put in line can be taken out of it again, until it is distilled."""
    if done.left:
        ui.notify(text_of(distilling.left_words(done)), type="warning", position="bottom")
    if done.again:
        bar.offer(Done(distilling.requeued_words(done), None, await _undo_id(visitor, done.again[0], request_id)))


async def _undo_id(visitor: Visitor, ref: str, request_id: str) -> UUID | None:
    """What one of them tells of the click names the group of them all."""
    if not visitor.may("memory_undo"):
        return None
    found = await visitor.ask(
        "memory_get",
        lambda visit: look.look(visit.butler, MemoryType.EPISODE, ref, visit.caller, bump=False),
    )
    mine = [event for event in found.events if event.request_id == request_id]
    return (mine[-1].group_id or mine[-1].id) if mine else None
