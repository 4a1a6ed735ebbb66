"""Labels with a time, as chat programs export them."""

import pytest

from memory_butler.english.text.chat_stamps import stamped_label


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[18:02] Dai: can you", "Dai"),
        ("18:02 Dai: can you", "Dai"),
        ("12/11/2025, 18:02 - Dai Jones: hello", "Dai Jones"),
        ("[12.11.25, 18:02:33] Anna Schmidt: hallo", "Anna Schmidt"),
        ("Basile 10:12: j'ai fini", "Basile"),
        ("Sol 9pm: coming?", "Sol"),
        ("Ada 9.04 p.m.: yes", "Ada"),
        ("Dai (18:02): hi", "Dai"),
    ],
)
def test_a_time_before_or_after_the_name(line: str, name: str) -> None:
    found = stamped_label(line)
    assert found is not None
    assert (found[0], line[found[1] - 2 : found[1]]) == (name, ": ")


@pytest.mark.parametrize(
    "line",
    [
        "Gwen: yes",
        "2025-11-12T08:00:00 ERROR: fail",
        "INFO 12:00:01: started",
        "09:00 Dentist",
        "Kinelog 5",
        "3 eggs: x",
    ],
)
def test_notes_and_logs_have_no_such_label(line: str) -> None:
    assert stamped_label(line) is None
