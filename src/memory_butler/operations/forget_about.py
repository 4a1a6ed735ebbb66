"""Forget about: withdraw everything about a person or an identifier, as one group that can be taken back together."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Caller, MemoryType, Reach
from memory_butler.operations.change import admit_reason
from memory_butler.operations.once import fingerprint, first_answer, keep_answer, trail
from memory_butler.policy import identifiers, reach
from memory_butler.policy.admission import NAME_CHARACTERS, clean_text, normal_name, optional_label
from memory_butler.policy.wording import about_of, one_line, spoken
from memory_butler.store import aliases, events, forgetting
from memory_butler.store.database import Row, Session
from memory_butler.store.events import Change, Trail

MOST = 5_000
LINE_CHARACTERS = 160
SHOWN_ORDER = (MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A memory that is about them, and where it says so. The line is shown beforehand only."""

    type: MemoryType
    id: UUID
    ref: str
    why: tuple[str, ...]
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What would be forgotten, or what was, and under which group that can be undone.

    `names` are those a subject goes by; `mentions` says how many more memories name it in passing, up to the limit;
    `aliases` are other names of subjects that go, too.
    """

    dry_run: bool
    touched: tuple[Touched, ...]
    group_id: UUID | None = None
    names: tuple[str, ...] = ()
    mentions: int | None = None
    aliases: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is looked for: facts about a subject, memories that hold an identifier, or both."""

    subject: str | None
    text: str | None
    reach: Reach


async def forget_about(
    butler: Butler,
    caller: Caller | None = None,
    *,
    subject: str | None = None,
    text: str | None = None,
    dry_run: bool = True,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Forgetting:
    """Find what is about a subject or names an identifier, by its letters alone; unless it is a dry run, forget it."""
    caller = caller or butler.local_caller()
    wanted = _admit(caller, subject, text)
    why, key = admit_reason(reason), optional_label(idempotency_key, "idempotency_key")
    found = await _find(butler, caller.principal.tenant, wanted, hint=dry_run)
    if dry_run:
        return found
    now = butler.clock()
    digest = fingerprint("forget_about", {**asdict(wanted), "reason": why})
    async with butler.database.write(caller.principal.tenant, now) as session:
        first = await first_answer(session, caller, key, digest, now)
        if first:
            return _from_json(first)
        done = await _forget(session, trail(butler, caller, now, grouped=True), found, why)
        await keep_answer(session, butler, caller, key=key, digest=digest, response=_to_json(done), now=now)
        return done


def _admit(caller: Caller, subject: str | None, text: str | None) -> _Wanted:
    if subject is None and text is None:
        raise InvalidInput(
            "Neither subject nor text is given; one of them must say whom or what to forget.",
            recovery="Pass subject for the facts about somebody, text for every memory that names an identifier.",
        )
    everything = EVERY_SCOPE if caller.principal.role.governs else None
    return _Wanted(
        subject=None if subject is None else clean_text(subject, "subject", NAME_CHARACTERS),
        text=None if text is None else identifiers.admit_identifier(text, "text"),
        reach=reach.readable(caller.principal, everything, None),
    )


async def _find(butler: Butler, tenant: str, wanted: _Wanted, *, hint: bool) -> Forgetting:
    """What is to be forgotten, each with all its reasons. Memories never change their words, so it stays true."""
    found: dict[UUID, Touched] = {}
    names: list[str] = []
    called: dict[UUID, None] = {}
    if wanted.subject is not None:
        async with butler.database.read(tenant) as session:
            names = await forgetting.names_of(session, normal_name(wanted.subject), wanted.reach)
            rows = await forgetting.about_subject(session, names, wanted.reach, MOST + 1)
            called |= dict.fromkeys(await aliases.ids_of_subjects(session, names, wanted.reach, MOST + 1))
        found = {row["id"]: _touched(row, ["is about it"]) for row in rows}
    if wanted.text is not None:
        called |= dict.fromkeys(await _called(butler, tenant, wanted.reach, wanted.text))
        async for entry in _naming(butler, tenant, wanted.reach, wanted.text):
            known = found.get(entry.id)
            found[entry.id] = replace(entry, why=(*known.why, *entry.why)) if known else entry
            if len(found) > MOST:
                break
    if max(len(found), len(called)) > MOST:
        raise InvalidInput(
            f"More than {MOST:,} memories are about this, too many to forget at once; nothing was changed.",
            recovery="Narrow it down: a whole name, an address or a number instead of a word that many memories hold.",
        )
    return Forgetting(
        dry_run=True,
        touched=tuple(sorted(found.values(), key=lambda entry: (SHOWN_ORDER.index(entry.type), entry.id))),
        names=tuple(names),
        aliases=tuple(called),
        mentions=await _mentions(butler, tenant, wanted, set(found)) if hint else None,
    )


async def _called(butler: Butler, tenant: str, seen: Reach, identifier: str) -> list[UUID]:
    """Other names of subjects that hold the identifier as a whole, or whose subject does."""
    async with butler.database.read(tenant) as session:
        return [
            row["id"]
            async for row in aliases.each(session, seen)
            if _any_names((row["alias_label"], row["subject"], spoken(row["subject"])), identifier)
        ]


async def _mentions(butler: Butler, tenant: str, wanted: _Wanted, known: set[UUID]) -> int | None:
    """How many more memories name the subject, counted up to the limit."""
    name = identifiers.normal_text(spoken(wanted.subject or ""))
    if len(name) < identifiers.LEAST_CHARACTERS:
        return None
    count = 0
    async for entry in _naming(butler, tenant, wanted.reach, name):
        count += entry.id not in known
        if count == MOST:
            break
    return count


async def _naming(butler: Butler, tenant: str, reached: Reach, identifier: str) -> AsyncIterator[Touched]:
    """Everything in reach that holds the identifier as a whole: the database sifts, policy decides."""
    sieve = asdict(identifiers.sieve_for(identifier))
    async for row in forgetting.that_may_name(butler.database, tenant, reached, **sieve):
        where = [f"named in its {place}" for place, texts in _places(row) if _any_names(texts, identifier)]
        if where:
            yield _touched(row, where)


async def _forget(session: Session, marks: Trail, found: Forgetting, why: str | None) -> Forgetting:
    """Retract what was found, as far as it is still in use. The lines are left out of the answer: what was asked to be
    forgotten is not repeated, here or with the idempotency key."""
    live: set[UUID] = set()
    for kind in MemoryType:
        ids = [entry.id for entry in found.touched if entry.type is kind]
        live |= await forgetting.retract(session, kind, ids) if ids else set()
    done = tuple(replace(entry, line=None) for entry in found.touched if entry.id in live)
    named = await aliases.retract(session, found.aliases)
    if not done and not named:
        return Forgetting(dry_run=False, touched=())
    gone = [(str(entry.type), entry.id) for entry in done] + [(events.ALIAS, alias) for alias in named]
    changes = [Change(kind, id, "retracted", await events.reason_of(session, id, why)) for kind, id in gone]
    await events.record(session, marks, changes)
    return Forgetting(dry_run=False, touched=done, group_id=marks.group_id, aliases=tuple(named))


def _any_names(texts: Iterable[str], identifier: str) -> bool:
    return any(identifiers.names(text, identifier) for text in texts)


def _places(row: Row) -> Iterator[tuple[str, Iterable[str]]]:
    """Where a memory may name somebody. A label counts as it is written and as it is spoken: anna_smith, anna smith."""
    for place, label in (("subject", row["subject_label"]), ("predicate", row["predicate_label"])):
        if label is not None:
            yield place, (label, spoken(label))
    yield "content", (row["content"],)
    yield "tags", row["tags"]
    yield "metadata", _texts_in(row["metadata"])
    yield "reports of harm", row["reasons"]


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for entry in value:
            yield from _texts_in(entry)
    else:
        yield str(value)


def _touched(row: Row, why: Sequence[str]) -> Touched:
    said = row["content"]
    if row["subject_label"] is not None:
        said = f"{about_of(row['subject_label'], row['predicate_label'])}: {said}"
    return Touched(
        type=MemoryType(row["type"]),
        id=row["id"],
        ref=row["ref"],
        why=tuple(why),
        line=one_line(said, LINE_CHARACTERS),
    )


def _to_json(done: Forgetting) -> dict[str, Any]:
    touched = [[entry.type, str(entry.id), entry.ref, *entry.why] for entry in done.touched]
    named = [str(alias) for alias in done.aliases]
    return {"group_id": str(done.group_id) if done.group_id else None, "touched": touched, "aliases": named}


def _from_json(kept: dict[str, Any]) -> Forgetting:
    return Forgetting(
        dry_run=False,
        group_id=UUID(kept["group_id"]) if kept["group_id"] else None,
        touched=tuple(
            Touched(type=MemoryType(kind), id=UUID(id), ref=ref, why=tuple(why))
            for kind, id, ref, *why in kept["touched"]
        ),
        aliases=tuple(map(UUID, kept.get("aliases", []))),
    )
