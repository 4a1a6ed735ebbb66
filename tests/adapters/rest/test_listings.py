"""Lists of memories for people: filters, order, pages, totals; history and links; and whose they are."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.adapters.rest.conftest import BASE, Door, pages, problem_of
from tests.conftest import MovingClock

from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, NewToken, Principal, Role
from memory_butler.operations.access import tokens
from memory_butler.operations.browse import listings
from memory_butler.operations.browse.cursors import Cursors
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.resources import Resources

WEEK = timedelta(days=7)


@pytest.fixture
async def shelf(resources: Resources, clock: MovingClock) -> dict[str, str]:
    """Some memories, a day apart, by a name for each."""

    async def fact(subject: str, content: str, **more: Any) -> str:
        clock.move(days=1)
        new = NewFact(subject=subject, predicate=f"note {content[:9]}", content=content, **more)
        return f"fact:{(await remember.fact(resources, new)).ref}"

    refs = {
        "green": await fact("Anna", "Anna likes green.", importance=3, tags=("color",), permanence="stable"),
        "tea": await fact("Anna", "Anna drinks GREEN tea.", importance=9, tags=("drink", "color")),
        "meeting": await fact("Ben", "Ben met Carla.", valid_at=clock() - WEEK, importance=5),
        "secret": await fact("Ben", "Ben codes at night.", scope="coder", permanence="volatile"),
        "gone": await fact("Dora", "Dora moved away.", importance=5),
    }
    await forget.forget(resources, "fact", refs["gone"])
    await feedback.confirm(resources, "fact", refs["green"])
    await pin.pin(resources, "fact", refs["tea"])
    rule = await remember.rule(resources, NewRule(content="Ask before deleting anything."))
    episode = await remember.episode(resources, NewEpisode(content="Chose tea for the office.", butler="main"))
    coders = await remember.episode(resources, NewEpisode(content="Fixed a bug.", butler="coder", importance=8))
    return {**refs, "rule": f"rule:{rule.ref}", "office": f"episode:{episode.ref}", "bug": f"episode:{coders.ref}"}


async def names(web: httpx.AsyncClient, shelf: dict[str, str], path: str) -> list[str]:
    """What a list holds, by the names of the shelf."""
    reply = await web.get(path)
    assert reply.status_code == 200, reply.text
    by_ref = {ref: name for name, ref in shelf.items()}
    body = reply.json()
    assert body["total"] == len(body["items"]) and body["cursor"] is None
    return [by_ref[item["ref"]] for item in body["items"]]


LISTS: dict[str, list[str]] = {
    "fact": ["gone", "meeting", "tea", "green"],
    "fact?scope=*": ["gone", "secret", "meeting", "tea", "green"],
    "fact?scope=global&order=asc": ["green", "tea", "meeting", "gone"],
    "facts?scope=coder": ["secret"],
    "fact?butler=coder": ["gone", "secret", "meeting", "tea", "green"],
    "fact?learned_by=main&subject=anna": ["tea", "green"],
    "fact?learned_by=coder": [],
    "fact?subject=anna": ["tea", "green"],
    "fact?subject=ANNA&predicate=note-anna-like": ["green"],
    "fact?validity=active": ["meeting", "tea", "green"],
    "fact?validity=retracted&validity=expired": ["gone"],
    "fact?permanence=stable": ["green"],
    "fact?tier=long": ["green"],
    "fact?tier=mid&permanence=stable": [],
    "fact?tag=color": ["tea", "green"],
    "fact?tag=Color&tag=drink": ["tea"],
    "fact?importance_min=5&importance_max=8": ["gone", "meeting"],
    "fact?contains=green": ["tea", "green"],
    "fact?contains=%25": [],
    "fact?words=tea+anna": ["tea"],
    "fact?words=tea+carla": [],
    "fact?time_to=2026-03-01T00:00:00Z": ["meeting"],
    "fact?time_from=2026-03-03T09:00:00+00:00&time_to=2026-03-04T09:00:00Z": ["tea"],
    "fact?sort=observed": ["gone", "tea", "green", "meeting"],
    "fact?sort=importance": ["tea", "meeting", "gone", "green"],
    "fact?sort=importance&order=asc&validity=active": ["green", "meeting", "tea"],
    "fact?sort=confidence&validity=active": ["green", "tea", "meeting"],
    "rule": ["rule"],
    "rule?maturity=candidate&tier=mid&sort=confidence": ["rule"],
    "rule?maturity=proven": [],
    "episode": ["bug", "office"],
    "episode?butler=coder": ["bug"],
    "episode?scope=global": [],
    "episodes?tier=eden&sort=importance": ["bug", "office"],
    "episode?contains=TEA": ["office"],
}


async def test_what_is_asked_for_is_listed(web: httpx.AsyncClient, shelf: dict[str, str]) -> None:
    """Every filter and every order, alone and together; equals stand in the order of their ids."""
    found = {path: await names(web, shelf, f"/memories/{path}") for path in LISTS}
    pairs = {"fact?sort=importance", "fact?sort=confidence&validity=active"}
    assert {path: listed for path, listed in found.items() if path not in pairs} == {
        path: listed for path, listed in LISTS.items() if path not in pairs
    }
    assert {path: sorted(found[path]) for path in pairs} == {path: sorted(LISTS[path]) for path in pairs}
    assert found["fact?sort=importance"][0] == "tea" and found["fact?sort=importance"][-1] == "green"
    assert found["fact?sort=confidence&validity=active"][-1] == "meeting"


BAD = {
    "meal": 422,
    "fact?color=green": 422,
    "fact?maturity=proven": 422,
    "rule?subject=Anna": 422,
    "rule?sort=importance": 422,
    "episode?sort=confidence": 422,
    "episode?tier=long": 422,
    "fact?sort=taste": 422,
    "fact?validity=dead": 422,
    "fact?limit=0": 422,
    "fact?limit=101": 422,
    "fact?limit=many": 422,
    "fact?importance_min=11": 422,
    "fact?contains=": 422,
    "fact?contains=a%00b": 422,
    "fact?subject=%00": 422,
    "fact?time_from=2026-03-01": 422,
    "fact?time_from=2026-03-02T00:00:00Z&time_to=2026-03-01T00:00:00Z": 422,
    "fact?scope=not%20a%20scope!": 422,
    "fact?cursor=x": 422,
    "fact/zzzz": 404,
    "fact/not-a-reference!": 422,
    "fact/rule:k3f7": 422,
    "fact/zzzz/history": 404,
    "fact/zzzz/links": 404,
}


async def test_what_makes_no_sense_is_refused(web: httpx.AsyncClient) -> None:
    """It is never an empty list: each is told what is wrong."""
    found = {path: problem_of(await web.get(f"/memories/{path}"))[0] for path in BAD}
    assert found == BAD


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", ["created", "importance", "confidence", "last_referenced", "observed"])
async def test_pages_hold_everything_once(
    web: httpx.AsyncClient, resources: Resources, clock: MovingClock, sort: str, order: str
) -> None:
    """Also where many are equal, and while new ones are stored and time goes by; the total stays the first page's."""
    for n in range(7):
        clock.move(seconds=n % 2)
        await remember.fact(
            resources, NewFact(subject=f"s{n}", predicate="p", content=f"Fact {n}.", importance=1 + n % 2)
        )
    before = [item["id"] for item in (await web.get(f"/memories/fact?sort={sort}&order={order}")).json()["items"]]
    listed: list[str] = []
    totals = []
    async for page in pages(web, "/memories/fact", sort=sort, order=order, limit=2):
        listed += [item["id"] for item in page["items"]]
        totals.append(page["total"])
        clock.move(days=30)
        new = NewFact(subject=f"late {len(listed)}", predicate="p", content="Stored in between.", importance=5)
        if (sort, order) == ("created", "desc"):
            await remember.fact(resources, new)
    assert listed == before
    assert totals == [7] * 4


async def test_a_cursor_is_good_for_its_own_list_only(
    web: httpx.AsyncClient, shelf: dict[str, str], resources: Resources
) -> None:
    """Changed by a letter, cut short, with other filters, another order or in another list it is refused."""
    cursor = (await web.get("/memories/fact?limit=1")).json()["cursor"]
    assert (await web.get(f"/memories/fact?limit=3&cursor={cursor}")).status_code == 200
    changed = [cursor[:n] + ("A" if cursor[n] != "A" else "B") + cursor[n + 1 :] for n in range(0, len(cursor), 7)]
    for other in (*changed, cursor[:-3], cursor + "AAAA", "A" * 1001):
        assert problem_of(await web.get("/memories/fact", params={"cursor": other})) == (422, "validation_error")
    for path in (
        "fact?order=asc",
        "fact?subject=anna",
        "fact?sort=importance",
        "rule",
        "fact/" + shelf["tea"] + "/links",
    ):
        joint = "&" if "?" in path else "?"
        assert problem_of(await web.get(f"/memories/{path}{joint}cursor={cursor}")) == (422, "validation_error")


async def test_a_cursor_that_somebody_made_up_is_refused(web: httpx.AsyncClient, resources: Resources) -> None:
    """One can be made that passes for the list's own: what is in it is looked at all the same."""
    seen = await remember.episode(resources, NewEpisode(content="Anna said so.", butler="main"))
    cursors = Cursors(f"links of {seen.id}", resources.settings.tenant)
    now, nobody = resources.clock().isoformat(), str(seen.id)
    for place in ([now, "\0", nobody, nobody], [now, "likes", nobody, nobody], [now, "supports", nobody], [0, 1, 2, 3]):
        reply = await web.get(f"/memories/episode/{seen.ref}/links", params={"cursor": cursors.encode(place)})
        assert problem_of(reply) == (422, "validation_error")
    good = cursors.encode([now, "supports", nobody, nobody])
    assert (await web.get(f"/memories/episode/{seen.ref}/links", params={"cursor": good})).status_code == 200


async def test_very_many_are_not_counted(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, web: httpx.AsyncClient
) -> None:
    """Beyond the bound it is said that there are more, on every page."""
    monkeypatch.setattr(listings, "MAX_COUNT", 3)
    for n in range(4):
        await remember.rule(resources, NewRule(content=f"Rule number {n}."))
        found = (await web.get("/memories/rule?limit=1")).json()
    assert (found.get("total"), found["total_at_least"]) == (None, 3)
    last = [page async for page in pages(web, "/memories/rule", limit=3)][-1]
    assert (last.get("total"), last["total_at_least"], len(last["items"])) == (None, 3, 1)


async def test_one_memory_with_its_history_and_links(
    web: httpx.AsyncClient, resources: Resources, clock: MovingClock
) -> None:
    """History and links come in pages that together say what the memory says whole; looking counts as no use."""
    source = await remember.episode(resources, NewEpisode(content="Anna said so.", butler="main"))
    for color in ("green", "blue", "red"):
        clock.move(days=1)
        new = NewFact(subject="Anna", predicate="color", content=color, source_episode=source.ref)
        stored = await remember.fact(resources, new)
    await feedback.confirm(resources, "fact", stored.ref)
    await pin.pin(resources, "fact", stored.ref)
    whole = (await web.get(f"/memories/fact/{stored.ref}")).json()
    events = [
        e async for page in pages(web, f"/memories/fact/fact:{stored.ref}/history", limit=1) for e in page["items"]
    ]
    links = [one async for page in pages(web, f"/memories/fact/{stored.id}/links", limit=1) for one in page["items"]]
    assert [event["event"] for event in events] == ["fact.created", "fact.confirmed", "fact.pinned"]
    assert (events, links) == (whole["events"], whole["links"])
    assert {link["relation"] for link in links} == {"derived_from", "supersedes"}
    of_source = (await web.get(f"/memories/episode/{source.ref}/links")).json()["items"]
    assert [link["direction"] for link in of_source] == ["in"] * 3
    assert (await web.get(f"/memories/fact/{stored.ref}")).json()["memory"]["reference_count"] == 0


async def test_each_sees_its_own(guarded: Door, resources: Resources, shelf: dict[str, str], tenant: str) -> None:
    """An agent lists what is everybody's and its own, a reader too; nobody without a token sees anything, and another
    tenant's administrator has an empty shelf."""
    guarded.switch.resources = resources
    operator = Caller(Principal(tenant, "main", Role.OPERATOR))
    shown = {}
    for name, whose, butler_name, role in (
        ("agent", tenant, "coder", "agent"),
        ("reader", tenant, "main", "reader"),
        ("admin", tenant, "main", "admin"),
        ("stranger", f"{tenant}x", "coder", "admin"),
    ):
        wanted = NewToken(tenant=whose, butler=butler_name, role=role)
        shown[name] = (await tokens.create(resources, wanted, operator))[1]
    async with httpx.AsyncClient(base_url=guarded.address + BASE) as web:
        assert problem_of(await web.get("/memories/fact")) == (401, "permission_denied")

        async def refs(name: str, path: str) -> set[str] | int:
            reply = await web.get(f"/memories/{path}", headers={"Authorization": f"Bearer {shown[name]}"})
            return {item["ref"] for item in reply.json()["items"]} if reply.status_code == 200 else reply.status_code

        everybodys = {shelf[name] for name in ("green", "tea", "meeting", "gone")}
        assert await refs("agent", "fact") == everybodys | {shelf["secret"]}
        assert await refs("agent", "episode") == {shelf["bug"]}
        assert await refs("reader", "fact") == everybodys
        assert await refs("reader", "episode") == {shelf["office"]}
        assert await refs("reader", "fact?scope=coder") == 403
        assert await refs("agent", "fact?scope=*") == 403
        assert await refs("agent", "fact?butler=main") == 403
        assert await refs("admin", "fact?scope=*") == everybodys | {shelf["secret"]}
        for path in ("fact?scope=*", "rule?scope=*", "episode"):
            assert await refs("stranger", path) == set()
        for path in ("secret", "office"):
            kind = shelf[path].partition(":")[0]
            for part in ("", "/history", "/links"):
                assert await refs("stranger", f"{kind}/{shelf[path]}{part}") == 404
        assert await refs("agent", f"episode/{shelf['office']}/history") == 404
