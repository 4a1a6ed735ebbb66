"""Governing a tenant over REST: jobs, runs and their review, dead letters, tokens; and who may do it."""

from typing import Any

import httpx
import psycopg
import pytest
from tests.adapters.conftest import choosing, note
from tests.adapters.rest.conftest import BASE, Door, pages, problem_of

from memory_butler.models import ConsolidationStatus, MemoryType, NewToken, Role
from memory_butler.operations.access import tokens
from memory_butler.operations.browse.cursors import Cursors
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import EpisodeStatus
from memory_butler.store.history import events
from memory_butler.store.history.events import Change

UNKNOWN = "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"


async def distil(resources: Resources, *told: str) -> None:
    for text in told:
        await note(resources, text)
    await consolidate(resources, shard_of(resources.settings.tenant, "main"))


async def test_jobs_are_listed(web: httpx.AsyncClient, resources: Resources) -> None:
    """Each job of each butler, with how it stands."""
    await note(resources, "Chose tea.")
    jobs = (await web.get("/jobs")).json()["items"]
    assert {(job["job"], job["butler"], job["status"]) for job in jobs} == {
        (job, "main", "never") for job in ("consolidation", "sweep", "cleanup")
    }


async def test_jobs_come_in_pages(web: httpx.AsyncClient, resources: Resources) -> None:
    """Butler by butler, in the order of the timetable, each job once; or one butler's alone. A cursor is good for its
    own list."""
    for whose in ("main", "coder", "chef"):
        await note(resources, "Chose tea.", whose)
    timetable = ("consolidation", "sweep", "cleanup")
    for most in (1, 2, 4, 9):
        found = [job async for page in pages(web, "/jobs", limit=most) for job in page["items"]]
        assert [(job["butler"], job["job"]) for job in found] == [
            (whose, job) for whose in ("chef", "coder", "main") for job in timetable
        ]
    only = (await web.get("/jobs?butler=coder")).json()
    assert ([(job["butler"], job["job"]) for job in only["items"]], only["cursor"]) == (
        [("coder", job) for job in timetable],
        None,
    )
    cursor = (await web.get("/jobs?limit=2")).json()["cursor"]
    for other in (f"/jobs?butler=coder&cursor={cursor}", f"/runs?cursor={cursor}", "/jobs?limit=0", "/jobs?cursor=x"):
        assert problem_of(await web.get(other)) == (422, "validation_error")
    made_up = Cursors("jobs of None", resources.settings.tenant)
    for place in (["coder", "gardening"], ["\0", "sweep"], ["coder"], [1, 2]):
        reply = await web.get("/jobs", params={"cursor": made_up.encode(place)})
        assert problem_of(reply) == (422, "validation_error")


async def test_a_list_that_takes_too_long_is_given_up(
    door: Door, web: httpx.AsyncClient, owner: psycopg.Connection[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the deadline the caller hears `timeout` and may try again; when the store answers, so does the list."""
    hurried = door.switch.settings.model_copy(update={"deadline_seconds": 0.5})
    monkeypatch.setattr(door.switch, "settings", hurried)
    with owner.transaction():
        owner.execute("LOCK TABLE memory.job_runs IN ACCESS EXCLUSIVE MODE")
        reply = await web.get("/jobs")
    assert (problem_of(reply), reply.json()["retryable"]) == ((504, "timeout"), True)
    monkeypatch.undo()
    assert (await web.get("/jobs")).status_code == 200


async def test_runs_are_listed_shown_and_undone(web: httpx.AsyncClient, resources: Resources) -> None:
    """The newest first, in pages; one with its items; and what it stored is taken back, but not by a look."""
    for text in ("I'm allergic to peanuts.", "I live in Porto."):
        await distil(resources, text)
        resources.clock.move(hours=1)  # type: ignore[attr-defined]
    whole = (await web.get("/runs")).json()["items"]
    first = (await web.get("/runs?limit=1")).json()
    second = (await web.get("/runs", params={"limit": 1, "cursor": first["cursor"]})).json()
    assert [*first["items"], *second["items"]] == whole
    assert (len(whole), second["cursor"]) == (2, None)
    assert (await web.get("/runs?state=waiting")).json()["items"] == []
    run = whole[0]["run"]
    shown = (await web.get(f"/runs/{run}")).json()
    assert [item["content"] for item in shown["items"]] == ["Porto"]
    for given in ({"dry_run": True}, {"skip_changed": True}):
        reply = await web.post(f"/runs/{run}/undo", json=given)
        assert (reply.status_code, reply.json()["undone"]) == (200, 1), reply.text
    assert problem_of(await web.post(f"/runs/{run}/undo")) == (409, "conflict")
    assert (await web.get(f"/runs/{run}")).json()["undone"]["undone"] == 1


async def test_a_proposal_is_decided(
    web: httpx.AsyncClient, resources: Resources, owner: psycopg.Connection[tuple[Any, ...]], tenant: str
) -> None:
    """Item by item or all that is left; what was approved is stored, under the request that approved it."""
    await distil(choosing(resources, review=True), "I'm allergic to peanuts. I live in Porto.")
    [waiting] = (await web.get("/runs?state=waiting")).json()["items"]
    path = f"/runs/{waiting['run']}"
    items = (await web.get(path)).json()["items"]
    porto = next(item["place"] for item in items if item["content"] == "Porto")
    assert problem_of(await web.post(f"{path}/approve", json={"items": [999]})) == (422, "validation_error")
    assert problem_of(await web.post(f"{path}/approve", json={"items": "all"})) == (422, "validation_error")
    rejected = (await web.post(f"{path}/reject", json={"items": [porto]})).json()
    assert (rejected["state"], rejected["counts"]["rejected"]) == ("waiting", 1)
    context = {"request_context": {"request_id": "decided", "session_id": "s-1"}}
    approved = (await web.post(f"{path}/approve", json=context)).json()
    assert (approved["state"], approved["request_id"]) == ("applied", "decided")
    assert [fact["content"] for fact in (await web.get("/memories/fact?scope=*")).json()["items"]] == ["peanuts"]
    assert problem_of(await web.post(f"{path}/approve")) == (409, "conflict")


@pytest.mark.parametrize("action", ["approve", "reject", "undo"])
async def test_there_is_no_such_run(web: httpx.AsyncClient, action: str) -> None:
    """An id that names no run is not found; what is no id is not valid."""
    assert problem_of(await web.post(f"/runs/{UNKNOWN}/{action}")) == (404, "not_found")
    assert problem_of(await web.post(f"/runs/latest/{action}")) == (422, "validation_error")


async def test_dead_letters_are_listed_and_requeued(
    web: httpx.AsyncClient, resources: Resources, owner: psycopg.Connection[tuple[Any, ...]], tenant: str
) -> None:
    """The oldest first, in pages, with the reason; requeued, an episode waits again and its event names the request."""
    refs = []
    for text, whose in (("Chose tea.", "main"), ("Fixed a bug.", "coder"), ("Chose beer.", "main")):
        refs.append(f"episode:{await note(resources, text, whose)}")
        resources.clock.move(minutes=1)  # type: ignore[attr-defined]
    listed = (await web.get("/memories/episode?order=asc")).json()["items"]
    caller, now = resources.local_caller(), resources.clock()
    async with resources.database.write(tenant, now) as transaction:
        dead = [
            EpisodeStatus(id=one["id"], status=ConsolidationStatus.DEAD_LETTER, attempts=5, error="It fell apart.")
            for one in listed
        ]
        await runs.set_status(transaction, dead)
        changes = [Change(MemoryType.EPISODE, one["id"], "dead_lettered") for one in listed]
        await events.record(transaction, audit_trail(resources, caller, now), changes)
    first = (await web.get("/dead_letters?limit=2")).json()
    second = (await web.get("/dead_letters", params={"limit": 2, "cursor": first["cursor"]})).json()
    found = [*first["items"], *second["items"]]
    assert [one["ref"] for one in found] == refs
    assert {one["last_consolidation_error"] for one in found} == {"It fell apart."}
    assert [one["ref"] for one in (await web.get("/dead_letters?butler=coder")).json()["items"]] == [refs[1]]
    reply = await web.post(f"/dead_letters/{refs[1]}/requeue", headers={"X-Request-Id": "again"})
    assert (reply.status_code, reply.json()["requeued"]) == (200, [refs[1]])
    query = "SELECT request_id FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'episode.requeued'"
    assert owner.execute(query, [tenant]).fetchall() == [("again",)]
    assert problem_of(await web.post(f"/dead_letters/{refs[1]}/requeue")) == (409, "conflict")
    assert problem_of(await web.post("/dead_letters/zzzz/requeue")) == (404, "not_found")


async def test_tokens_are_made_listed_and_revoked(guarded: Door, resources: Resources, tenant: str) -> None:
    """The secret is in one answer only; it opens the door until it is revoked."""
    guarded.switch.resources = resources
    wanted = NewToken(tenant=tenant, butler="main", role="admin")
    _, admin = await tokens.create(resources, wanted, resources.local_operator())
    async with httpx.AsyncClient(base_url=guarded.address + BASE) as web:
        web.headers["Authorization"] = f"Bearer {admin}"
        made = await web.post("/tokens", json={"butler": "coder", "label": "laptop", "expires_at": None})
        assert made.status_code == 201
        secret, kept = made.json().pop("token"), {**made.json()}
        assert (kept["tenant"], kept["role"], kept["label"]) == (tenant, "agent", "laptop")
        listed = await web.get("/tokens")
        assert secret not in listed.text and {one["label"] for one in listed.json()["items"]} == {
            "laptop",
            "admin main",
        }
        theirs = {"Authorization": f"Bearer {secret}"}
        assert (await web.post("/stats", headers=theirs)).status_code == 200
        revoked = await web.delete(f"/tokens/{kept['id']}")
        assert (revoked.status_code, bool(revoked.json()["revoked_at"])) == (200, True)
        assert problem_of(await web.post("/stats", headers=theirs)) == (401, "permission_denied")
        assert problem_of(await web.delete(f"/tokens/{UNKNOWN}")) == (404, "not_found")
        for bad in (
            {},
            {"butler": "x", "role": "king"},
            {"butler": "x", "tenant": "other"},
            {"butler": "x", "role": 1},
        ):
            assert problem_of(await web.post("/tokens", json=bad)) == (422, "validation_error")
        past = {"butler": "x", "expires_at": "2020-01-01T00:00:00Z"}
        assert problem_of(await web.post("/tokens", json=past)) == (422, "validation_error")
        mighty = {"butler": "x", "role": "operator"}
        assert problem_of(await web.post("/tokens", json=mighty)) == (403, "permission_denied")


ROUTES: dict[tuple[str, str], set[Role]] = {
    ("GET", "/memories/fact"): set(Role),
    ("POST", "/search"): set(Role),
    ("POST", "/store_rule"): {Role.AGENT, Role.ADMIN, Role.OPERATOR},
    **{
        route: {Role.ADMIN, Role.OPERATOR}
        for route in (
            ("GET", "/jobs"),
            ("GET", "/runs"),
            ("GET", f"/runs/{UNKNOWN}"),
            ("POST", f"/runs/{UNKNOWN}/approve"),
            ("POST", f"/runs/{UNKNOWN}/reject"),
            ("POST", f"/runs/{UNKNOWN}/undo"),
            ("GET", "/dead_letters"),
            ("POST", "/dead_letters/zzzz/requeue"),
            ("GET", "/quarantine"),
            ("POST", "/quarantine/fact/zzzz/approve"),
            ("POST", "/quarantine/fact/zzzz/reject"),
            ("GET", "/purge_receipts"),
            ("GET", f"/purge_receipts/{UNKNOWN}/verify"),
            ("GET", "/tokens"),
            ("POST", "/tokens"),
            ("DELETE", f"/tokens/{UNKNOWN}"),
        )
    },
}


async def test_who_may_do_what(guarded: Door, resources: Resources, tenant: str) -> None:
    """Every route asks the table of roles; whoever may not is told 403, and nobody without a token gets further."""
    guarded.switch.resources = resources
    bodies = {"/search": {"query": "x"}, "/store_rule": {"content": "Ask first."}, "/tokens": {"butler": "x"}}
    allowed: dict[tuple[str, str], set[Role]] = {route: set() for route in ROUTES}
    async with httpx.AsyncClient(base_url=guarded.address + BASE) as web:
        for method, path in ROUTES:
            reply = await web.request(method, path, headers={"X-Request-Id": "r-1"})
            assert problem_of(reply) == (401, "permission_denied")
            assert reply.headers["x-request-id"] == reply.json()["request_id"] == "r-1"
            assert reply.headers["www-authenticate"].startswith("Bearer")
        for role in Role:
            _, secret = await tokens.create(
                resources, NewToken(tenant=tenant, butler="main", role=role), resources.local_operator()
            )
            for method, path in ROUTES:
                body = bodies.get(path) if method == "POST" else None
                reply = await web.request(method, path, json=body, headers={"Authorization": f"Bearer {secret}"})
                if reply.status_code != 403:
                    allowed[method, path].add(role)
    assert allowed == ROUTES


async def test_an_operators_look_into_another_tenant_is_on_record(
    guarded: Door, resources: Resources, tenant: str, owner: psycopg.Connection[tuple[Any, ...]]
) -> None:
    """Also a list is such a look: the tenant's log names who it was and what they looked at."""
    guarded.switch.resources = resources
    await note(resources, "Chose tea.")
    home = f"{tenant}-home"
    wanted = NewToken(tenant=home, butler="main", role="operator", label="olga")
    _, secret = await tokens.create(resources, wanted, resources.local_operator())
    async with httpx.AsyncClient(base_url=guarded.address + BASE) as web:
        web.headers.update({"Authorization": f"Bearer {secret}", "Memory-Butler-Tenant": tenant})
        assert len((await web.get("/memories/episode")).json()["items"]) == 1
    query = (
        "SELECT actor, payload ->> 'operation' FROM memory.memory_events"
        " WHERE tenant_id = %s AND entity_type = 'access'"
    )
    assert owner.execute(query, [tenant]).fetchall() == [("olga", "list_memories")]
