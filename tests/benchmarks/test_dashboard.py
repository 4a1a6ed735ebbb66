"""The dashboard's benchmark: what it makes of the database's log, and of what it measured."""

from benchmarks import dashboard

LOG = """2026-11-16 17:29:40.123 UTC [77] LOG:  duration: 0.250 ms  parse _pg3_1: SELECT 2
2026-11-16 17:29:40.124 UTC [77] LOG:  duration: 0.100 ms  bind _pg3_1: {first}
2026-11-16 17:29:40.125 UTC [77] DETAIL:  Parameters: $1 = 'large'
2026-11-16 17:29:40.126 UTC [77] LOG:  duration: 1.150 ms  execute _pg3_1: {first}
2026-11-16 17:29:40.127 UTC [77] DETAIL:  Parameters: $1 = 'large'
2026-11-16 17:29:40.128 UTC [77] LOG:  duration: 9.000 ms  statement: SELECT 1
"""


def test_statements_are_found_again_by_their_names() -> None:
    """Whatever numbers their parameters have; parsing, planning and running are added up, and strangers left out."""
    query = dashboard.queries()["days.hold"].decode().replace("%(tenant)s", "$1")
    found = dashboard.named(LOG.format(first=query))
    assert found == [{"query": "days.hold", "times": 1, "ms": 1.2}]


def test_a_page_that_is_too_late_misses_its_goal() -> None:
    """Pages and changes of the filter alike."""
    pages = {"facts": {"p50_ms": 300, "p95_ms": 400}, "graph": {"p50_ms": 900, "p95_ms": 1000}}
    found = dashboard.goals({"pages": pages, "filter changes": {"words": {"p50_ms": 100, "p95_ms": 999}}})
    assert {one["goal"]: one["met"] for one in found} == {
        "facts p95 < 1000 ms": True,
        "graph p95 < 1000 ms": False,
        "change of words p95 < 1000 ms": True,
    }
