"""The form of an encrypted text: AES-256-GCM, bound to its tenant, row and column, and marked as encrypted.

    enc:v1:<id of the data key>:<nonce and ciphertext in base64>

The nonce is derived from the text and its place by a keyed hash: the same text in the same place is encrypted to the
same value, so that a repeated write stores no second version, and no nonce is used for two different texts.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory_butler.models.unreadable import SEALED_MARK

MARK = SEALED_MARK
KEY_BYTES = 32
NONCE_BYTES = 12
_SHAPE = re.compile(rf"{MARK}(?P<key>[0-9a-f]{{8}}):(?P<box>[A-Za-z0-9_-]{{38,}})", re.ASCII)


class Damaged(Exception):
    """A ciphertext that its key does not open here."""


def is_sealed(value: object) -> bool:
    return isinstance(value, str) and value.startswith(MARK)


def key_of(sealed: str) -> str:
    """The id of the key that encrypted a text. Raises Damaged if the text has another form."""
    found = _SHAPE.fullmatch(sealed)
    if found is None:
        raise Damaged
    return found["key"]


def place_of(tenant: str, row: UUID | str, column: str) -> bytes:
    """The additional authenticated data of a text: a ciphertext opens in this place only."""
    return "\x1f".join(("memory-butler", MARK, tenant, str(row), column)).encode()


def seal(key_id: str, key: bytes, text: str, place: bytes) -> str:
    """Encrypt a text for one place."""
    plain = text.encode()
    nonce = keyed_hash(key, b"nonce", len(place).to_bytes(4, "big") + place + plain)[:NONCE_BYTES]
    box = nonce + AESGCM(key).encrypt(nonce, plain, place)
    return f"{MARK}{key_id}:{urlsafe_b64encode(box).decode().rstrip('=')}"


def unseal(key: bytes, sealed: str, place: bytes) -> str:
    """Decrypt a text. Raises Damaged if it was changed or belongs to another place."""
    found = _SHAPE.fullmatch(sealed)
    if found is None:
        raise Damaged
    try:
        box = urlsafe_b64decode(found["box"] + "=" * (-len(found["box"]) % 4))
        return AESGCM(key).decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], place).decode()
    except (InvalidTag, ValueError) as problem:
        raise Damaged from problem


def wrap(master: bytes, key: bytes, nonce: bytes, about: bytes) -> bytes:
    """Encrypt a tenant's key with the master key."""
    return nonce + AESGCM(master).encrypt(nonce, key, about)


def unwrap(master: bytes, wrapped: bytes, about: bytes) -> bytes:
    """Decrypt a tenant's key. Raises Damaged if the master key is another one, or the key belongs to another tenant."""
    try:
        return AESGCM(master).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], about)
    except (InvalidTag, ValueError) as problem:
        raise Damaged from problem


def keyed_hash(key: bytes, purpose: bytes, data: bytes) -> bytes:
    """A hash that only the holder of the key can compute, for one purpose."""
    return hmac.new(hmac.digest(key, purpose, hashlib.sha256), data, hashlib.sha256).digest()
