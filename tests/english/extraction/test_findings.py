"""Properties with one value are replaced; several values have keys of their own."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction import distil

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def stored(*texts: str) -> dict[tuple[str, str], str]:
    """The live value of each property after these texts, the last one wins."""
    return {(one.subject, one.predicate): one.content for text in texts for one in distil(text, NOW)}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("I'm vegetarian.", "I'm vegan now."), {("user", "diet"): "vegan"}),
        (("I'm vegan.", "I'm no longer vegan."), {("user", "diet"): "no longer vegan"}),
        (("Nina is vegan.", "Nina is vegetarian now."), {("Nina", "diet"): "vegetarian"}),
        (("My favourite colour is blue.", "My favourite colour is green now."), {("user", "favorite_color"): "green"}),
        (("I work at Google.", "I moved from Google to Meta."), {("user", "works_at"): "Meta"}),
        (("I live in Porto.", "I moved from Porto to Lisbon."), {("user", "lives_in"): "Lisbon"}),
        (
            ("I use VS Code.", "I switched from VS Code to Neovim."),
            {("user", "uses:vs_code"): "no longer uses VS Code", ("user", "uses:neovim"): "Neovim"},
        ),
        (
            ("I prefer tea.", "I now prefer coffee over tea."),
            {("user", "prefers:tea"): "no longer prefers tea", ("user", "prefers:coffee"): "coffee over tea"},
        ),
        (
            ("I'm allergic to penicillin.", "Turns out I'm not allergic to penicillin after all."),
            {("user", "allergic_to:penicillin"): "not allergic to penicillin"},
        ),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one(texts: list[str], expected: dict[tuple[str, str], str]) -> None:
    assert stored(*texts) == expected


def test_what_is_not_eaten_can_be_several_things() -> None:
    assert set(stored("I don't eat meat.", "User avoids gluten.")) == {("user", "diet:meat"), ("user", "diet:gluten")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I run a sheep farm.", {("user", "works_as"): "runs a sheep farm"}),
        ("My keyboard is sticky.", {}),
        ("Never say never.", {}),
        ("I like the blue one.", {}),
        ("As a language model I am an assistant.", {}),
        ("Tove loves mushrooms, go figure.", {("Tove", "likes:mushrooms"): "mushrooms"}),
    ],
)
def test_contents_are_what_a_person_would_write(text: str, expected: dict[tuple[str, str], str]) -> None:
    assert stored(text) == expected
