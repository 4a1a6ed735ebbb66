"""What yields nothing."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction import distil
from memory_butler.english.extraction.grammar.noise import is_trivial

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)

NOISE = {
    "questions": [
        "Do you think I should get a dog?",
        "what does this do",
        "Is it true that Finns love saunas?",
        "User asked about flights to Oslo in June.",
        "User wondered whether Lisbon is nicer than Porto.",
    ],
    "hypotheticals": [
        "If I won the lottery I'd move to Tahiti.",
        "I wish I lived in Hawaii.",
        "I might get a cat.",
        "Suppose I worked at NASA.",
        "I'm thinking about moving to Spain.",
        "I would love to visit Japan someday.",
        "Let's pretend my name is Zorg.",
    ],
    "quotations and fiction": [
        'My friend said "I love Paris and I live in Rome".',
        'Could you translate "My name is Anna and I live in Paris" into German?',
        "In my novel, Clara lives in Vienna and works as a spy.",
        "Translate: I live in Rome and my name is Carla.",
        "Please summarize the following: Anna lives in Berlin. She works at SAP.",
        "> I'm allergic to nuts",
    ],
    "role play": [
        "Let's roleplay: you're a detective and I'm your partner Lou. I live in a flat above a bar.",
        "Imagine a customer called Bob. Bob lives in Paris.",
    ],
    "the user of a program": [
        "User should be able to change their email. User owns a cart.",
        "error: user has no permission to read the file",
        "As a user I want to reset my password.",
    ],
    "requests to be told": [
        "Can you remember my birthday?",
        "Could you remind me what the gate code is?",
        "Do you remember that restaurant?",
        "remind me when I get paid",
    ],
    "irony": ["Oh sure, I just LOVE sitting in traffic /s", "I'm Batman. Just kidding!"],
    "small talk": [
        "lol thanks, that worked perfectly",
        "I love it!",
        "I'm so tired today.",
        "I'm going to bed.",
        "Sounds good, talk tomorrow!",
        "Good luck with your exam tomorrow!",
        "I have a question about SQL.",
        "I always forget my password.",
    ],
    "hearsay and guesses": ["I think Bob works at Google.", "Maybe my brother likes her.", "I heard Anna is married."],
    "chores": [
        "please fix the bug in parser.py",
        "I'm working on the login bug.",
        "We need to add tests.",
        "I'll check it tomorrow.",
        "Fixed the failing test and pushed the branch.",
    ],
    "things that are nobody": ["Python is great.", "The server is in Frankfurt.", "Everyone loves pizza."],
    "code and logs": [
        "```python\n# never call this twice\nname = 'I live in Rome'\n```",
        "2026-06-09T08:01:22Z INFO I live in Rome",
        "Traceback (most recent call last):\n  File \"/app/main.py\", line 12\nKeyError: 'name is required'",
    ],
    "a played part": [
        "User: pretend you are a waiter\nAssistant: Any allergies?\nUser: yes, nuts, and I'm vegan",
        "imagine I'm a patient with a torn meniscus and I'm scared of surgery",
        "You're a barista, I'm the customer. I'm lactose intolerant.",
        "Let Alice and Bob be two users of the system. Alice lives in Paris.",
    ],
    "samples and sayings": [
        "Sample answer: My name is Leo and I am from Brazil.",
        "I'm allergic to Mondays haha",
        "Never underestimate the power of a good nap.",
        "My grandmother always said that a watched pot never boils.",
        "Preheat the oven to 200 degrees. Never open the door while baking.",
    ],
    "words of others": [
        "Out of office: I am away until 4 May. In urgent cases call Ms Ray.",
        "Fwd: Re: rota\nI'm in Lagos until the 6th. I work at the clinic.",
        "[18:02] Dai: I'm on nights all next week",
    ],
    "what is not clear": [
        "We tried Mendeley, then moved to Zotero in 2022.",
        "User: if i won the lottery i'd buy a house in Whitby and quit",
    ],
    "what passes": [
        "We got lost on the way but found a nice cafe.",
        "Show me my calendar for Tuesday.",
        "Today I learned that bananas are berries.",
        "Saw a fox in the garden this morning.",
    ],
    "what the memory served": ["[fact:ab12] user · lives in: Rome"],
    "nothing at all": ["", " ", "\n\n", "…", "👍"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in NOISE.items() for text in texts])
def test_noise_yields_nothing(kind: str, text: str) -> None:
    assert distil(text, NOW) == [], kind


def test_what_stands_beside_noise_is_still_read() -> None:
    """A hypothetical half, a quotation or a question does not silence the rest."""
    found = [
        distil(text, NOW)[0].content
        for text in (
            "If I won the lottery I'd move to Tahiti, but for now I live in Stoke.",
            'My boss says "sleep is for the weak". I live in Stoke.',
            "I'm allergic to nuts, is this safe?",
            "Can you help? I live in Stoke.",
            "The tenant pays late. Name is Priscilla Okoye. I live in Stoke.",
            "Fwd from the merchant:\n> I'm off from Friday.\nI live in Stoke.",
        )
    ]
    assert found == ["Stoke", "Stoke", "nuts", "Stoke", "Stoke", "Stoke"]


@pytest.mark.parametrize("half", ["owes me 45 for", "stopped in 2019", "lives with", "last day", "appointment"])
def test_half_a_statement_is_trivial(half: str) -> None:
    assert is_trivial(half)


@pytest.mark.parametrize(
    "whole", ["stopped smoking in 2019", "lives with Anna", "last day at Acme", "dentist appointment"]
)
def test_a_whole_statement_is_not_trivial(whole: str) -> None:
    assert not is_trivial(whole)
