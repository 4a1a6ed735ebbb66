"""JSON edited as text: what is put in can be taken out, and nothing else moves."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.adapters.connect import json_text
from memory_butler.adapters.connect.json_text import NotJson

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from(["mcpServers", "a", "b c", "ü"]), values, max_size=4)
shapes = st.sampled_from([None, 2, 4, "\t"])
ENTRY = {"command": "x", "args": ["mcp"]}


def without_servers(value: dict[str, Any]) -> dict[str, Any]:
    return value if isinstance(value.get("mcpServers", {}), dict) else {**value, "mcpServers": {}}


@settings(max_examples=50)
@given(documents.map(without_servers), shapes, st.sampled_from(["\n", "\r\n"]))
def test_what_is_put_in_is_there_and_can_be_taken_out(document: dict[str, Any], indent: Any, newline: str) -> None:
    """For any document in any layout: the value has one more member, and without it is the value it was."""
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)
    put = json_text.put(text, ("mcpServers", "memory-butler"), ENTRY)
    wanted = {**document, "mcpServers": {**document.get("mcpServers", {}), "memory-butler": ENTRY}}
    assert json.loads(put) == wanted
    taken = json_text.take(put, ("mcpServers", "memory-butler"))
    assert json.loads(taken) == {"mcpServers": {}, **document}
    if document.get("mcpServers"):
        assert taken == text


@settings(max_examples=50)
@given(values)
def test_json_is_read_as_the_library_reads_it(value: Any) -> None:
    """The reader that knows places agrees with the one that does not."""
    assert json_text.value_of(json.dumps(value, indent=1)) == value


WITH_REMARKS = """\
// what I use
{
    /* editors */
    "mcpServers": {
        "files": { "command": "files" }, // mine
        "web": { "command": "web" }, // yours
    },
}
"""


def test_remarks_stay_where_they_are() -> None:
    """Comments, and commas at the end, are kept to the byte when an entry comes and goes."""
    put = json_text.put(WITH_REMARKS, ("mcpServers", "memory-butler"), ENTRY)
    assert '"web": { "command": "web" }, // yours\n        "memory-butler": {' in put
    assert json_text.take(put, ("mcpServers", "memory-butler")) == WITH_REMARKS


@pytest.mark.parametrize("gone", ["files", "web", "memory-butler"])
def test_each_entry_can_go_without_the_others(gone: str) -> None:
    """First, middle or last: the rest is still JSON and says the same."""
    put = json_text.put(WITH_REMARKS, ("mcpServers", "memory-butler"), ENTRY)
    left = json_text.value_of(json_text.take(put, ("mcpServers", gone)))["mcpServers"]
    assert list(left) == [name for name in ("files", "web", "memory-butler") if name != gone]


@pytest.mark.parametrize(
    "text", ["", "{", '{"a" 1}', '{"a": 1 "b": 2}', "{} {}", "nonsense", '{"a": }', "[1, 2", "\x00", '{"a": "b\n"}']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(NotJson):
        json_text.value_of(text)


def test_a_place_of_another_kind_is_refused() -> None:
    """A list where an object is needed stays as it is."""
    with pytest.raises(NotJson):
        json_text.put('{"mcpServers": []}', ("mcpServers", "memory-butler"), ENTRY)
