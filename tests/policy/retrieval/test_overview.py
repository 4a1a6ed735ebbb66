"""Broad questions are recognised by their whole wording."""

import pytest

from memory_butler.policy.retrieval.overview import Overview, overview_of

# Ways to ask for a class, and the words for each class.
ASKED = (
    "what should I know about {}?",
    "What do you know about {}",
    "tell me about {}",
    "Tell me everything you know about {}, please",
    "anything I should keep in mind about {}?",
    "remind me of the important facts about {}",
    "What have I told you about {}?",
    "give me an overview of {}",
    "a short summary of {}",
)
CLASSES = {
    Overview.USER: ("me", "myself"),
    Overview.FAMILY: ("my family", "the kids", "our household", "my parents"),
    Overview.FRIENDS: ("my friends", "the neighbours"),
    Overview.TEAM: ("the team", "my colleagues", "the people I work with"),
    Overview.PEOPLE: ("people", "everyone I know", "my family and friends", "my friends and my family"),
    Overview.HEALTH: ("my health", "our family's health", "my medical history"),
    Overview.PROJECTS: ("my projects", "the things I'm working on"),
    Overview.WORK: ("my job", "work"),
    Overview.PREFERENCES: ("my preferences", "my likes and dislikes", "my tastes"),
}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("asked", ASKED)
def test_a_class_is_recognised_in_many_wordings(asked: str, kind: Overview) -> None:
    for topic in CLASSES[kind]:
        assert overview_of(asked.format(topic)) is kind, asked.format(topic)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who am I?", Overview.USER),
        ("who is on the team?", Overview.TEAM),
        ("Who do I work with?", Overview.TEAM),
        ("Who’s in my family?", Overview.FAMILY),
        ("who lives in our household?", Overview.FAMILY),
        ("who are my friends", Overview.FRIENDS),
        ("tell me about people", Overview.PEOPLE),
        ("who do you know?", Overview.PEOPLE),
        ("how is my health?", Overview.HEALTH),
        ("what am I working on right now?", Overview.PROJECTS),
        ("which projects are there?", Overview.PROJECTS),
        ("what are my preferences?", Overview.PREFERENCES),
        ("what do I like?", Overview.PREFERENCES),
        ("what's coming up?", Overview.PLANS),
        ("What do I have planned?", Overview.PLANS),
        ("anything coming up soon?", Overview.PLANS),
        ("what's on my calendar?", Overview.PLANS),
        ("What do you remember?", Overview.EVERYTHING),
        ("what should I know?", Overview.EVERYTHING),
        ("Who is Anna?", None),
        ("who is on the billing team?", None),
        ("What do you know about Kestrel?", None),
        ("tell me about the release", None),
        ("what is planned for the garden?", None),
        ("Who am I meeting in Oslo?", None),
        ("what do you know about me and my taxes", None),
        ("what should I know about my family's summer house?", None),
        ("what are my allergies?", None),
        ("tell me about my first job", None),
        ("what does my team like for lunch?", None),
        ("what projects did Anna lead?", None),
        ("what do I like about Lisbon?", None),
        ("tell me about family and work", None),
    ],
)
def test_a_question_is_broad_only_if_it_has_no_topic(question: str, kind: Overview | None) -> None:
    """Every word of a broad question belongs to its wording."""
    assert overview_of(question) is kind
