"""Changes of memories, as the log records them: `fact.created`, `fact.superseded`, `fact.faded` … A change of a rule's
maturity counts as `rule.promoted`, `rule.demoted` or `rule.inverted` beside the event that brought it."""

from typing import Final

from prometheus_client import Counter

from memory_butler.metrics.registry import REGISTRY

CHANGES: Final = Counter(
    "memory_butler_changes", "Committed changes of memories by type and change.", ["change"], registry=REGISTRY
)
