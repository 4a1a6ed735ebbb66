"""The doctor's check of encryption: whether it is on, and whether the master key can be read."""

import stat
from collections.abc import Iterator

from memory_butler.adapters.doctor.findings import CheckContext, Finding
from memory_butler.store.encryption.master_keys import load


def check_encryption(context: CheckContext) -> Iterator[Finding]:
    settings = context.settings.encryption
    if not settings.has_key:
        yield Finding("encryption", "ok", "off: no master key is configured")
        return
    found = load(settings)
    if found.problem:
        advice = "Correct encryption.key_file, encryption.key or encryption.key_command; see docs/guides/encryption.md."
        yield Finding("encryption", "problem", found.problem, advice)
        return
    file = settings.key_file.expanduser() if settings.key_file and not settings.key else None
    if file and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding("encryption", "warning", f"other accounts can read {file}", f"Run: chmod 600 {file}")
        return
    yield Finding(
        "encryption", "ok", f"on, master key {found.current}, policies {', '.join(sorted(settings.policies))}"
    )
