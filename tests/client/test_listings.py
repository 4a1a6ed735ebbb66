"""Lists and batches of the client, against the real server."""

from dataclasses import replace

import pytest
from tests.client.scripted import answer, scripted

from memory_butler import BriefRequest, Lineage, NewEpisode, NewFact
from memory_butler.client import MemoryClient, listings
from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import MemoryType, Tier
from memory_butler.models.listings import Listing, Sort
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import get
from memory_butler.resources import Resources


async def test_a_list_is_walked_to_its_end(memory: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it once, in order, however small the pages are."""
    monkeypatch.setattr(listings, "PAGE", 2)
    for number in range(5):
        await memory.store_fact(NewFact(subject="Anna", predicate=f"likes:{number}", content=f"Tea number {number}."))
    wanted = Listing(type=MemoryType.FACT, descending=False)
    found = [listed async for listed in memory.memories(wanted, lineage=Lineage(request_id="r"))]
    assert [listed.memory.content for listed in found] == [f"Tea number {number}." for number in range(5)]
    assert {listed.tier for listed in found} == {Tier.MID}
    page = await memory.memories_page(wanted, limit=3)
    assert (len(page.items), page.total) == (3, 5) and page.cursor
    rest = await memory.memories_page(wanted, limit=3, cursor=page.cursor)
    assert (len(rest.items), rest.cursor) == (2, None)


async def test_jobs_of_all_butlers_are_in_one_list(memory: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page after page is asked for, and each job is there once."""
    for whose in ("main", "coder"):
        await memory.store_episode(NewEpisode(content="Anna came by.", butler=whose))
    whole = await memory.jobs()
    monkeypatch.setattr(listings, "PAGE", 2)
    assert await memory.jobs() == whole
    assert len(whole) == len({(job["job"], job["butler"]) for job in whole}) == 6


async def test_every_filter_of_a_list_reaches_the_server(memory: MemoryClient) -> None:
    """What does not fit is not listed, for each filter by itself."""
    tea = NewFact(subject="Anna", predicate="drink", content="Green tea.", tags=("food", "hot"), importance=9)
    await memory.store_fact(replace(tea, permanence="stable"))
    await memory.store_fact(NewFact(subject="Ben", predicate="cup", content="A blue cup.", importance=2))
    fact = Listing(type=MemoryType.FACT)
    for wanted in (
        replace(fact, subject="Anna"),
        replace(fact, predicate="drink"),
        replace(fact, tags=("food", "hot")),
        replace(fact, importance_min=8),
        replace(fact, permanence=("stable",)),
        replace(fact, contains="green"),
        replace(fact, words="tea green"),
    ):
        assert [listed.memory.content async for listed in memory.memories(wanted)] == ["Green tea."], wanted
    rising = replace(fact, sort=Sort.IMPORTANCE, descending=False)
    assert [listed.memory.importance async for listed in memory.memories(rising)] == [2, 9]
    assert [listed async for listed in memory.memories(replace(fact, validity=("expired",)))] == []
    with pytest.raises(InvalidInput):
        await memory.memories_page(fact, limit=100_000)


async def test_history_and_links_of_a_memory(memory: MemoryClient, resources: Resources) -> None:
    """The same as the memory's portrait shows."""
    episode = await memory.store_episode(NewEpisode(content="Anna came by.", butler="main"))
    fact = await memory.store_fact(
        NewFact(subject="Anna", predicate="drink", content="Tea.", source_episode=f"episode:{episode.ref}")
    )
    await memory.confirm("fact", fact.ref)
    seen = await get.get(resources, "fact", fact.ref)
    told = [event async for event in memory.history("fact", fact.id)]
    assert [(event.id, event.words) for event in told] == [(line.event.id, line.words) for line in seen.story]
    linked = [link async for link in memory.links("fact", f"fact:{fact.ref}")]
    assert [(link.direction, link.relation, link.ref) for link in linked] == [
        ("out", "derived_from", f"episode:{episode.ref}")
    ]
    with pytest.raises(NotFound):
        _ = [event async for event in memory.history("fact", "../../x?y#z")]


async def test_work_in_the_background(memory: MemoryClient, resources: Resources) -> None:
    """Jobs, runs, what was given up and tokens are listed; what is not there is not found."""
    assert [run async for run in memory.runs(state="waiting")] == []
    assert [episode async for episode in memory.dead_letters(butler="main")] == []
    assert [token async for token in memory.tokens()] == []
    with pytest.raises(NotFound):
        await memory.run("0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d")
    episode = await memory.store_episode(NewEpisode(content="Anna came by.", butler="main"))
    assert {(job["job"], job["butler"]) for job in await memory.jobs()} >= {("sweep", "main")}
    assert await memory.jobs(butler="nobody") == []
    with pytest.raises(Conflict, match="is already pending"):
        await memory.requeue(episode.id)


async def test_many_episodes_at_once(memory: MemoryClient, resources: Resources) -> None:
    """Each has its own outcome; one that is refused is no matter to the others, and a key used again is a repeat."""
    new = [
        NewEpisode(content="Anna came by.", butler="main", idempotency_key="one"),
        NewEpisode(content=" ", butler="main"),
        NewEpisode(content="Anna left.", butler="main"),
    ]
    first, refused, last = await memory.ingest_batch(new, lineage=Lineage(request_id="r"))
    assert first.stored and last.stored and not (first.repeated or last.repeated)
    assert isinstance(refused.problem, InvalidInput) and refused.stored is None
    kept = (await get.get(resources, "episode", str(last.stored.id))).memory
    assert (kept.content, kept.request_id) == ("Anna left.", "r")
    again = (await memory.ingest_batch(new[:1]))[0]
    assert again.repeated and again.stored and again.stored.id == first.stored.id


async def test_many_blocks_at_once(memory: MemoryClient, resources: Resources) -> None:
    """Each is what it would be by itself, and what is wrong with one is told for that one."""
    await memory.store_fact(NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea."))
    asked = BriefRequest(trigger_prompt="green tea", butler="main", token_budget=300)
    good, bad = await memory.context_batch([asked, replace(asked, trigger_prompt=" ")])
    assert good.briefing and good.briefing.text == (await brief.brief(resources, asked)).text
    assert isinstance(bad.problem, InvalidInput) and bad.briefing is None


async def test_a_list_that_goes_in_circles_ends() -> None:
    """A page that names itself as the next is the last one."""
    async with scripted([answer(items=[], cursor="same")]) as server, MemoryClient(server.url) as memory:
        assert [run async for run in memory.runs()] == []
        assert len(server.requests) == 2
