"""A task knows its kinds of work and who the user is."""

from collections.abc import Callable

import numpy as np

from memory_butler.models import Ranked
from memory_butler.policy.briefing.task import Task

TASK = Task(
    profile=np.array([0.5, 1.25], np.float32),
    domains=["food", "travel"],
    names=frozenset({"grace"}),
    user_names=frozenset({"ada"}),
    is_first_person=True,
)


def test_the_activation_of_a_domain() -> None:
    assert (TASK.activation("food"), TASK.activation("travel")) == (0.5, 1.25)


def test_facts_about_the_user_under_any_name(entry: Callable[..., Ranked]) -> None:
    subjects = ["user", "Ada", "ADA", "family", "house", "Grace", "the bakery", None]
    about = [TASK.is_about_user(entry(subject_label=subject).hit) for subject in subjects]
    assert about == [True, True, True, True, True, False, False, False]
