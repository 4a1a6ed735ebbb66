"""Actions on many memories: one group of events, whatever each of them did."""

import uuid

from memory_butler.models import Caller, Lineage, MemoryType, NewFact
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.history import undo
from memory_butler.operations.writing import forget, pin, remember
from memory_butler.resources import Resources


async def test_calls_of_one_group_are_undone_as_one(resources: Resources) -> None:
    """Two memories forgotten and one pinned, each in its own transaction, come back with one undo."""
    refs = [
        (await remember.fact(resources, NewFact(subject="Ana", predicate=name, content=name))).ref
        for name in ("tea", "car", "city")
    ]
    local = resources.local_caller()
    caller = Caller(local.principal, Lineage(request_id="bulk"), group_id=(group := uuid.uuid4()))
    await forget.forget(resources, "fact", refs[0], caller)
    await forget.forget(resources, "fact", refs[1], caller)
    await pin.pin(resources, "fact", refs[2], caller)
    assert (await undo.undo(resources, group)).undone == 3
    live = (await listings.memories(resources, Listing(type=MemoryType.FACT, validity=("active",)))).items
    assert {one.memory.ref for one in live} == {*refs}
    assert not any(one.memory.pinned for one in live)
