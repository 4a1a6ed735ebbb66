"""Master keys: from the settings, a file or a command; a problem is told, not raised."""

from base64 import b64encode
from pathlib import Path

import pytest
from pydantic import SecretStr

from memory_butler.errors import InvalidInput
from memory_butler.settings import EncryptionSettings, load_settings
from memory_butler.store.encryption.master_keys import key_id, load, new_key


def test_a_key_from_each_source(tmp_path: Path) -> None:
    """The same key is read from the settings, a file and a command, in base64 or hexadecimal digits."""
    key = bytes(range(32))
    file = tmp_path / "key"
    file.write_text(f"# the key of this store\n{b64encode(key).decode()}\n", encoding="utf-8")
    for settings in (
        EncryptionSettings(key=SecretStr(key.hex())),
        EncryptionSettings(key_file=file),
        EncryptionSettings(key_command=f"cat {file}"),
    ):
        assert load(settings).by_id == {key_id(key): key}


def test_the_first_of_several_is_used() -> None:
    """Others are kept, to read what they encrypted."""
    old, new = new_key(), new_key()
    found = load(EncryptionSettings(key=SecretStr(f"{new},{old}")))
    assert len(found.by_id) == 2 and found.current == next(iter(found.by_id))
    assert load(EncryptionSettings(key=SecretStr(new))).current == found.current
    assert repr(found).count(new[:10]) == 0


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (EncryptionSettings(), "No master key is configured."),
        (EncryptionSettings(key=SecretStr("short")), "Master key 1 has another form"),
        (EncryptionSettings(key_file=Path("/nowhere/key")), "/nowhere/key: No such file or directory"),
        (EncryptionSettings(key_command="false"), "ended with status 1"),
        (EncryptionSettings(key_command="true"), "The master key is empty."),
        (EncryptionSettings(key_command="no-such-command-here"), "No such file or directory"),
    ],
)
def test_problems_are_told(settings: EncryptionSettings, problem: str) -> None:
    """A key that cannot be read leaves the store readable, with a reason."""
    found = load(settings)
    assert found.current is None and found.problem and problem in found.problem


def test_a_key_file_in_the_home_folder_is_refused(tmp_path: Path) -> None:
    """A backup of the home folder would contain it."""
    with pytest.raises(InvalidInput, match="key_file is in the home folder"):
        load_settings(home=tmp_path, encryption={"key_file": tmp_path / "keys" / "master"})
