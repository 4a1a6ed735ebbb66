"""Positions in the write-ahead log, as PostgreSQL writes them."""

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.models.log_position import format_position as formatted
from memory_butler.models.log_position import parse_position as parsed


@pytest.mark.parametrize(("text", "number"), [("0/0", 0), ("0/3000148", 0x3000148), ("1F/FFFFFFFF", 0x1FFFFFFFFF)])
def test_a_position_is_read_and_written_as_postgresql_does(text: str, number: int) -> None:
    assert (parsed(text), formatted(number)) == (number, text)


@pytest.mark.parametrize("text", ["", "7", "0/", "x/1", "0/1/2", "123456789/0", "-1/0", "0/0\n0/1", "9" * 5000])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a position"):
        parsed(text)
