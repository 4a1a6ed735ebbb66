"""Export: all of a tenant's memory into one file that Memory Butler can read anywhere."""

from dataclasses import dataclass
from pathlib import Path

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import Caller
from memory_butler.operations.transfer_file import Progress, Writer, unseen, written_whole
from memory_butler.operations.visits import note_visit
from memory_butler.policy import transfer
from memory_butler.policy.roles import check_role
from memory_butler.policy.transfer import HISTORY, KINDS, Header
from memory_butler.store import transfer as store
from memory_butler.store.database import Row, Session

LONGEST_SECONDS = 6 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What went into the file, and the checksum that stands at its end."""

    path: Path
    tenant: str
    counts: dict[str, int]
    sha256: str


async def export(
    butler: Butler,
    path: Path,
    caller: Caller | None = None,
    *,
    events: bool = True,
    replace: bool = False,
    progress: Progress = unseen,
) -> Exported:
    """Write the caller's tenant into a file, as it was at one moment. Writers go on meanwhile."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "export")
    tenant = caller.principal.tenant
    async with butler.database.read(tenant) as session:
        if await store.counts(session) is None:
            raise NotFound(f"There is no tenant {tenant!r}.", recovery="Check its name; nothing was written.")
    await note_visit(butler, caller, "export")
    with written_whole(path, replace=replace) as file:
        async with butler.database.rehearse(tenant, LONGEST_SECONDS) as session:
            found = await store.counts(session)
            assert found
            header = _header(butler, tenant, found, events=events)
            writer = Writer(file)
            writer.add(transfer.header_line(header))
            await _write(session, writer, header, progress)
        digest = writer.end()
    return Exported(path=path, tenant=tenant, counts=header.counts, sha256=digest)


def _header(butler: Butler, tenant: str, found: Row, *, events: bool) -> Header:
    kinds = [kind for kind in KINDS if events or kind not in HISTORY]
    return Header(
        tenant=tenant,
        exported_at=butler.clock().isoformat(),
        last_seq=found["last_seq"] if events else 0,
        last_ref=found["last_ref"],
        counts={kind: found[kind] for kind in kinds},
        events=events,
    )


async def _write(session: Session, writer: Writer, header: Header, progress: Progress) -> None:
    done = 0
    for kind in header.counts:
        async for page in store.lines(session, kind):
            for line in page:
                writer.add(transfer.record_line(kind, line))
            done += len(page)
            progress("Exporting", done, header.records)
