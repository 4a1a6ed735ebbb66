"""The doctor says whether encryption is on."""

from pathlib import Path

import pytest

from memory_butler.adapters.doctor.encryption_check import check_encryption
from memory_butler.adapters.doctor.findings import CheckContext
from memory_butler.settings import load_settings
from memory_butler.store.encryption.master_keys import new_key

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
