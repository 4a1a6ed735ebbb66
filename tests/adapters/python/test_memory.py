"""The Python facade: the same methods in process and remote, with and without asyncio."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.service import Service, serving

from memory_butler import AsyncMemory, Memory
from memory_butler.errors import NotFound, TargetUnavailable
from memory_butler.models import Role
from memory_butler.resources import Resources

Opener = Callable[[], AsyncMemory]


@pytest.fixture
async def service(resources: Resources) -> AsyncIterator[Service]:
    async with serving(resources) as opened:
        yield opened


@pytest.fixture(params=["in process", "remote"])
async def memory(
    request: pytest.FixtureRequest, home: Path, tenant: str, service: Service
) -> AsyncIterator[AsyncMemory]:
    if request.param == "remote":
        opened = AsyncMemory(service.url, token=await service.token(tenant, Role.ADMIN, "main"))
    else:
        opened = AsyncMemory(home=str(home), tenant=tenant, upkeep={"worker": False})
    async with opened:
        yield opened


async def test_a_first_memory_takes_three_lines(memory: AsyncMemory) -> None:
    """Notes, facts and rules are stored, found, briefed, confirmed and forgotten; results print readably."""
    note = await memory.remember("Ana is allergic to shellfish")
    assert str(note).startswith("created fact:")
    await memory.remember_fact("Ana", "does_not_eat:meat", "Ana eats no meat.", importance=8)
    rule = await memory.remember_rule("Ask Ana before booking a restaurant.")
    assert (await memory.confirm(rule.ref)).type == "rule"
    found = await memory.search("what can't Ana eat?", min_relevance=0)
    assert len(found) >= 2 and any("shellfish" in str(one) for one in found)
    assert "shellfish" in str(found)
    assert "shellfish" in str(await memory.briefing("Cook dinner for Ana"))
    [diet] = [one for one in found if "meat" in one.hit.content]
    assert str(diet) == f"Ana · does not eat: Ana eats no meat. [{diet.ref}]"
    assert str(await memory.get(diet.ref)).startswith("Ana · does not eat: Ana eats no meat. [fact:")
    assert (await memory.confirm(diet.ref)).outcome == "confirmed"
    assert (await memory.update(diet.ref, importance=9)).outcome == "updated"
    assert (await memory.correct(diet.ref, "Ana eats fish, but no meat.")).outcome == "corrected"
    assert (await memory.forget(note.ref)).outcome == "retracted"
    assert (await memory.restore(f"fact:{note.ref}")).outcome == "restored"
    assert (await memory.get(f"fact:{note.ref}")).memory.content == "Ana is allergic to shellfish"
    with pytest.raises(NotFound):
        await memory.confirm("fact:zzzz")


async def test_memories_are_linked_found_by_tag_and_print_readably(memory: AsyncMemory) -> None:
    tea = await memory.remember_fact("Ana", "drink", "Ana likes green tea.", tags=("food",))
    rule = await memory.remember_rule("Offer tea.", tags=("food", "guests"))
    assert (await memory.link(f"fact:{tea.ref}", "supports", f"rule:{rule.ref}")).outcome == "linked"
    assert [one.hit.id for one in await memory.search("tea", tags=("guests",), min_relevance=0)] == [rule.id]
    first, *rest = str(await memory.get(f"fact:{tea.ref}")).splitlines()
    assert first == f"Ana · drink: Ana likes green tea. [fact:{tea.ref}] active"
    assert f"out supports: rule:{rule.ref}" in rest
    assert "Linked by " in rest[-1] and rest[-1].endswith("main: supports another memory.")


async def test_a_session_leaves_what_was_observed(memory: AsyncMemory) -> None:
    """The briefing comes first; the episode holds the observations, and consolidation distils it."""
    await memory.remember_fact("Shopfront", "deploy_day", "Shopfront is deployed on Mondays.")
    async with memory.session("Deploy Shopfront") as session:
        assert "Mondays" in session.context
        session.observe("Deployed Shopfront 2.1.")
        session.observe("Remember that the user prefers green tea.")
    assert session.degraded is None and session.stored
    episode = (await memory.get(f"episode:{session.stored.ref}")).memory
    assert episode.content == "Deployed Shopfront 2.1.\nRemember that the user prefers green tea."
    done = await memory.consolidate()
    assert done.episodes == 1 and not done.more and "1 episode: " in str(done)


async def test_a_session_goes_on_without_memory() -> None:
    """A server that is away is named, and the work inside the block is not disturbed."""
    async with AsyncMemory("http://127.0.0.1:9") as memory:
        async with memory.session("Anything", deadline_seconds=0.5) as session:
            assert session.context == "" and session.degraded
        with pytest.raises(TargetUnavailable):
            await memory.search("anything")


async def test_a_session_goes_on_if_the_store_does_not_open(tmp_path: Path) -> None:
    """Also in process: a database that is not there is named, and nothing is raised."""
    nowhere = "postgresql://memory@127.0.0.1:9/memory"
    async with AsyncMemory(home=str(tmp_path), database_url=nowhere).session("Anything") as session:
        session.observe("Worked without memory.")
    assert session.context == "" and session.stored is None
    assert session.degraded and session.degraded.startswith("open: target_unavailable: ")


@pytest.fixture
def blocking(home: Path, tenant: str) -> Iterator[Memory]:
    with Memory(home=str(home), tenant=tenant, upkeep={"worker": False}) as memory:
        yield memory


def test_the_same_without_asyncio(blocking: Memory) -> None:
    """From plain code, and from code that runs inside an event loop of its own."""
    blocking.remember("I like tea")
    assert "I like tea" in str(blocking.search("tea", min_relevance=0))
    with blocking.session("Make tea") as session:
        session.finish("Made tea.")
    assert session.stored and session.degraded is None

    async def inside() -> str:
        return str(blocking.briefing("Make tea"))

    assert "tea" in asyncio.run(inside())
    blocking.close()
    blocking.close()
    with pytest.raises(RuntimeError, match="closed"):
        blocking.search("tea")


def test_both_have_the_same_methods() -> None:
    """Name by name, with the same parameters and the same words."""

    def public(kind: Any) -> dict[str, Any]:
        return {name: one for name, one in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}

    ours, theirs = public(Memory), public(AsyncMemory)
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"close", "session"}:
        assert inspect.signature(ours[name]) == inspect.signature(theirs[name])
        assert ours[name].__doc__ == theirs[name].__doc__


def test_settings_are_not_for_servers() -> None:
    with pytest.raises(TypeError, match="home: settings apply in process"):
        AsyncMemory("http://127.0.0.1:8150", home="/nowhere")
