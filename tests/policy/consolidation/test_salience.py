"""Features of sentences, and the probability that a person wants them kept."""

import numpy as np

from memory_butler.policy.consolidation.salience import Features, SalienceModel, features


def found(text: str, *, names: int = 0) -> Features:
    return features(text, names=names, is_about_another=False)


def test_features_are_the_same_in_all_languages() -> None:
    """A negated statement about the speaker's relative on a day."""
    for text in (
        "my sister never works on Mondays",
        "Meine Schwester arbeitet nie montags",
        "моя сестра не работает в понедельник",
    ):
        one = found(text)
        assert (one.first_person, one.negation, one.relation, one.has_date) == (1, 1, 1, 1), text


def test_all_features_are_between_0_and_1() -> None:
    for text in ("", "!", "a " * 200, "私は左利きです", "Fixed: the API returns 404 at 12:30, 5 € each!"):
        assert all(0 <= value <= 1 for value in found(text, names=9))


def test_the_probability_is_logistic() -> None:
    count = len(Features._fields)
    model = SalienceModel(np.ones(count, np.float32), np.zeros(3, np.float32), -1.0)
    plain = Features(*[0.0] * count)
    assert model.probability(plain, [1, 2, 3]) == 0.2689
    assert model.probability(plain._replace(names=1.0), [0, 0, 0]) == 0.5
