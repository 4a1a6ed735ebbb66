"""Speaker and wording of the sentences that a proposal cites."""

from memory_butler.policy.consolidation.attribution import said_otherwise, spoken


def test_quoted_lines_are_those_of_somebody_else() -> None:
    assert [one.speaker for one in spoken("I live in Porto.\n> Always call first.")] == ["user", "somebody else"]


def test_the_first_person_of_another_is_not_the_user() -> None:
    text = "Anna: I'm celiac."
    assert said_otherwise("health:celiac", "celiac", ["celiac"], [text], of_user=True)
    assert said_otherwise("health:celiac", "celiac", ["celiac"], [text], of_user=False) is None
    assert said_otherwise("health:celiac", "celiac", ["celiac"], ["I'm celiac."], of_user=True) is None


def test_only_the_user_gives_rules() -> None:
    quoted = "On Tue, Jane Doe wrote:\n> Always call before you come."
    assert said_otherwise("", "Always call before you come.", ["cal"], [quoted], of_user=True)
    assert said_otherwise("", "Always call first.", ["cal"], ["Always call first."], of_user=True) is None


def test_a_dropped_doubt_is_an_objection() -> None:
    said = said_otherwise("works_at", "Siemens", ["siemen"], ["I might work at Siemens."], of_user=True)
    assert said is not None and "might" in said
    assert said_otherwise("works_at", "Siemens", ["siemen"], ["I work at Siemens."], of_user=True) is None


def test_a_note_quotes_its_sentence() -> None:
    words = "I might work at Siemens."
    assert said_otherwise("note:000000000000", words, ["siemen"], [words], of_user=True) is None
