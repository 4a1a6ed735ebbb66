"""Forgetting everything about somebody: exact, shown beforehand, one group, and nobody else's."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Outcome, Stored
from memory_butler.operations.trust import exact_matches, forget_about
from memory_butler.operations.trust.forget_about import ForgetReport
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.restore import restore
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]


async def fact(resources: Resources, subject: str, content: str, predicate: str = "note", **given: Any) -> Stored:
    return await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, **given))


async def episode(resources: Resources, content: str, name: str = "main", **given: Any) -> Stored:
    return await remember.episode(resources, NewEpisode(content=content, butler=name, **given))


async def rule(resources: Resources, content: str, **given: Any) -> Stored:
    return await remember.rule(resources, NewRule(content=content, **given))


def refs(report: ForgetReport) -> list[str]:
    return sorted(entry.ref for entry in report.touched)


def validities(rows: Rows) -> dict[str, str]:
    return {row["ref"]: row["validity"] for table in ("facts", "rules", "episodes") for row in rows(table)}


async def forget_really(resources: Resources, caller: Caller | None = None, **given: Any) -> ForgetReport:
    return await forget_about.forget_about(resources, caller, dry_run=False, **given)


async def test_a_dry_run_shows_and_changes_nothing(resources: Resources, everything: Everything) -> None:
    """It is the default; each memory with its line and where it names them; every table stays as it was."""
    known = await fact(resources, "Ben", "His sister's mail is anna@x.org.", "sister")
    seen = await episode(resources, "Wrote to <Anna@X.org>\nabout the party")
    await fact(resources, "Ben", "green", "color")
    before = everything()
    report = await forget_about.forget_about(resources, text="anna@x.org")
    assert everything() == before
    assert (report.dry_run, report.group_id, report.mentions) == (True, None, None)
    assert [(entry.type, entry.id, entry.ref, entry.why, entry.line) for entry in report.touched] == [
        (
            MemoryType.FACT,
            known.id,
            known.ref,
            ("named in its content",),
            "Ben · sister: His sister's mail is anna@x.org.",
        ),
        (
            MemoryType.EPISODE,
            seen.id,
            seen.ref,
            ("named in its content",),
            "Wrote to <Anna@X.org> about the party",
        ),
    ]


async def test_it_is_done_as_one_group(resources: Resources, rows: Rows, agent: Callable[..., Caller]) -> None:
    """All three types are retracted in one group, each with its event and reason; the rest stays."""
    gone = [
        await fact(resources, "Ben", "His sister is anna@x.org."),
        await rule(resources, "Copy anna@x.org on invoices"),
        await episode(resources, "anna@x.org called"),
    ]
    kept = await fact(resources, "Ben", "green", "color")
    report = await forget_really(
        resources, agent("main", request_id="r1"), text="anna@x.org", reason="She asked for it."
    )
    assert refs(report) == sorted(done.ref for done in gone)
    assert validities(rows) == {kept.ref: "active"} | {done.ref: "retracted" for done in gone}
    events = [event for event in rows("memory_events") if event["group_id"] == report.group_id]
    assert {(event["event_type"], event["entity_id"], event["actor"], event["request_id"]) for event in events} == {
        (f"{done.type}.retracted", done.id, "main", "r1") for done in gone
    }
    kept_texts = {(text["memory_id"], bytes(text["hash"]).hex()): text["body"] for text in rows("texts")}
    for event in events:
        assert event["payload"]["state"]["validity"] == "retracted"
        assert "She asked for it." in kept_texts[event["entity_id"], event["payload"]["reason_hash"]]


async def test_the_answer_does_not_repeat_what_was_forgotten(resources: Resources, rows: Rows) -> None:
    """After the fact there are references and places, but no lines: not in the answer, not with the key."""
    await fact(resources, "Ben", "His sister is anna@x.org.")
    report = await forget_really(resources, text="anna@x.org", idempotency_key="k")
    assert [entry.line for entry in report.touched] == [None]
    assert "anna" not in str(rows("idempotency_keys"))


async def test_one_address_does_not_touch_the_next(resources: Resources, rows: Rows) -> None:
    """Of many addresses that look alike only the one asked for is forgotten."""
    alike = ["joanna@x.org", "anna@x.org.uk", "anna@x.organic", "bob.anna@x.org", "ben@x.org", "anna+tag@x.org"]
    others = [await fact(resources, mail, f"Writes from {mail}.") for mail in alike]
    mine = await fact(resources, "somebody", "Writes from anna@x.org.")
    assert refs(await forget_really(resources, text="anna@x.org")) == [mine.ref]
    assert validities(rows) == {mine.ref: "retracted"} | {other.ref: "active" for other in others}


async def test_every_place_of_a_memory_is_looked_at(resources: Resources) -> None:
    """Labels as written and as spoken, content, tags, metadata at any depth, and reports of harm."""
    places = {
        "named in its subject": await fact(resources, "anna_smith", "green"),
        "named in its predicate": await fact(resources, "Ben", "yes", "knows:Anna Smith"),
        "named in its content": await episode(resources, "ANNA\u00a0SMITH came"),
        "named in its tags": await rule(resources, "Be kind", tags=("anna smith",)),
        "named in its metadata": await fact(
            resources, "Ben", "red", "shoe", metadata={"by": [{"who": 'the "Anna Smith"'}]}
        ),
        "named in its reports of harm": await rule(resources, "Send it at night"),
    }
    await feedback.mark(
        resources, places["named in its reports of harm"].ref, Outcome.HARMFUL, reason="It woke Anna Smith."
    )
    report = await forget_about.forget_about(resources, text="Anna Smith")
    assert {entry.why: entry.ref for entry in report.touched} == {(why,): done.ref for why, done in places.items()}


async def test_a_number_in_metadata_counts(resources: Resources) -> None:
    """A phone number stored as a number is found by its digits."""
    done = await fact(resources, "Ben", "see there", metadata={"tel": 491701234567})
    assert refs(await forget_about.forget_about(resources, text="491701234567")) == [done.ref]
    assert refs(await forget_about.forget_about(resources, text="9170123456")) == []


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Straße 5", "Sie wohnt in der STRASSE 5."),
        ("strasse", "Die Straße ist lang."),
        ("Анна", "АННА пришла"),
        ("José", "JOSE\u0301 came, naïvely"),
        ("ａｎｎａ@x.org", "mail: Anna@x.org"),
        ("anna@x.org", "ａｎｎａ＠ｘ．ｏｒｇ!"),
        ("anna@x.org", "an\u00adna@x\u200b.org"),
        ("Ισσας", "ΙΣΣΑΣ ήρθε"),
        ("O'Brien", "Mrs O’Brien — naïve"),
        ("李明", "昨天李明去了北京"),
        ("+49 170  1234567", "tel:+49\u2009170 1234567."),
        ("50%_a\\b", "saw 50%_A\\B there"),
        ("Ḣ\u0331x", "ask ḣ\u0331X"),
    ],
)
async def test_spellings_of_the_same_are_found_in_the_database(resources: Resources, text: str, content: str) -> None:
    """Case, width, composition and invisible characters make no difference; nor do wildcards of the database."""
    done = await episode(resources, content)
    await episode(resources, "Something else: straß, 50xxaxb, naïve, йцукен, 王")
    assert refs(await forget_about.forget_about(resources, text=text)) == [done.ref]


async def test_a_subject_is_its_facts_under_every_spelling_of_its_name(resources: Resources, rows: Rows) -> None:
    """Exactly the facts about it, whatever they say; what merely names it is counted as a hint."""
    mine = [
        await fact(resources, "Anna Smith", "green", "color"),
        await fact(resources, "anna_smith", "tea", "drink"),
        await fact(resources, "ANNA-SMITH", "lunch", "meal", scope="health"),
    ]
    await fact(resources, "Anna", "another one")
    await fact(resources, "Anna Smithson", "another one")
    await episode(resources, "Anna Smith came by.")
    await rule(resources, "Greet anna smith first")
    shown = await forget_about.forget_about(resources, subject="anna smith")
    assert refs(shown) == sorted(done.ref for done in mine)
    assert {entry.why for entry in shown.touched} == {("is about it",)}
    assert (shown.mentions, shown.names) == (2, ("anna_smith",))
    done = await forget_really(resources, subject="Anna Smith")
    assert refs(done) == refs(shown)
    assert sorted(ref for ref, state in validities(rows).items() if state == "retracted") == refs(shown)


async def test_a_subject_goes_by_its_other_names(resources: Resources, owner: Any, tenant: str) -> None:
    """From the name to the alias and back; an alias that two subjects share stands for itself alone."""
    anna = await fact(resources, "Anna Smith", "green")
    annie = await fact(resources, "Annie", "tea")
    mum = await fact(resources, "Mum", "cake")
    berta = await fact(resources, "Berta Jones", "red")
    for subject, alias in (("anna_smith", "annie"), ("anna_smith", "mum"), ("berta_jones", "mum")):
        owner.execute(
            "INSERT INTO memory.aliases (tenant_id, id, subject, alias, alias_label, created_at)"
            " VALUES (%s, gen_random_uuid(), %s, %s, %s, now())",
            [tenant, subject, alias, alias],
        )
    for subject, expected in (
        ("Anna Smith", [anna, annie, mum]),
        ("annie", [anna, annie, mum]),
        ("Mum", [mum]),
        ("Berta Jones", [berta, mum]),
    ):
        report = await forget_about.forget_about(resources, subject=subject)
        assert refs(report) == sorted(done.ref for done in expected), subject


async def test_subject_and_text_together_cover_both(resources: Resources) -> None:
    """A memory that is about them and names them appears once, with both reasons."""
    both = await fact(resources, "Anna", "Her mail is anna@x.org.")
    other = await episode(resources, "anna@x.org wrote")
    await episode(resources, "Anna came")
    report = await forget_about.forget_about(resources, subject="anna", text="anna@x.org")
    assert {entry.ref: entry.why for entry in report.touched} == {
        both.ref: ("is about it", "named in its content"),
        other.ref: ("named in its content",),
    }
    assert report.mentions == 1


async def test_only_what_is_in_use_is_touched(resources: Resources, owner: Any, rows: Rows) -> None:
    """Fading and pinned memories go too; what is superseded, expired or retracted already is left as it is."""
    fading = await fact(resources, "a", "anna@x.org", "1")
    old = await fact(resources, "a", "anna@x.org was here", "2")
    await fact(resources, "a", "nobody", "2")
    expired = await fact(resources, "a", "anna@x.org too", "3")
    retracted = await episode(resources, "anna@x.org left")
    await forget.forget(resources, "episode", retracted.ref)
    owner.execute("UPDATE memory.facts SET validity = 'fading', pinned = true WHERE id = %s", [fading.id])
    owner.execute("UPDATE memory.facts SET validity = 'expired' WHERE id = %s", [expired.id])
    assert refs(await forget_really(resources, text="anna@x.org")) == [fading.ref]
    states = validities(rows)
    assert (states[fading.ref], states[old.ref], states[expired.ref]) == ("retracted", "superseded", "expired")


async def test_an_agent_reaches_its_own_and_no_further(
    resources: Resources, agent: Callable[..., Caller], rows: Rows
) -> None:
    """Global facts, its own scope and its own episodes; another's scope and episodes are neither shown nor touched."""
    mine = [
        await fact(resources, "a", "anna@x.org", "1"),
        await fact(resources, "a", "anna@x.org", "1", scope="health"),
        await rule(resources, "Ask anna@x.org", scope="health"),
        await episode(resources, "anna@x.org called", "health"),
    ]
    others = [
        await fact(resources, "a", "anna@x.org", "1", scope="finance"),
        await rule(resources, "Ask anna@x.org", scope="finance"),
        await episode(resources, "anna@x.org called", "finance"),
    ]
    everyone = sorted(done.ref for done in (*mine, *others))
    assert refs(await forget_about.forget_about(resources, text="anna@x.org")) == everyone
    expected = sorted(done.ref for done in mine)
    assert refs(await forget_about.forget_about(resources, agent("health"), text="anna@x.org")) == expected
    by_subject = await forget_about.forget_about(resources, agent("health"), subject="a")
    assert refs(by_subject) == sorted(done.ref for done in mine[:2])
    assert refs(await forget_really(resources, agent("health"), text="anna@x.org")) == expected
    assert all(validities(rows)[done.ref] == "active" for done in others)


async def test_another_tenant_is_another_world(resources: Resources, agent: Callable[..., Caller], rows: Rows) -> None:
    """The same words in another tenant are not found, not even by its administrator."""
    done = await fact(resources, "anna", "anna@x.org")
    principal = resources.local_caller().principal
    stranger = Caller(type(principal)("someone-else", "main", principal.role))
    report = await forget_really(resources, stranger, subject="anna", text="anna@x.org")
    assert (report.touched, report.group_id) == ((), None)
    assert validities(rows) == {done.ref: "active"}


async def test_what_goes_out_of_use_meanwhile_is_left_alone(
    resources: Resources, clock: Any, owner: Any, rows: Rows
) -> None:
    """Between looking and doing somebody else forgets one of them: it gets no second event."""
    first, second = await fact(resources, "Anna", "green", "color"), await fact(resources, "Anna", "tea", "drink")

    def late_clock() -> Any:
        # Asked for after the search and before the change.
        owner.execute("UPDATE memory.facts SET validity = 'retracted' WHERE id = %s", [first.id])
        return clock.now

    report = await forget_really(replace(resources, clock=late_clock), subject="Anna")
    assert refs(report) == [second.ref]
    events = [event["entity_id"] for event in rows("memory_events") if event["group_id"] == report.group_id]
    assert events == [second.id]


async def test_nothing_found_is_no_error_and_no_event(resources: Resources, everything: Everything) -> None:
    """The answer says that nothing is about it."""
    await fact(resources, "Ben", "green")
    before = everything()
    report = await forget_really(resources, text="anna@x.org")
    assert (report.touched, report.group_id, report.dry_run) == ((), None, False)
    assert everything() == before


async def test_what_was_forgotten_together_can_be_restored_one_by_one(resources: Resources, rows: Rows) -> None:
    """Nothing of it is lost."""
    await fact(resources, "Anna", "green")
    (entry,) = (await forget_really(resources, subject="Anna")).touched
    assert (await restore(resources, entry.type, entry.ref)).outcome == "restored"
    assert validities(rows) == {entry.ref: "active"}


async def test_a_repeat_with_the_same_key_gets_the_first_answer(resources: Resources, rows: Rows) -> None:
    """Also when there would be more to forget by now; another request with the key is a conflict."""
    await fact(resources, "Anna", "green", "color")
    first = await forget_really(resources, subject="Anna", idempotency_key="k")
    later = await fact(resources, "Anna", "tea", "drink")
    assert await forget_really(resources, subject="Anna", idempotency_key="k") == first
    assert validities(rows)[later.ref] == "active"
    with pytest.raises(Conflict, match="another request"):
        await forget_really(resources, subject="Anna", reason="x", idempotency_key="k")


async def test_too_much_at_once_is_refused(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, everything: Everything
) -> None:
    """Beyond the limit nothing is forgotten, shown or really: the error says to narrow it down."""
    monkeypatch.setattr(exact_matches, "MAX_MEMORIES", 3)
    for number in range(4):
        await fact(resources, "Anna", f"Anna's note {number}", f"note {number}")
    before = everything()
    targets: list[dict[str, Any]] = [{"subject": "Anna"}, {"text": "Anna"}]
    for given in targets:
        for dry_run in (True, False):
            with pytest.raises(InvalidInput, match="More than 3 memories") as problem:
                await forget_about.forget_about(resources, dry_run=dry_run, **given)
            assert "Narrow it down" in problem.value.recovery
    assert everything() == before


async def test_a_long_list_is_read_page_by_page(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many memories the sieve lets through, each is looked at once."""
    monkeypatch.setattr("memory_butler.store.trust.forgetting.PAGE", 2)
    wanted = []
    for number in range(7):
        await episode(resources, f"{number} annabel came")
        wanted.append((await episode(resources, f"{number} anna came")).ref)
    assert refs(await forget_about.forget_about(resources, text="Anna")) == sorted(wanted)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Neither subject nor text"),
        ({"text": "a"}, "too short"),
        ({"text": " .. "}, "too short"),
        ({"text": ""}, "text is empty"),
        ({"text": "x" * 201}, "limit is 200"),
        ({"subject": " "}, "subject is empty"),
        ({"subject": "a\x00"}, "NUL"),
        ({"subject": "Anna", "reason": ""}, "reason is empty"),
        ({"subject": "Anna", "text": "a"}, "too short"),
    ],
)
async def test_bad_requests_change_nothing(
    resources: Resources, given: dict[str, Any], words: str, everything: Everything
) -> None:
    """Each is refused by the name of its argument, dry or not."""
    await fact(resources, "Anna", "a.")
    before = everything()
    for dry_run in (True, False):
        with pytest.raises(InvalidInput, match=words):
            await forget_about.forget_about(resources, dry_run=dry_run, **given)
    assert everything() == before
