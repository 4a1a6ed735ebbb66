"""What concerns nobody in particular."""

import pytest

from memory_butler.languages.speech.general_knowledge import is_general, is_status


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Vincent van Gogh was born in Zundert", True),
        ("According to the forum, the fix is to downgrade", True),
        ("Benfica won 3-1", True),
        ("The tower was built in 1889", True),
        ("My father was born in Riga", False),
        ("Ines moved to Riga", False),
    ],
)
def test_general_knowledge_and_news(text: str, expected: bool) -> None:
    assert is_general(text) is expected


def test_the_state_of_a_machine_and_what_follows_from_it() -> None:
    assert is_status("The export job failed with a timeout")
    assert not is_status("The export job failed because the port was taken")
    assert not is_status("Tom failed the test")
