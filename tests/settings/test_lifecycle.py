"""The settings of the lifecycle: a preset, what is chosen over it, and what differs for single butlers."""

import re
from pathlib import Path
from typing import Any

import pytest

import memory_butler
from memory_butler.errors import InvalidInput
from memory_butler.settings import EdenTier, Lifecycle, LongTier, Settings, load_settings

GENERATIONAL = {
    "preset": "generational",
    "eden": {
        "ttl_days": 1,
        "capacity": 1000,
        "first_after_sessions": 3,
        "first_after_hours": 6,
        "protected_from": 3,
        "warn_days": 2,
        "warn_importance": 7,
    },
    "mid": {"capacity": 500, "stale_after_days": 30, "promote_after_references": 10, "promote_after_days": 7},
    "long": {"capacity": 200, "stale_after_days": 365},
    "decay": Lifecycle().decay.model_dump(),
    "maturity": Lifecycle().maturity.model_dump(),
}


def configured(home: Path, text: str) -> Settings:
    (home / "config.toml").write_text(text)
    return load_settings(home=home)


def test_the_defaults_are_generous(tmp_path: Path) -> None:
    """Episodes live for a week, nothing goes for lack of use alone, and the tiers are large."""
    found = load_settings(home=tmp_path).lifecycle
    assert (found.preset, found.eden.ttl_days) == ("generous", 7)
    assert (found.mid.stale_after_days, found.long.stale_after_days) == (None, None)
    assert min(found.eden.capacity, found.mid.capacity, found.long.capacity) >= 50_000
    assert (found.eden.first_after_sessions, found.eden.first_after_hours) == (3, 6)
    assert (found.mid.promote_after_references, found.mid.promote_after_days) == (10, 7)


def test_the_generational_preset_has_its_own_numbers(tmp_path: Path) -> None:
    """A day and a thousand entries in Eden, thirty days and 500 in mid, a year and 200 in long."""
    assert configured(tmp_path, '[lifecycle]\npreset = "generational"\n').lifecycle.model_dump() == GENERATIONAL


def test_what_is_chosen_counts_more_than_the_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset is where the numbers start from, wherever the preset and the numbers come from."""
    monkeypatch.setenv("MEMORY_BUTLER_LIFECYCLE__PRESET", "generational")
    monkeypatch.setenv("MEMORY_BUTLER_LIFECYCLE__LONG__CAPACITY", "20")
    found = configured(tmp_path, "[lifecycle.eden]\nttl_days = 2\n").lifecycle
    assert (found.eden.ttl_days, found.eden.capacity) == (2, 1000)
    assert (found.long.capacity, found.long.stale_after_days) == (20, 365)
    assert found.mid.capacity == 500


def test_a_butler_inherits_what_is_not_set_for_it(tmp_path: Path) -> None:
    """One number for one butler leaves its other numbers, and the other butlers, as they are."""
    found = configured(
        tmp_path,
        '[lifecycle]\npreset = "generational"\n[lifecycle.mid]\ncapacity = 2000\n'
        "[butlers.coder.lifecycle.eden]\nttl_days = 3\n",
    )
    coder, other = found.lifecycle_of("coder"), found.lifecycle_of("somebody-else")
    assert other == found.lifecycle
    assert (coder.eden.ttl_days, other.eden.ttl_days) == (3, 1)
    assert (coder.eden.capacity, coder.mid.capacity, coder.long.capacity) == (1000, 2000, 200)


def test_a_butler_may_have_a_preset_of_its_own(tmp_path: Path) -> None:
    """It starts from that preset's numbers; what was chosen for everybody still counts, another preset's do not."""
    small = configured(tmp_path, '[lifecycle.mid]\ncapacity = 7\n[butlers.coder.lifecycle]\npreset = "generational"\n')
    assert small.lifecycle_of("coder").model_dump() == {**GENERATIONAL, "mid": {**GENERATIONAL["mid"], "capacity": 7}}  # type: ignore[dict-item]
    assert small.lifecycle.long.capacity == 100_000
    large = configured(
        tmp_path,
        '[lifecycle]\npreset = "generational"\nmid.capacity = 7\n[butlers.archive.lifecycle]\npreset = "generous"\n',
    ).lifecycle_of("archive")
    assert large == Lifecycle.model_validate({"mid": {"capacity": 7}})


def test_a_butler_is_set_by_the_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name between underscores, or as JSON where the name needs it; it is laid over the file."""
    monkeypatch.setenv("MEMORY_BUTLER_BUTLERS__CODER__LIFECYCLE__EDEN__TTL_DAYS", "1.5")
    monkeypatch.setenv("MEMORY_BUTLER_BUTLERS__CODER__LIFECYCLE__PRESET", "generational")
    found = configured(tmp_path, "[butlers.coder.lifecycle.eden]\nttl_days = 3\ncapacity = 9\n")
    coder = found.lifecycle_of("coder")
    assert (coder.eden.ttl_days, coder.eden.capacity, coder.long.capacity) == (1.5, 9, 200)
    monkeypatch.setenv("MEMORY_BUTLER_BUTLERS", '{"home-office": {"lifecycle": {"mid": {"stale_after_days": 20}}}}')
    both = load_settings(home=tmp_path)
    assert both.lifecycle_of("home-office").mid.stale_after_days == 20
    assert both.lifecycle_of("coder") == coder


def test_settings_made_in_code_behave_the_same(tmp_path: Path) -> None:
    """A group given as an object counts for what was chosen in it, and a copy with a change keeps the change."""
    given = Lifecycle(preset="generational", eden=EdenTier(ttl_days=4))
    assert (given.eden.ttl_days, given.eden.capacity) == (4, 1000)
    given = given.model_copy(update={"long": LongTier(capacity=9)})
    found = load_settings(home=tmp_path, lifecycle=given, butlers={"a": {"lifecycle": {"mid": {"capacity": 5}}}})
    own = found.lifecycle_of("a")
    assert (own.eden.ttl_days, own.eden.capacity, own.mid.capacity, own.long.capacity) == (4, 1000, 5, 9)


def test_rates_and_thresholds_have_the_numbers_of_the_contract_as_defaults() -> None:
    """Rates by permanence class, fading and expiry, and the evidence of each maturity."""
    assert list(Lifecycle().decay.model_dump().values()) == [0.0, 0.002, 0.008, 0.03, 0.1, 0.2, 0.05]
    assert list(Lifecycle().maturity.model_dump().values()) == [5, 0.6, 15, 0.8, 30, 3, 0.3]


def test_a_butler_has_rates_of_its_own(tmp_path: Path) -> None:
    """One rate for one butler leaves its other rates, and the other butlers, as they are."""
    found = configured(
        tmp_path, "[lifecycle.decay]\nstable_per_day = 0.001\n[butlers.coder.lifecycle.decay]\nstandard_per_day = 0.5\n"
    )
    own, other = found.lifecycle_of("coder").decay, found.lifecycle_of("somebody-else").decay
    assert (own.stable_per_day, own.standard_per_day) == (0.001, 0.5)
    assert (other.stable_per_day, other.standard_per_day) == (0.001, 0.008)
    assert found.fading_thresholds() == {None: 0.2, "coder": 0.2}


def test_the_least_confidence_of_a_search_is_the_fading_threshold(tmp_path: Path) -> None:
    """Unless the caller or the settings name another."""
    found = load_settings(home=tmp_path, lifecycle={"decay": {"fading_below": 0.4}})
    assert (found.min_confidence_of(None), found.min_confidence_of(0.0)) == (0.4, 0.0)
    assert load_settings(home=tmp_path, retrieval={"min_confidence": 0.3}).min_confidence_of(None) == 0.3


def test_a_rate_is_written_in_one_file() -> None:
    """Changing the decay rate of stable facts touches the settings alone. Revision 0001 is history."""
    package = Path(memory_butler.__file__).parent
    files = [path for kind in ("*.py", "*.sql", "*.js") for path in package.rglob(kind)]
    rate = re.compile(r"\b0\.002\b")
    found = {str(path.relative_to(package)) for path in files if rate.search(path.read_text(encoding="utf-8"))}
    assert found == {"settings/lifecycle.py", "store/migrations/0001_core.sql"}


def inside(**lifecycle: Any) -> dict[str, Any]:
    return {"lifecycle": lifecycle}


WRONG = {
    "a preset that does not exist": (inside(preset="stingy"), "lifecycle.preset: .*'generous' or 'generational'"),
    "an Eden without room": (inside(eden={"capacity": 0}), "lifecycle.eden.capacity"),
    "a tier without room": (inside(mid={"capacity": 0}), "lifecycle.mid.capacity"),
    "a negative rate": (inside(decay={"stable_per_day": -0.001}), "lifecycle.decay.stable_per_day"),
    "an infinite rate": (inside(decay={"stable_per_day": float("inf")}), "lifecycle.decay.stable_per_day"),
    "a rate that is no number": (inside(decay={"stable_per_day": float("nan")}), "lifecycle.decay.stable_per_day"),
    "expiry above fading": (
        inside(decay={"expired_below": 0.3}),
        r"lifecycle.decay: expired_below \(0.3\) must be less than fading_below \(0.2\)",
    ),
    "proven by fewer successes": (
        inside(maturity={"proven_successes": 4}),
        r"lifecycle.maturity: established_successes \(5\) must not be more than proven_successes \(4\)",
    ),
    "established below inversion": (
        inside(maturity={"inverted_below": 0.7}),
        r"lifecycle.maturity: inverted_below \(0.7\) must not be more than established_effectiveness \(0.6\)",
    ),
    "episodes that do not live": (inside(eden={"ttl_days": 0}), "lifecycle.eden.ttl_days"),
    "episodes that live for ever": (inside(eden={"ttl_days": float("inf")}), "lifecycle.eden.ttl_days"),
    "days that are no number": (inside(mid={"promote_after_days": float("nan")}), "lifecycle.mid.promote_after_days"),
    "promotion by no reference": (inside(mid={"promote_after_references": 0}), "mid.promote_after_references"),
    "protection by no reference": (inside(eden={"protected_from": 0}), "lifecycle.eden.protected_from"),
    "a number that is none": (inside(long={"capacity": "many"}), "lifecycle.long.capacity"),
    "episodes too short-lived to be first in line": (
        inside(eden={"ttl_days": 0.25}),
        r"lifecycle.eden: first_after_hours \(6\) must be less than ttl_days",
    ),
    "staleness before promotion": (
        inside(mid={"stale_after_days": 5}),
        r"lifecycle.mid: promote_after_days \(7\) is more than stale_after_days \(5\)",
    ),
    "a long term that is shorter": (
        inside(mid={"stale_after_days": 40}, long={"stale_after_days": 30}),
        r"lifecycle: long.stale_after_days \(30\) is less than mid.stale_after_days \(40\)",
    ),
    "a preset and a number that contradict it": (
        inside(preset="generational", eden={"first_after_hours": 24}),
        r"lifecycle.eden: first_after_hours \(24\)",
    ),
    "an unknown setting of a butler": (
        {"butlers": {"coder": inside(eden={"ttl": 1})}},
        "butlers.coder.lifecycle.eden.ttl: Extra",
    ),
    "an unknown group of a butler": ({"butlers": {"coder": {"retrieval": {"limit": 1}}}}, "butlers.coder.retrieval"),
    "a butler's number that contradicts an inherited one": (
        {**inside(mid={"stale_after_days": 10}), "butlers": {"coder": inside(mid={"promote_after_days": 11})}},
        r"butlers.coder.lifecycle.mid: promote_after_days \(11\)",
    ),
    "a butler without room": ({"butlers": {"coder": inside(long={"capacity": 0})}}, "butlers.coder.lifecycle.long"),
    "a butler that is no plain name": ({"butlers": {"My Coder": {}}}, "butlers.My Coder"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_what_contradicts_itself_is_refused_by_name(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    """The start is refused with the name of the setting, not with a surprise weeks later."""
    with pytest.raises(InvalidInput, match=message) as caught:
        load_settings(home=tmp_path, **given)
    assert "config.toml" in caught.value.recovery
    assert "Value error" not in caught.value.message


def test_a_timetable_that_is_looked_at_too_seldom_is_refused(tmp_path: Path) -> None:
    """Looking once an hour for what is due every quarter of an hour would always be late."""
    with pytest.raises(InvalidInput, match="tick_seconds"):
        load_settings(home=tmp_path, upkeep={"tick_seconds": 3600, "consolidation_hours": 0.25})
