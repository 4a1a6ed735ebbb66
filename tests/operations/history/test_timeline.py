"""The timeline: what happened, from the end, as those who may see it can read it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.conftest import MovingClock

from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Principal, Question, Role
from memory_butler.models.history import Timeline, TimelineFilter
from memory_butler.operations.history import undo
from memory_butler.operations.history.timeline import timeline
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.policy.history.activity import summarize
from memory_butler.resources import Resources
from memory_butler.store.history import timeline as log

EVERYTHING = TimelineFilter()


def told(found: Timeline) -> list[str]:
    """Each entry by its last event, with how many belong together."""
    return [
        f"{one.lines[-1].activity.event.event_type}{f' x{one.together}' if one.together > 1 else ''}"
        for one in found.entries
    ]


async def live(resources: Resources, clock: MovingClock) -> None:
    """A little of everything, over a month."""
    for name in ("health", "coder"):
        await remember.episode(resources, NewEpisode(content="slept badly", butler=name))
        await remember.fact(resources, NewFact(subject=name, predicate="likes_to:drink", content="tea", scope=name))
    clock.move(days=1)
    person = Caller(Principal(resources.settings.tenant, "main", Role.ADMIN, name="Ada Lovelace"))
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"), person)
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"), person)
    await search.search(resources, Question(query="tea", min_relevance=0))
    clock.move(days=30)
    await sweep.sweep(resources)
    clock.move(minutes=1)


async def test_it_begins_with_the_newest_and_groups_what_belongs_together(
    resources: Resources, clock: MovingClock
) -> None:
    """A group is one entry at its last event, with its lines and a sum; all words are those of the activity."""
    await live(resources, clock)
    found = await timeline(resources, EVERYTHING)
    assert told(found) == [
        "episode.deleted", "episode.deleted", "memory.referenced", "fact.created x2", "fact.created", "fact.created",
        "episode.created", "fact.created", "episode.created",
    ] and found.cursor is None  # fmt: skip
    pair = found.entries[3]
    assert [line.activity.words for line in pair.lines] == [
        f"Superseded by {pair.lines[1].activity.ref}.", "Stored by Ada Lovelace."
    ]  # fmt: skip
    assert [line.about for line in pair.lines] == ["Anna's tea: green", "Anna's tea: black"]
    assert found.entries[0].lines[0].about is None
    # Whose memories upkeep looked after is said; where somebody acts, it is they who are named.
    assert {one.butler for one in found.entries[:2]} == {"health", "coder"} and pair.butler is None
    assert found.entries[5].lines[0].about == "coder likes to drink: tea"
    assert pair.words == "1 fact stored, 1 fact superseded" and pair.undo_id == pair.group_id
    # What was read, and what happened to what has been deleted since, cannot be taken back.
    assert [bool(one.undo_id) for one in found.entries] == [False] * 3 + [True] * 3 + [False, True, False]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (TimelineFilter(actions=("superseded",)), ["fact.created x2"]),
        (TimelineFilter(kinds=("reference",)), ["memory.referenced"]),
        (TimelineFilter(kinds=("episode",), actions=("created",)), ["episode.created", "episode.created"]),
        (TimelineFilter(actor="lovelace"), ["fact.created x2", "fact.created"]),
        (TimelineFilter(scope="coder"), ["episode.deleted", "fact.created", "episode.created"]),
        (TimelineFilter(scope="global", actions=("created",)), ["fact.created x2", "fact.created"]),
        (TimelineFilter(actor="nobody"), []),
    ],
)
async def test_it_is_narrowed_down(
    resources: Resources, clock: MovingClock, wanted: TimelineFilter, expected: list[str]
) -> None:
    """By what happened, to what, by whom, in which scope. A group is told whole, where one of it is asked for."""
    await live(resources, clock)
    assert told(await timeline(resources, wanted)) == expected


async def test_one_memory_one_group_and_one_day_can_be_told(resources: Resources, clock: MovingClock) -> None:
    """By a reference with or without its type, or an id; a group event by event; up to a moment."""
    await live(resources, clock)
    pair = (await timeline(resources, EVERYTHING)).entries[3]
    old = pair.lines[0].activity
    assert old.ref
    for ref in (old.ref, old.ref.partition(":")[2], f"[{old.ref.upper()}]", str(old.event.entity_id)):
        found = await timeline(resources, TimelineFilter(ref=ref))
        assert [one.together for one in found.entries] == [2, 1]
    inside = await timeline(resources, TimelineFilter(group=str(pair.group_id)))
    assert told(inside) == ["fact.created", "fact.superseded"] and all(one.undo_id for one in inside.entries)
    early = await timeline(resources, TimelineFilter(until=datetime.fromisoformat("2026-03-02T00:00:00+00:00")))
    assert told(early) == ["fact.created", "episode.created", "fact.created", "episode.created"]
    assert (await timeline(resources, TimelineFilter(ref="fact:zzzz"))).entries == ()
    for wrong in (TimelineFilter(ref="the fact about tea"), TimelineFilter(group="x"), TimelineFilter(scope="!")):
        with pytest.raises(InvalidInput):
            await timeline(resources, wrong)


@pytest.mark.parametrize("piece", [1, 3, 5000])
async def test_pages_of_any_size_tell_the_same(
    resources: Resources, clock: MovingClock, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """However the log is cut, by the reader or by how much is looked through at once: nothing is lost or doubled."""
    await live(resources, clock)
    whole = await timeline(resources, EVERYTHING)
    monkeypatch.setattr(log, "PIECE", piece)
    for limit in (1, 2, 4):
        found, cursor = [], None
        while True:
            page = await timeline(resources, EVERYTHING, limit=limit, cursor=cursor)
            found += page.entries
            cursor = page.cursor
            if cursor is None:
                break
        assert found == list(whole.entries)
    with pytest.raises(InvalidInput, match="cursor"):
        page = await timeline(resources, EVERYTHING, limit=1)
        await timeline(resources, TimelineFilter(actor="main"), cursor=page.cursor)


async def test_a_long_search_asks_before_it_goes_on(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many events without one that is asked for there is an answer, and a cursor that goes on."""
    monkeypatch.setattr(log, "PIECE", 2)
    monkeypatch.setattr("memory_butler.operations.history.timeline.ROUNDS", 2)
    wanted = await remember.rule(resources, NewRule(content="the one"))
    for number in range(6):
        await remember.episode(resources, NewEpisode(content=f"day {number}", butler="main"))
    first = await timeline(resources, TimelineFilter(kinds=("rule",)))
    assert first.entries == () and first.cursor
    second = await timeline(resources, TimelineFilter(kinds=("rule",)), cursor=first.cursor)
    assert [one.lines[0].activity.ref for one in second.entries] == [f"rule:{wanted.ref}"] and second.cursor is None


async def test_what_was_undone_says_so_and_offers_no_undo(resources: Resources) -> None:
    """An event, and a whole group; undoing is an entry of its own, which can be undone."""
    fact = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    await feedback.confirm(resources, MemoryType.FACT, fact.ref)
    await forget.forget(resources, MemoryType.FACT, fact.ref)
    gone = (await timeline(resources, EVERYTHING)).entries[0]
    assert gone.undo_id
    await undo.undo(resources, gone.undo_id)
    found = (await timeline(resources, EVERYTHING)).entries
    assert [one.undone for one in found] == [False, True, False, False]
    assert [bool(one.undo_id) for one in found] == [True, False, True, True]
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"))
    pair = (await timeline(resources, EVERYTHING)).entries[0]
    assert pair.undo_id
    assert (await undo.undo(resources, pair.undo_id)).undone == 2
    found = (await timeline(resources, EVERYTHING)).entries
    assert (found[0].together, found[0].words) == (2, "2 facts undone")
    assert found[1].place == pair.place and found[1].undone and found[1].undo_id is None


async def test_agents_read_what_they_may_see(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller], tenant: str
) -> None:
    """Their own butler's and what is global, without undo; other scopes are refused."""
    await live(resources, clock)
    for who in (agent("health"), Caller(Principal(tenant, "health", Role.READER))):
        found = await timeline(resources, EVERYTHING, who)
        owners = {
            state.get("scope") or state["butler"]
            for one in found.entries
            for line in one.lines
            if (state := line.activity.event.payload["state"])
        }
        assert owners == {"health", "global"}
        assert not any(one.undo_id for one in found.entries)
        with pytest.raises(PermissionDenied):
            await timeline(resources, TimelineFilter(scope="coder"), who)
    group = next(one for one in (await timeline(resources, EVERYTHING)).entries if one.together == 2)
    hidden = replace(agent("coder"), principal=Principal(f"{tenant}x", "coder", Role.ADMIN))
    assert (await timeline(resources, TimelineFilter(group=str(group.group_id)), hidden)).entries == ()


async def test_a_large_group_shows_its_last_lines(resources: Resources, clock: MovingClock) -> None:
    """Of many that faded together the last few are told, and how many there were in all."""
    for number in range(8):
        await remember.fact(resources, NewFact(subject=f"s{number}", predicate="p", content="x", permanence="volatile"))
    clock.move(days=60)
    await sweep.sweep(resources)
    entry = (await timeline(resources, EVERYTHING, limit=1)).entries[0]
    assert (entry.together, len(entry.lines), entry.words) == (8, log.LINES, "8 facts faded")
    assert entry.lines[0].activity.event.occurred_at == clock() - timedelta(0)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"fact.created": 1}, "1 fact stored"),
        ({"fact.faded": 2, "rule.expired": 1200}, "1,200 rules expired, 2 facts faded"),
        ({"alias.created": 2, "episode.dead_lettered": 2}, "2 aliases stored, 2 episodes dead-lettered"),
        ({"fact.something_new": 1}, "1 fact something new"),
    ],
)
def test_a_group_is_summed_up(counts: dict[str, int], words: str) -> None:
    """How many of which kind were what, the most first."""
    assert summarize(counts) == words
