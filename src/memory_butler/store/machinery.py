"""What holds the store: its programs, how large it is, and what it was indexed with."""

from memory_butler.store.database import Row, Session


async def versions(session: Session) -> Row:
    row = await session.one("machinery.versions")
    assert row
    return row


async def coverage(session: Session) -> list[Row]:
    """How many memories each embedding version has indexed; those that none has come without one."""
    return await session.all("machinery.coverage")


async def sizes(session: Session) -> tuple[int, list[Row]]:
    """The bytes of the whole database, and its tables of ours, the largest first."""
    whole = await session.one("machinery.whole_size")
    assert whole
    return int(whole["bytes"]), await session.all("machinery.sizes")
