"""Answers of administrative calls."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationAnswer:
    """Result of consolidating now: the number of episodes, the number of items by outcome, and whether more wait."""

    episodes: int = 0
    outcomes: dict[str, int] | None = None
    more: bool = False

    def plus(self, other: "ConsolidationAnswer") -> "ConsolidationAnswer":
        """The sum of two answers; `more` is that of the later one."""
        counts = dict(self.outcomes or {})
        for name, count in (other.outcomes or {}).items():
            counts[name] = counts.get(name, 0) + count
        return ConsolidationAnswer(episodes=self.episodes + other.episodes, outcomes=counts or None, more=other.more)

    def __str__(self) -> str:
        made = ", ".join(f"{count} {name}" for name, count in sorted((self.outcomes or {}).items())) or "nothing kept"
        return f"{self.episodes} episode{'s' if self.episodes != 1 else ''}: {made}"
