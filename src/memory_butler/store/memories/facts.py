"""Facts."""

from collections.abc import Sequence
from uuid import UUID

from memory_butler.models import GLOBAL_SCOPE, USER_KEYS, Fact, NewFact, Origin, Permanence, Validity
from memory_butler.store.encryption.hashes import by_stored
from memory_butler.store.encryption.vault import CONTENT_HASH
from memory_butler.store.gate.database import Row, Transaction

CHAIN_EACH_WAY = 100


def as_fact(row: Row) -> Fact:
    row.pop("content_hash")
    kinds = {"validity": Validity(row["validity"]), "permanence": Permanence(row["permanence"])}
    return Fact(**{**row, **kinds, "origin": Origin(row["origin"])})


async def find_known(
    transaction: Transaction, new: NewFact, *, subject: str, predicate: str, digest: bytes
) -> Fact | None:
    """The live fact of the same property or, for an event, the live record of the same occurrence. The subject may have
    been called by another of its names."""
    property_of = {"scope": new.scope, "scopes": [new.scope, GLOBAL_SCOPE], "subject": subject, "predicate": predicate}
    if new.valid_at is None:
        row = await transaction.one("facts.find_live_property", user_keys=list(USER_KEYS), **property_of)
    else:
        hashes = await by_stored(transaction, [digest], CONTENT_HASH)
        when = {"valid_at": new.valid_at, "content_hashes": list(hashes)}
        row = await transaction.one("facts.find_live_occurrence", user_keys=list(USER_KEYS), **property_of, **when)
    return as_fact(row) if row else None


async def supersede(transaction: Transaction, ids: Sequence[UUID]) -> None:
    await transaction.send("facts.supersede", ids=list(ids))


async def find_occupant(transaction: Transaction, fact_id: UUID) -> Fact | None:
    """The live fact with the same subject, predicate and scope, or of the same event."""
    row = await transaction.one("facts.find_occupant", id=fact_id)
    return as_fact(row) if row else None


async def chain(transaction: Transaction, fact_id: UUID) -> list[Fact]:
    return [as_fact(row) for row in await transaction.all("facts.chain", id=fact_id, each_way=CHAIN_EACH_WAY)]
