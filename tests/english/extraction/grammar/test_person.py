"""The first person becomes the third, in words and not in addresses."""

import pytest

from memory_butler.english.extraction.grammar.person import in_third_person


@pytest.mark.parametrize(
    "text",
    [
        "Run https://example.org/i.sh first",
        "Open https://example.org/my/page?u=me&x=i",
        "Clone my-repo from git@example.org:i/me.git",
        "Write to me@example.org or i@example.org",
        "Edit ~/my.cfg and C:\\my\\file",
        "Use sed -i and --my-flag",
    ],
)
def test_addresses_and_paths_stay(text: str) -> None:
    assert in_third_person(text, "") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask me before I deploy.", "Ask the user before the user deploys."),
        ("Use my editor; mine is Vim.", "Use the user's editor; the user's is Vim."),
        ("Tell me, please.", "Tell the user, please."),
        ("(my notes)", "(the user's notes)"),
        ("Never wake me.", "Never wake the user."),
    ],
)
def test_words_change(text: str, expected: str) -> None:
    assert in_third_person(text, "") == expected
