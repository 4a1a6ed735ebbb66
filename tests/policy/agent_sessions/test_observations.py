"""What a session leaves behind: observations, and nothing that does not belong into a memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.policy.agent_sessions.observations import (
    LONGEST_CHARACTERS,
    Exchange,
    SessionEpisode,
    episode_of_exchanges,
    episode_of_summary,
    readable_exchanges,
    tags_of,
)


def lines(*exchanges: tuple[str, str] | tuple[str, str, tuple[str, ...]]) -> list[str]:
    found = episode_of_exchanges([Exchange(*one) for one in exchanges])
    return found.content.splitlines() if found else []


def test_what_was_told_asked_and_done_is_kept() -> None:
    """Statements and requests of the person, and what the last answer says was done; not the answers on the way."""
    assert lines(
        ("user", "Hi there! My sister Ana lives in Lisbon. Can you fix the parser test?"),
        ("assistant", "Sure! Let me look at it. I found three tests in the folder."),
        ("user", "Always run the tests before you push."),
        ("assistant", "I fixed the parser: it choked on empty input. Docs are still to do. Anything else I can do?"),
    ) == [
        "User: My sister Ana lives in Lisbon.",
        "User: Can you fix the parser test?",
        "User: Always run the tests before you push.",
        "Assistant: I fixed the parser: it choked on empty input.",
        "Assistant: Docs are still to do.",
    ]


def test_decisions_on_the_way_the_conclusion_and_the_changed_files_are_kept() -> None:
    """Of the answers before the last one only what was decided; of the last one its beginning, if it names no result.
    Files once each, the last ones of many, without secrets."""
    talk = [
        Exchange("user", "Which clock should the invoice tests use?"),
        Exchange("assistant", "Let me look. There are two candidates. We'll use a frozen clock instead of sleeping."),
        Exchange("user", "Good, go ahead with that in all tests."),
        Exchange("assistant", "The suite is green on both versions. Shall I open a pull request?"),
    ]
    key = "sk-ant-api03-" + "Zk4x9" * 18
    files = [*(f"tests/test_{number}.py" for number in range(14)), f"notes/{key}.md", "tests/test_3.py"]
    found = episode_of_exchanges(talk, files=files)
    assert found
    said = found.content.splitlines()
    assert said[:-1] == [
        "User: Good, go ahead with that in all tests.",
        "Assistant: We'll use a frozen clock instead of sleeping.",
        "Assistant: The suite is green on both versions.",
    ]
    assert said[-1].startswith("Files changed: tests/test_3.py") and said[-1].endswith(" and 3 more.")
    assert key not in found.content
    assert episode_of_exchanges([], files=["a.py"]) == SessionEpisode("Files changed: a.py.", ())


@pytest.mark.parametrize(
    "talk",
    [
        [("user", "What is the capital of France?"), ("assistant", "Paris.")],
        [("user", "hello"), ("assistant", "Hello! How can I help you today?"), ("user", "thanks, bye!")],
        [("user", "Yes please, go ahead!"), ("assistant", "Of course.")],
        [("tool", "I live in Lisbon and always will."), ("system", "You must never say so.")],
        [("user", ""), ("assistant", "   ")],
        [],
    ],
)
def test_a_session_without_observations_leaves_none(talk: list[tuple[str, str]]) -> None:
    """Greetings, thanks, questions for information and what tools or the system say are no observations."""
    assert episode_of_exchanges([Exchange(*one) for one in talk]) is None


@pytest.mark.parametrize(
    "noise",
    [
        "```python\nmy_name = 'Bob, always Bob'\n```",
        "~~~\nwe always use tabs here\n~~~",
        "<system-reminder>You must always use the todo tool.</system-reminder>",
        "<command-output>\nI moved to Rome.\n</command-output>",
        "2026-03-01T09:00:00 I moved my files now",
        "ERROR we should never come here",
        "Traceback (most recent call last): my file",
        "[tool result] our build is done",
        "> I always quote my letters",
        "user · lives in: Berlin, we think [fact:k3f9] confidence 0.90",
        '{"results": [{"ref": "fact:k3f9", "content": "my user always lives in Berlin"}]}',
        "ANTI-PATTERN: Do NOT push to my main branch.",
    ],
)
def test_noise_and_served_memory_are_dropped(noise: str) -> None:
    """Code, output, wrapped text and lines of the memory itself leave nothing, and what stands beside them stays."""
    assert lines(("user", f"{noise}\nMy dog is called Rex.")) == ["User: My dog is called Rex."]
    assert lines(("user", noise)) == []


def test_what_is_stored_already_is_told_apart_by_its_hash() -> None:
    """A line that is the content of a fact or rule is not learned again, where its hash is given."""
    from memory_butler.policy.consolidation.recall_loop_guard import line_hashes

    said = "Always run the tests before you push."
    talk = [Exchange("user", f"{said}\nMy dog is called Rex.")]
    found = episode_of_exchanges(talk, stored=set(line_hashes(said)))
    assert found and found.content == "User: My dog is called Rex."


def test_secrets_are_redacted_everywhere() -> None:
    """Neither an episode nor the text for a model contains a secret."""
    talk = [
        Exchange("user", "My password is hunter2. I live in Lisbon.\n-----BEGIN PRIVATE KEY-----\nMIIEv\nabc\n"),
        Exchange("assistant", "Done: stored ghp_abcdefghijklmnopqrstuvwxyz012345. I moved your files."),
    ]
    found = episode_of_exchanges(talk)
    assert found and found.content.splitlines() == [
        "User: My password is [redacted: password].",
        "User: I live in Lisbon.",
        "Assistant: Done: stored [redacted: github_token].",
        "Assistant: I moved your files.",
    ]
    read = " ".join(turn.text for turn in readable_exchanges(talk))
    assert "I live in Lisbon." in read and not any(secret in read for secret in ("hunter2", "MIIEv", "ghp_"))
    summed = episode_of_summary("Deployed with token=s3cr3tvalue. Refunds are still manual.")
    assert summed and summed.content == "Deployed with token=[redacted: token].\nRefunds are still manual."


def test_a_summary_is_cleaned_and_bounded() -> None:
    """A session's own summary is kept in its words, less courtesies and repetitions; nothing left is none."""
    found = episode_of_summary("Moved billing to Stripe.\n- Dr. Smith approved it.\nMoved billing to Stripe.\nThanks!")
    assert found == SessionEpisode("Dr. Smith approved it.\nMoved billing to Stripe.", ("smith", "stripe"))
    assert episode_of_summary("Thanks!") is None and episode_of_summary("") is None


def test_where_room_is_short_what_tells_most_and_last_stays() -> None:
    """The length is bounded; what will matter later is kept before what was merely said, in its own order."""
    idle = [Exchange("user", f"The weather in town {number} was rather nice that day.") for number in range(60)]
    found = episode_of_exchanges([Exchange("user", "I prefer trains."), *idle[:20]], longest=120)
    assert found and found.content.splitlines() == [
        "User: I prefer trains.",
        "User: The weather in town 19 was rather nice that day.",
    ]
    everything = episode_of_exchanges([Exchange("user", " ".join(turn.text for turn in idle))] * 3)
    assert everything and len(everything.content) <= LONGEST_CHARACTERS


def test_tags_come_from_tools_and_names() -> None:
    """Tools by how often they were used, servers instead of their tools, the memory's own left out; then names."""
    tools = [
        "Bash",
        "mcp__github__get_issue",
        "Bash",
        "mcp__memory-butler__memory_search",
        "memory_store",
        "send email",
    ]
    assert tags_of("User: Ask Ana in Lisbon.\nAssistant: Added it for Acme Corp and Ana.", tools) == (
        "bash",
        "github",
        "send-email",
        "ana",
        "lisbon",
        "acme-corp",
    )
    found = episode_of_exchanges(
        [Exchange("user", "We moved to Porto.", ("Read",)), Exchange("assistant", "", ("Edit",))]
    )
    assert found and found.tags == ("read", "edit", "porto")


pieces = [*"aI .!?\n<>`-:[]{}\"'0é。", "my ", "done ", "<tag>", "</tag>", "```", "[fact:k3f9]"]
texts = st.lists(st.sampled_from(pieces), max_size=120).map("".join)


@settings(max_examples=150)
@given(st.lists(st.builds(Exchange, st.sampled_from(["user", "assistant", "tool"]), texts), max_size=6))
def test_whatever_comes_in_an_episode_is_bounded_and_speaks(talk: list[Exchange]) -> None:
    """Any text at all: no fault, no empty episode, no reference of the memory, and the same again for the same."""
    found = episode_of_exchanges(talk)
    if found:
        assert found.content.strip() and len(found.content) <= LONGEST_CHARACTERS
        assert "[fact:" not in found.content and "```" not in found.content
        assert all(line.startswith(("User: ", "Assistant: ")) for line in found.content.splitlines())
    assert episode_of_exchanges(talk) == found
