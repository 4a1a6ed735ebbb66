"""The form of encrypted texts: what is sealed opens in its own place only, and every change is noticed."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.store.encryption import codec
from memory_butler.store.encryption.codec import Damaged

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
PLACE = codec.place_of("default", UUID(int=7), "content")
TEXTS = st.text()
IDS = st.uuids()


@given(TEXTS, IDS, st.sampled_from(["content", "metadata", "reason"]))
def test_a_sealed_text_opens_in_its_place(text: str, row: UUID, column: str) -> None:
    """Any text comes back as it was; its sealed form names the key and is plain ASCII without quotes."""
    place = codec.place_of("default", row, column)
    sealed = codec.seal("0123abcd", KEY, text, place)
    assert codec.unseal(KEY, sealed, place) == text
    assert codec.key_of(sealed) == "0123abcd" and codec.is_sealed(sealed)
    assert sealed.isascii() and not set(sealed) & set("\"'\\ ")


@given(TEXTS, IDS, IDS)
def test_it_opens_nowhere_else(text: str, row: UUID, other: UUID) -> None:
    """Another row, column, tenant or key: damaged."""
    sealed = codec.seal("0123abcd", KEY, text, codec.place_of("default", row, "content"))
    elsewhere = [codec.place_of("default", row, "metadata"), codec.place_of("other", row, "content")]
    elsewhere += [codec.place_of("default", other, "content")] if other != row else []
    for place in elsewhere:
        with pytest.raises(Damaged):
            codec.unseal(KEY, sealed, place)
    with pytest.raises(Damaged):
        codec.unseal(OTHER, sealed, codec.place_of("default", row, "content"))


@given(st.text(min_size=1), st.data())
def test_every_changed_character_is_noticed(text: str, data: st.DataObject) -> None:
    """A sealed text with one character replaced does not open."""
    sealed = codec.seal("0123abcd", KEY, text, PLACE)
    start = len("enc:v1:0123abcd:")
    # The last character may carry unused bits.
    at = data.draw(st.integers(start, len(sealed) - 2))
    new = data.draw(st.sampled_from([one for one in "Aa0_-z" if one != sealed[at]]))
    with pytest.raises(Damaged):
        codec.unseal(KEY, sealed[:at] + new + sealed[at + 1 :], PLACE)


@given(TEXTS, TEXTS)
def test_the_nonce_belongs_to_the_text(one: str, other: str) -> None:
    """The same text in the same place is sealed to the same value; another text gets another nonce."""
    first, again = codec.seal("0123abcd", KEY, one, PLACE), codec.seal("0123abcd", KEY, one, PLACE)
    second = codec.seal("0123abcd", KEY, other, PLACE)
    start = len("enc:v1:0123abcd:")
    assert first == again
    assert (first[start : start + 16] == second[start : start + 16]) == (one == other)


@given(TEXTS)
def test_other_texts_are_damaged(text: str) -> None:
    """A text without the form of a sealed one has no key and does not open."""
    for odd in (text, f"enc:v1:{text}", f"enc:v1:0123abcd:{text}"):
        with pytest.raises(Damaged):
            codec.unseal(KEY, odd, PLACE)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=12, max_size=12))
def test_a_wrapped_key_opens_for_its_tenant_only(key: bytes, nonce: bytes) -> None:
    """With another master key, or as the key of another tenant, it is damaged."""
    wrapped = codec.wrap(KEY, key, nonce, b"tenant")
    assert codec.unwrap(KEY, wrapped, b"tenant") == key
    for master, about in ((OTHER, b"tenant"), (KEY, b"other")):
        with pytest.raises(Damaged):
            codec.unwrap(master, wrapped, about)
