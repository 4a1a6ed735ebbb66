"""A task as a briefing sees it: its kind of work, whom and what it names, and whom it is for."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.english.text.names import name_key
from memory_butler.models import USER_SUBJECTS, Hit
from memory_butler.policy.briefing.domains import Profile

# Subjects that stand for the user's own home and family.
HOUSEHOLD = frozenset({"household", "family", "house", "home", "flat", "apartment"})
OWN_SUBJECTS = USER_SUBJECTS | HOUSEHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task as it was parsed. Profiles follow `domains`; names are keys."""

    profile: Profile
    domains: Sequence[str]
    names: frozenset[str]
    user_names: frozenset[str]
    is_first_person: bool
    is_for_household: bool = False
    is_for_children: bool = False
    needs_no_memory: bool = False

    def activation(self, domain: str) -> float:
        return float(self.profile[self.domains.index(domain)])

    def is_about_user(self, hit: Hit) -> bool:
        """True for a fact about the user, under any name, or the user's home and family."""
        label = hit.subject_label or ""
        if label.casefold() in OWN_SUBJECTS:
            return True
        return bool(self.user_names) and name_key(label) in self.user_names
