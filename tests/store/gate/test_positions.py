"""The positions that one call, and one process, remember."""

from memory_butler.store.gate.positions import CallPosition, TenantPositions, current, stale_note


def test_a_tenant_keeps_its_largest_position_and_old_tenants_are_forgotten() -> None:
    kept = TenantPositions(limit=2)
    kept.record("a", 7)
    kept.record("a", 3)
    kept.record("b", 1)
    assert (kept.of("a"), kept.of("b"), kept.of("c")) == (7, 1, 0)
    kept.record("c", 2)
    assert (kept.of("a"), kept.of("b"), kept.of("c")) == (0, 1, 2)
    kept.clear()
    assert kept.of("b") == 0


def test_only_a_stale_call_has_a_note() -> None:
    assert stale_note() == ()
    call = CallPosition()
    token = current.set(call)
    try:
        assert stale_note() == ()
        call.stale = "stale replica"
        assert stale_note() == ("stale replica",)
    finally:
        current.reset(token)
