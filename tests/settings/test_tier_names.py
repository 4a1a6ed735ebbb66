"""The names of the generational document: `[butler.memory.eden]` and the other tiers."""

from pathlib import Path

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.settings import load_settings

FILE = """
[butler]
name = "home"
[butler.memory]
enabled = true
[butler.memory.eden]
ttl_hours = 36
max_entries = 1000
promote_after_refs = 4
promote_after_hours = 5
[butler.memory.mid]
ttl_days = 30
max_entries = 500
promote_after_refs = 12
promote_after_days = 6
[butler.memory.long]
ttl_days = 365
max_entries = 200
"""


def test_the_names_of_the_tiers_are_read(tmp_path: Path) -> None:
    """Each reaches the setting that does it; the setting itself comes first if both are given."""
    (tmp_path / "config.toml").write_text(FILE)
    settings = load_settings(home=tmp_path)
    eden, mid, long = settings.lifecycle.eden, settings.lifecycle.mid, settings.lifecycle.long
    assert (eden.ttl_days, eden.capacity, eden.first_after_sessions, eden.first_after_hours) == (1.5, 1000, 4, 5)
    assert (mid.stale_after_days, mid.capacity, mid.promote_after_references, mid.promote_after_days) == (
        30,
        500,
        12,
        6,
    )
    assert (long.stale_after_days, long.capacity, settings.butler) == (365, 200, "home")
    (tmp_path / "config.toml").write_text(FILE + "[lifecycle.eden]\nttl_days = 3\n")
    assert load_settings(home=tmp_path).lifecycle.eden.ttl_days == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[butler.memory.eden]\nttl_ours = 3\n", "ttl_ours"),
        ("[butler.memory.edn]\nttl_hours = 3\n", "butler.memory.edn is not one of"),
        ("[butler]\nnaem = 'x'\n", "naem"),
    ],
)
def test_misspelt_names_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(InvalidInput, match=said):
        load_settings(home=tmp_path)


def test_a_name_of_a_butler_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('butler = "coder"\n')
    assert load_settings(home=tmp_path).butler == "coder"
