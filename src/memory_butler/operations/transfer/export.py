"""Export: write all memories of a tenant to one file."""

import json
from dataclasses import dataclass
from dataclasses import replace as with_keys
from pathlib import Path

from memory_butler.errors import NotFound
from memory_butler.models import Caller
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.transfer.export_file import Progress, Writer, atomic_file, no_progress
from memory_butler.policy.transfer import export_format
from memory_butler.policy.transfer.export_format import HISTORY, KINDS, Header
from memory_butler.resources import Resources
from memory_butler.store.encryption.records import RecordOpening
from memory_butler.store.encryption.vault import keys_as_json
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.transfer import tenant_rows as store

LONGEST_SECONDS = 6 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Result of an export: the number of records of each kind, and the checksum of the file."""

    path: Path
    tenant: str
    counts: dict[str, int]
    sha256: str


async def export(
    resources: Resources,
    path: Path,
    caller: Caller | None = None,
    *,
    events: bool = True,
    replace: bool = False,
    decrypt: bool = False,
    progress: Progress = no_progress,
) -> Exported:
    """Write a snapshot of the caller's tenant to a file, without blocking writers.

    Encrypted texts stay encrypted, and the file has their keys, encrypted with the master key; `decrypt` writes them in
    plain text.
    """
    caller = resources.allowed(caller, "export")
    tenant = caller.principal.tenant
    async with resources.database.read(tenant) as transaction:
        if await store.counts(transaction) is None:
            raise NotFound(f"There is no tenant {tenant!r}.", recovery="Check the name; nothing was written.")
    await audit_access(resources, caller, "export")
    with atomic_file(path, replace=replace) as file:
        async with resources.database.rollback_only(tenant, LONGEST_SECONDS) as transaction:
            found = await store.counts(transaction)
            assert found
            header = _header(resources, tenant, found, events=events)
            if transaction.vault and not decrypt:
                header = with_keys(header, keys=tuple(keys_as_json(transaction.vault.keys)))
            writer = Writer(file)
            writer.add(export_format.header_line(header))
            await _write(transaction, writer, header, progress, decrypt=decrypt)
        digest = writer.end()
    return Exported(path=path, tenant=tenant, counts=header.counts, sha256=digest)


def _opened(opening: RecordOpening, kind: str, line: str) -> str:
    return json.dumps(opening.row(kind, json.loads(line)), ensure_ascii=False)


def _header(resources: Resources, tenant: str, found: Row, *, events: bool) -> Header:
    kinds = [kind for kind in KINDS if events or kind not in HISTORY]
    return Header(
        tenant=tenant,
        exported_at=resources.clock().isoformat(),
        last_seq=found["last_seq"] if events else 0,
        last_ref=found["last_ref"],
        counts={kind: found[kind] for kind in kinds},
        events=events,
    )


async def _write(
    transaction: Transaction, writer: Writer, header: Header, progress: Progress, *, decrypt: bool
) -> None:
    done = 0
    opening = RecordOpening(transaction.vault) if transaction.vault and decrypt else None
    for kind in header.counts:
        async for page in store.lines(transaction, kind):
            for line in page:
                writer.add(export_format.record_line(kind, _opened(opening, kind, line) if opening else line))
            done += len(page)
            progress("Exporting", done, header.records)
