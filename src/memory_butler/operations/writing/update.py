"""Update a memory: its importance, permanence and tags in place; its scope, the subject and predicate of a fact, or a
rule's words by a new version.

The words and the place of a stored memory are never rewritten. Where they change, a new memory takes the place of the
old one, and both are kept.
"""

from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import (
    LIVE,
    Caller,
    Fact,
    Memory,
    MemoryChanges,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    Permanence,
    Rule,
    Stored,
)
from memory_butler.operations.retrieval.indexing import index_entry
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.trust.protection import owner_of
from memory_butler.operations.writing.admission import NOTHING, Admitted, admit_tags, admit_text
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.correct import corrected_fact, find_known
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.operations.writing.memory_writer import MemoryWriter, content_hash, open_writer
from memory_butler.policy.access import visibility
from memory_butler.policy.lifecycle import confidence
from memory_butler.policy.memories.validation import (
    NAME_CHARACTERS,
    RULE_CHARACTERS,
    Handle,
    clean_key,
    clean_tags,
    clean_text,
    parse_choice,
    slug,
    validate_fact,
    whole_number,
)
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import Change
from memory_butler.store.memories import memories, rules
from memory_butler.store.retrieval import search_index
from memory_butler.store.retrieval.search_index import Indexed

_FIELDS = {
    MemoryType.FACT: frozenset({"importance", "permanence", "tags", "scope", "subject", "predicate"}),
    MemoryType.RULE: frozenset({"tags", "scope", "content"}),
    MemoryType.EPISODE: frozenset({"importance", "tags"}),
}
_NEW_VERSION = frozenset({"scope", "content", "subject", "predicate"})
# People move facts to another subject or property; agents store the fact that they mean.
_FOR_PEOPLE = frozenset({"subject", "predicate"})

NewMemory = NewFact | NewRule | NewEpisode


async def update(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    changes: MemoryChanges,
    caller: Caller | None = None,
    *,
    idempotency_key: str | None = None,
) -> Stored:
    """Change fields of a memory in use. A new scope, or new words of a rule, make a new version of it."""
    caller = caller or resources.local_caller()
    target = await find_handle(resources, caller, memory_type, handle)
    wanted, admitted = _admitted(resources, caller, target, changes)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await require_changeable(transaction, caller, target)
    entry = await _index_entry(resources, caller, _applied(found, wanted))

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, target)
        if memory.validity not in LIVE:
            raise Conflict(
                f"{target} is {memory.validity}; only memories in use can be updated.",
                recovery="Restore it first with memory_restore.",
            )
        changed = {name: value for name, value in wanted.items() if value_of(memory, name) != value}
        if not changed:
            return write_result(memory, "unchanged")
        is_new_version = bool(changed.keys() & _NEW_VERSION)
        trail = audit_trail(resources, caller, now, grouped=is_new_version, admitted=admitted)
        if is_new_version:
            writer = open_writer(resources, transaction, trail)
            return await _replace(transaction, writer, memory, _applied(memory, wanted), entry)
        await set_fields(resources, transaction, memory, changed, entry)
        await events.record(transaction, trail, [updated_change(memory, changed)])
        return write_result(memory, "updated")

    digest = Fingerprint("update", {"type": target.type, "id": str(target), **wanted})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, refs=1, admitted=admitted)


def _admitted(
    resources: Resources, caller: Caller, target: Handle, changes: MemoryChanges
) -> tuple[dict[str, Any], Admitted]:
    """The valid changes without secrets."""
    given = {one.name: value for one in fields(changes) if (value := getattr(changes, one.name)) is not None}
    if not given:
        raise InvalidInput("Nothing to update.", recovery=f"Pass one of {_offered(target.type)}.")
    for name in sorted(given.keys() - _FIELDS[target.type]):
        hint = "Use memory_correct for the words of a fact." if name == "content" else ""
        raise InvalidInput(
            f"The {name} of {'an' if target.type is MemoryType.EPISODE else 'a'} {target.type} cannot be updated.",
            recovery=f"{hint} {target.type}: {_offered(target.type)}.".strip(),
        )
    admitted = NOTHING
    if "content" in given:
        given["content"], admitted = admit_text(resources, caller, given["content"], RULE_CHARACTERS)
        given["content"] = clean_text(given["content"], "content", RULE_CHARACTERS)
    if "tags" in given:
        given["tags"], of_tags = admit_tags(resources, caller, given["tags"])
        given["tags"], admitted = clean_tags(given["tags"]), admitted + of_tags
    if "importance" in given:
        given["importance"] = whole_number(given["importance"], "importance", 1, 10)
    if "permanence" in given:
        given["permanence"] = parse_choice(Permanence, given["permanence"], "permanence")
    if "scope" in given:
        given["scope"] = slug(given["scope"], "scope")
        visibility.check_writable(caller.principal, given["scope"])
    for name in _FOR_PEOPLE & given.keys():
        given[name] = clean_text(given[name], name, NAME_CHARACTERS)
    return given, admitted


def _offered(kind: MemoryType) -> str:
    return ", ".join(sorted(_FIELDS[kind] - _FOR_PEOPLE))


def value_of(memory: Memory, name: str) -> Any:
    value = getattr(memory, f"{name}_label" if name in _FOR_PEOPLE else name)
    return tuple(value) if name == "tags" else value


def updated_change(memory: Memory, changed: dict[str, Any]) -> Change:
    """The event of an update, with the old and new values. Tags are texts, which events keep apart."""
    values = {name: [value_of(memory, name), value] for name, value in changed.items() if name != "tags"}
    said = values | ({"tags": None} if "tags" in changed else {})
    return Change(memory.type, memory.id, "updated", {"changed": said})


async def set_fields(
    resources: Resources, transaction: Transaction, memory: Memory, changed: dict[str, Any], entry: Indexed
) -> None:
    """Write fields that can change in place. The decay rate follows the permanence, and the index the tags."""
    values: dict[str, Any] = {"importance": None, "permanence": None, "tags": None} | changed
    if memory.type is not MemoryType.FACT:
        values.pop("permanence")
    else:
        assert isinstance(memory, Fact)
        rules_of_decay = resources.settings.lifecycle_of(memory.source_butler).decay
        permanence = values["permanence"]
        values["decay_rate"] = None if permanence is None else confidence.fact_rate(permanence, rules_of_decay)
    if memory.type is MemoryType.RULE:
        values.pop("importance")
    if values["tags"] is not None:
        values["tags"] = list(values["tags"])
    await memories.set_fields(transaction, memory.type, memory.id, values)
    if "tags" in changed:
        await search_index.replace(transaction, [(memory.type, memory.id, entry)])


def _applied(memory: Memory, wanted: dict[str, Any]) -> NewMemory:
    """The memory with the changes, as a request to store it."""
    if isinstance(memory, Fact):
        return validate_fact(replace(corrected_fact(memory, memory.content), **wanted))
    if isinstance(memory, Rule):
        return NewRule(
            **{"content": memory.content, "scope": memory.scope, "tags": tuple(memory.tags)} | wanted,
            metadata=memory.metadata,
        )
    tags = wanted.get("tags", tuple(memory.tags))
    return NewEpisode(content=memory.content, butler=memory.butler, tags=tags)


async def _index_entry(resources: Resources, caller: Caller, memory: NewMemory) -> Indexed:
    kind = {NewFact: MemoryType.FACT, NewRule: MemoryType.RULE, NewEpisode: MemoryType.EPISODE}[type(memory)]
    place = memory.butler if isinstance(memory, NewEpisode) else memory.scope
    about = {"subject": memory.subject, "predicate": memory.predicate} if isinstance(memory, NewFact) else {}
    owner = owner_of(caller.principal.tenant, caller.principal.butler, place)
    return await index_entry(resources, kind, memory.content, memory.tags, owner=owner, **about)


async def _replace(
    transaction: Transaction, writer: MemoryWriter, memory: Memory, right: NewMemory, entry: Indexed
) -> Stored:
    """Store the new version; the old one leaves use. Both changes are one group, which undo takes back."""
    if isinstance(memory, Fact) and isinstance(right, NewFact):
        occupant = await find_known(transaction, right)
        if occupant and occupant.id != memory.id:
            raise Conflict(
                f"fact:{occupant.ref} holds this property in the scope {right.scope}.",
                recovery=f"Forget or update fact:{occupant.ref} first.",
            )
        stored = await writer.correct(memory, right, entry, None)
    else:
        assert isinstance(memory, Rule) and isinstance(right, NewRule)
        twin = await rules.find_live_twin(transaction, right.scope, content_hash(right.content))
        if twin:
            raise Conflict(f"rule:{twin.ref} says so already.", recovery=f"Forget rule:{memory.ref} instead.")
        stored = await writer.reword(memory, right, entry)
    await writer.flush()
    return stored if stored.quarantine_reason else replace(stored, outcome="updated")
