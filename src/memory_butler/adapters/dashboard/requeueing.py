"""Saying which episodes wait to be distilled again, with the way back."""

from nicegui import ui

from memory_butler.adapters.dashboard import distilling
from memory_butler.adapters.dashboard.acting import Done, undo_id_of
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.models import MemoryType
from memory_butler.operations.dead_letters import Requeued


async def tell_requeued(visitor: Visitor, bar: UndoBar, done: Requeued, request_id: str) -> None:
    """What was put in line can be taken out of it again, until it is distilled. One of them names the group of all."""
    if done.left:
        ui.notify(text_of(distilling.left_words(done)), type="warning", position="bottom")
    if done.again:
        undo_id = await undo_id_of(visitor, MemoryType.EPISODE, done.again[0], request_id)
        bar.offer(Done(distilling.requeued_words(done), None, undo_id))
