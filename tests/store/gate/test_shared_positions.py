"""Positions after the last writes, shared by server processes."""

from pathlib import Path

from memory_butler.store.gate.shared_positions import SLOTS, SharedPositions, _slot


def test_each_process_sees_the_writes_of_all(tmp_path: Path) -> None:
    first, second = (SharedPositions(tmp_path / "positions", number, 2) for number in range(2))
    first.record("acme", 0x3000148)
    assert (first.of("acme"), second.of("acme"), second.of("other")) == (0x3000148, 0x3000148, 0)
    second.record("acme", 0x2000000)
    first.record("acme", 0x1000000)
    assert first.of("acme") == second.of("acme") == 0x3000148


def test_a_process_forgets_its_own_writes_only(tmp_path: Path) -> None:
    """After a failover each process notices by itself that the log is another one."""
    first, second = (SharedPositions(tmp_path / "positions", number, 2) for number in range(2))
    first.record("acme", 7)
    second.record("acme", 5)
    first.clear()
    assert first.of("acme") == second.of("acme") == 5
    # A process that is started anew begins without the writes of the one before it.
    assert SharedPositions(tmp_path / "positions", 1, 2).of("acme") == 0


def test_tenants_of_one_slot_wait_for_each_other(tmp_path: Path) -> None:
    """A tenant may wait for nothing, but never misses its own write."""
    names = iter(f"tenant-{number}" for number in range(10 * SLOTS))
    other = next(name for name in names if _slot(name) == _slot("acme"))
    shared = SharedPositions(tmp_path / "positions", 0, 1)
    shared.record(other, 9)
    assert shared.of("acme") == 9
