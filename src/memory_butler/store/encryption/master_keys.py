"""The master keys: read from a file, the settings or a command, never stored."""

import re
import secrets
import shlex
import subprocess
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_butler.settings import EncryptionSettings
from memory_butler.store.encryption.codec import KEY_BYTES, keyed_hash

COMMAND_SECONDS = 30
_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The master keys by id, the first one for new keys; without any, `problem` says why."""

    current: str | None = None
    by_id: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    problem: str | None = None


def new_key() -> str:
    """A random master key as text."""
    return urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode().rstrip("=")


def key_id(key: bytes) -> str:
    """The public name of a key."""
    return keyed_hash(key, b"id", b"").hex()[:8]


def load(settings: EncryptionSettings) -> MasterKeys:
    """Read the master keys. A problem is no error: memories that are not encrypted stay readable without a key."""
    try:
        text = _text(settings)
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError, ValueError) as problem:
        return MasterKeys(problem=f"The master key cannot be read: {_words(problem)}.")
    lines = [line.partition("#")[0] for line in text.splitlines()]
    found = [one for line in lines for one in _SEPARATOR.split(line) if one]
    if not found:
        return MasterKeys(
            problem="No master key is configured." if not settings.has_key else "The master key is empty."
        )
    keys: dict[str, bytes] = {}
    for place, one in enumerate(found, start=1):
        key = _bytes(one)
        if key is None:
            return MasterKeys(
                problem=f"Master key {place} has another form than 32 bytes in base64 or hexadecimal digits."
            )
        keys.setdefault(key_id(key), key)
    return MasterKeys(next(iter(keys)), keys)


def _text(settings: EncryptionSettings) -> str:
    if settings.key:
        return settings.key.get_secret_value()
    if settings.key_file:
        return settings.key_file.expanduser().read_text(encoding="utf-8")
    if settings.key_command:
        command = shlex.split(settings.key_command)
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True)
        return done.stdout
    return ""


def _words(problem: Exception) -> str:
    match problem:
        case OSError():
            return f"{problem.filename}: {problem.strerror}"
        case subprocess.CalledProcessError():
            return f"encryption.key_command ended with status {problem.returncode}"
        case subprocess.TimeoutExpired():
            return f"encryption.key_command took more than {COMMAND_SECONDS} seconds"
    return str(problem)


def _bytes(text: str) -> bytes | None:
    try:
        key = bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else urlsafe_b64decode(_padded(text))
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def _padded(text: str) -> str:
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    return plain + "=" * (-len(plain) % 4)
