"""The doctor says whether encryption is on."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from memory_butler.adapters.doctor.encryption_check import check_encryption
from memory_butler.adapters.doctor.findings import CheckContext
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import EncryptionSettings, load_settings
from memory_butler.store.encryption.master_keys import new_key
from memory_butler.store.gate.migrate import HEAD

KEY = new_key()


@pytest.mark.parametrize(
    ("mode", "text", "state", "words"),
    [
        (None, "", "ok", "off"),
        (0o600, "key", "ok", "on, master key"),
        (0o644, "key", "warning", "other accounts can read"),
        (0o600, "odd", "problem", "Master key 1 has another form"),
    ],
)
def test_the_state_of_encryption(tmp_path: Path, mode: int | None, text: str, state: str, words: str) -> None:
    """Off, on, readable by others, or not a key."""
    file = tmp_path / "key"
    given = {}
    if mode is not None:
        file.write_text(KEY if text == "key" else text, encoding="utf-8")
        file.chmod(mode)
        given = {"encryption": {"key_file": file}}
    [finding] = check_encryption(CheckContext(load_settings(home=tmp_path / "home", **given)))
    assert finding.status == state and words in finding.message


async def test_a_missing_or_wrong_key_of_an_encrypted_store(encrypted: Resources) -> None:
    """The store knows which master key its texts need."""
    await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"))

    async def check(given: EncryptionSettings) -> tuple[str, str]:
        settings = encrypted.settings.model_copy(update={"encryption": given})
        context = CheckContext(settings, diagnostics=object(), revision=HEAD)
        [finding] = await asyncio.to_thread(lambda: list(check_encryption(context)))
        return finding.status, finding.message

    assert (await check(encrypted.settings.encryption))[0] == "ok"
    assert await check(EncryptionSettings()) == (
        "problem",
        "the store has encrypted texts, but no master key is set",
    )
    state, words = await check(EncryptionSettings(key=SecretStr(KEY)))
    assert state == "problem" and "another master key" in words
