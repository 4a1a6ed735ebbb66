"""Near spellings of what is forgotten or purged: listed by a dry run, untouched unless passed."""

from collections.abc import Callable
from typing import Any

from memory_butler.models import Caller, NewEpisode, NewFact, Stored
from memory_butler.operations.trust import exact_matches, similar_spellings
from memory_butler.operations.trust.forget_about import forget_about
from memory_butler.operations.trust.purge import PurgeRequest, purge
from memory_butler.operations.writing import remember
from memory_butler.policy.trust import near_spellings as near
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]


async def episode(resources: Resources, content: str, name: str = "main", **given: Any) -> Stored:
    return await remember.episode(resources, NewEpisode(content=content, butler=name, **given))


def live(rows: Rows) -> set[str]:
    return {row["ref"] for row in rows("episodes") if row["validity"] == "active"}


async def test_a_dry_run_lists_near_spellings_and_forgetting_leaves_them(resources: Resources, rows: Rows) -> None:
    """Only the exact address goes; the others are listed with their memories, the most frequent first."""
    mine = await episode(resources, "anna@x.org wrote")
    tagged = [await episode(resources, "Anna+Shop@x.org ordered"), await episode(resources, "anna+shop@x.org paid")]
    longer = await episode(resources, "Ask anna@x.org.uk — naïvely", metadata={"cc": ["an.na@x.org"]})
    joanna = await episode(resources, "joanna@x.org wrote")
    shown = await forget_about(resources, text="anna@x.org")
    assert [(entry.spelling, entry.why, entry.count, entry.refs) for entry in shown.similar] == [
        ("anna+shop@x.org", near.PLUS_TAG, 2, tuple(f"episode:{done.ref}" for done in tagged)),
        ("an.na@x.org", near.SEPARATORS, 1, (f"episode:{longer.ref}",)),
        ("anna@x.org.uk", near.LONGER, 1, (f"episode:{longer.ref}",)),
    ]
    assert [entry.ref for entry in shown.touched] == [mine.ref]
    done = await forget_about(resources, text="anna@x.org", dry_run=False)
    assert done.similar == ()
    assert live(rows) == {*(one.ref for one in tagged), longer.ref, joanna.ref}


async def test_spellings_that_are_passed_are_forgotten_in_the_same_group(resources: Resources, rows: Rows) -> None:
    """They are matched exactly, and are not listed any more."""
    first, second = await episode(resources, "+49 170 1234567 called"), await episode(resources, "0170-1234567 again")
    third = await episode(resources, "0170 123 4567 once more")
    shown = await forget_about(resources, text="+49 170 1234567")
    assert {entry.spelling for entry in shown.similar} == {"0170-1234567", "0170 123 4567"}
    both = ["+49 170 1234567", "0170-1234567"]
    assert [entry.spelling for entry in (await forget_about(resources, text=both)).similar] == ["0170 123 4567"]
    done = await forget_about(resources, text=both, dry_run=False, idempotency_key="k")
    assert [entry.ref for entry in done.touched] == [first.ref, second.ref]
    assert live(rows) == {third.ref}
    assert len([event for event in rows("memory_events") if event["group_id"] == done.group_id]) == 2
    assert await forget_about(resources, text=both, dry_run=False, idempotency_key="k") == done


async def test_a_memory_that_matches_anyway_is_not_listed(resources: Resources) -> None:
    """It goes with the exact spelling that it also contains."""
    await episode(resources, "anna@x.org, before anna+old@x.org")
    assert (await forget_about(resources, text="anna@x.org")).similar == ()


async def test_the_name_of_a_subject_has_near_spellings_too(resources: Resources) -> None:
    """Other memories that spell it alike are listed beside the count of those that name it."""
    await remember.fact(resources, NewFact(subject="Anna Smith", predicate="color", content="green"))
    await episode(resources, "Anna Smith came by.")
    other = await episode(resources, "AnnaSmith posted it.")
    shown = await forget_about(resources, subject="anna_smith")
    assert shown.mentions == 1
    assert [(entry.spelling, entry.refs) for entry in shown.similar] == [("annasmith", (f"episode:{other.ref}",))]


async def test_near_spellings_stay_within_reach(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Another butler's episodes are not listed to an agent."""
    await episode(resources, "anna+shop@x.org ordered", "finance")
    assert (await forget_about(resources, agent("health"), text="anna@x.org")).similar == ()
    assert len((await forget_about(resources, agent("finance"), text="anna@x.org")).similar) == 1


async def test_the_list_is_bounded(resources: Resources, monkeypatch: Any) -> None:
    """At most so many spellings, and so many memories of each."""
    monkeypatch.setattr(similar_spellings, "LISTED", 2)
    monkeypatch.setattr(similar_spellings, "REFS", 1)
    for text in ("annabel", "annabel came", "annalena", "annamaria"):
        await episode(resources, text)
    shown = await forget_about(resources, text="anna")
    assert [(entry.spelling, entry.count, len(entry.refs)) for entry in shown.similar] == [
        ("annabel", 2, 1),
        ("annalena", 1, 1),
    ]
    assert exact_matches.MAX_MEMORIES > similar_spellings.LISTED


async def test_a_purge_lists_them_and_erases_only_the_exact_one(resources: Resources, rows: Rows) -> None:
    """Also in memories that are out of use."""
    await episode(resources, "anna@x.org wrote")
    stays = await episode(resources, "anna+shop@x.org ordered")
    await forget_about(resources, text="anna+shop@x.org", dry_run=False)
    shown = await purge(resources, PurgeRequest(text="anna@x.org"))
    assert [(entry.spelling, entry.refs) for entry in shown.similar] == [
        ("anna+shop@x.org", (f"episode:{stays.ref}",)),
    ]
    done = await purge(resources, PurgeRequest(text="anna@x.org"), dry_run=False)
    assert done.similar == ()
    assert [row["ref"] for row in rows("episodes")] == [stays.ref]
