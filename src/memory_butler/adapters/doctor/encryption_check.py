"""The doctor's check of encryption: whether it is on, and whether the master key can be read and is the right one."""

import asyncio
import stat
from collections.abc import Iterator

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.settings import Settings
from memory_butler.store.encryption.master_keys import load

ADVICE = "Correct encryption.key_file, encryption.key or encryption.key_command; see docs/guides/encryption.md."


def check_encryption(context: CheckContext) -> Iterator[Finding]:
    settings, found = context.settings.encryption, load(context.settings.encryption)
    used = _master_keys_in_use(context)
    if not settings.has_key:
        if used:
            yield Finding("encryption", "problem", "the store has encrypted texts, but no master key is set", ADVICE)
        else:
            yield Finding("encryption", "ok", "off: no master key is configured")
        return
    if found.problem:
        yield Finding("encryption", "problem", found.problem, ADVICE)
        return
    if missing := sorted(used - found.by_id.keys()):
        text = f"texts of the store are encrypted with another master key: {', '.join(missing)}"
        yield Finding("encryption", "problem", text, ADVICE)
        return
    file = settings.key_file.expanduser() if settings.key_file and not settings.key else None
    if file and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding("encryption", "warning", f"other accounts can read {file}", f"Run: chmod 600 {file}")
        return
    yield Finding(
        "encryption", "ok", f"on, master key {found.current}, policies {', '.join(sorted(settings.policies))}"
    )


def _master_keys_in_use(context: CheckContext) -> set[str]:
    """The master keys that encrypt the keys of the tenant; none if the store cannot be asked."""
    from memory_butler.store.gate.migrate import HEAD  # noqa: PLC0415 (an import error is another check's finding)

    if context.diagnostics is None or context.revision != HEAD:
        return set()
    return asyncio.run(_ask(context.settings))


async def _ask(settings: Settings) -> set[str]:
    from memory_butler.store.encryption import tenant_keys  # noqa: PLC0415
    from memory_butler.store.gate.database import Database  # noqa: PLC0415

    database = Database.from_settings(settings)
    try:
        await database.open(upgrade=False)
        async with database.read(settings.tenant) as transaction:
            return {key.master_id for key in await tenant_keys.of_tenant(transaction) if key.wrapped is not None}
    finally:
        await database.close()
