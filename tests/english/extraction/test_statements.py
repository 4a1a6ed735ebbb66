"""Facts by theme: what the built-in distiller reads from one sentence each."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction import distil

WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)

# Each sentence with the whole of what it tells: subject · predicate: content.
IDENTITY = {
    "My name is Anna Schmidt and I'm 34.": ["user · name: Anna Schmidt", "user · age: 34"],
    "You can call me Liz.": ["user · nickname: Liz"],
    "User goes by Sasha and uses they/them pronouns.": ["user · nickname: Sasha", "user · pronouns: they/them"],
    "I am Canadian, originally from Halifax.": ["user · nationality: Canadian", "user · from: Halifax"],
    "I was born on 2 July 1991 in Manila.": ["user · birthday: 2 July 1991", "user · from: Manila"],
    "Introduced himself as Olu. He's 52 and comes from Ibadan.": [
        "user · name: Olu",
        "user · age: 52",
        "user · from: Ibadan",
    ],
    "I'm fluent in Dutch.": ["user · speaks:dutch: Dutch"],
    "User is on CET.": ["user · timezone: CET"],
}
CONTACTS = {
    "You can email me at k.novak@example.com.": ["user · email: k.novak@example.com"],
    "Maria's phone number is 555-0199.": ["Maria · phone: 555-0199"],
    "I changed my email to nova@example.net.": ["user · email: nova@example.net"],
    "Our address is 41 Birch Lane.": ["user · address: 41 Birch Lane"],
    "My manager is Priya Patel; her email is priya@corp.example.": [
        "user · relationship:priya_patel: manager Priya Patel",
        "Priya Patel · email: priya@corp.example",
    ],
}
RELATIONSHIPS = {
    "My sister Ruth lives in Boston.": ["user · relationship:ruth: sister Ruth", "Ruth · lives_in: Boston"],
    "My brother is a firefighter.": ["user's brother · works_as: firefighter"],
    "Tom is my best friend.": ["user · relationship:tom: best friend Tom"],
    "I have two kids, Mia and Leo.": ["user · relationship:mia: kid Mia", "user · relationship:leo: kid Leo"],
    "Jonas's wife is called Freja.": ["Jonas · relationship:freja: wife Freja"],
    "I don't have any siblings.": ["user · relationship:siblings: no siblings"],
    "I'm divorced.": ["user · marital_status: divorced"],
}
WORK = {
    "I work at Acme as a data engineer.": ["user · works_at: Acme", "user · works_as: data engineer"],
    "I'm the CTO of a small fintech called Ledgerly.": ["user · works_as: CTO", "user · works_at: Ledgerly"],
    "I've been working at Siemens for six years.": ["user · works_at: Siemens"],
    "I got promoted to senior manager.": ["user · works_as: senior manager"],
    "I'm studying architecture at TU Delft.": ["user · studies: architecture at TU Delft"],
    "User runs a small bakery in Ghent.": ["user · works_as: runs a small bakery"],
    "Working on a novel about Cairo.": ["user · project:novel_about_cairo: a novel about Cairo"],
}
HOME = {
    "I live in Porto with my girlfriend Marta.": [
        "user · relationship:marta: girlfriend Marta",
        "user · lives_in: Porto",
    ],
    "We moved to Austin last summer.": ["user · lives_in: Austin"],
    "Lives just outside Dublin.": ["user · lives_in: just outside Dublin"],
    "User lives in Utrecht with two cats.": ["user · lives_in: Utrecht", "user · pet:cats: two cats"],
}
TASTES = {
    "I love tea, long walks and fish and chips.": [
        "user · likes:tea: tea",
        "user · likes:long_walks: long walks",
        "user · likes:fish_chips: fish and chips",
    ],
    "I can't stand loud restaurants.": ["user · dislikes:loud_restaurants: loud restaurants"],
    "Not keen on sushi.": ["user · dislikes:sushi: sushi"],
    "I prefer tea over coffee.": ["user · prefers:tea: tea over coffee"],
    "My favourite colour is teal.": ["user · favorite_color: teal"],
    "User's preferred editor is Helix.": ["user · prefers:editor: Helix"],
    "I'd rather walk than drive.": ["user · prefers:walk: walk than drive"],
}
HEALTH = {
    "I'm allergic to peanuts and penicillin.": [
        "user · allergic_to:peanuts: peanuts",
        "user · allergic_to:penicillin: penicillin",
    ],
    "My daughter has a severe nut allergy.": ["user's daughter · allergic_to:nut: nut"],
    "I have type 1 diabetes.": ["user · health:type_1_diabetes: type 1 diabetes"],
    "User takes 20mg of fluoxetine daily.": ["user · health:fluoxetine: takes 20mg of fluoxetine daily"],
    "I don't eat meat.": ["user · diet:meat: does not eat meat"],
    "User avoids gluten.": ["user · diet:gluten: avoids gluten"],
    "I've never smoked.": ["user · habit:smoke: never smoked"],
}
POSSESSIONS = {
    "We have a dog named Bruno and two cats.": ["user · pet:bruno: dog Bruno", "user · pet:cats: two cats"],
    "I own a cabin near Lake Tahoe.": ["user · owns:cabin_near_lake_tahoe: a cabin near Lake Tahoe"],
    "I drive a 2015 Honda Civic.": ["user · drives: a 2015 Honda Civic"],
    "I use Vim for code and Typst for papers.": [
        "user · uses:vim: Vim for code",
        "user · uses:typst: Typst for papers",
    ],
    "I play the cello.": ["user · skill:cello: play the cello"],
}
HABITS = {
    "I run 5k every morning and swim on Sundays.": [
        "user · habit:run_5k: run 5k every morning",
        "user · habit:swim_sundays: swim on Sundays",
    ],
    "I usually get up at 5:30.": ["user · habit:get_up: get up at 5:30"],
    "I never eat breakfast.": ["user · habit:eat_breakfast: never eat breakfast"],
}
ENDINGS = {
    "I moved from Berlin to Lisbon.": ["user · lives_in: Lisbon"],
    "Actually, my email is x@example.org now.": ["user · email: x@example.org"],
    "I no longer work at Acme.": ["user · works_at: no longer works at Acme"],
    "No longer drinks coffee.": ["user · habit:coffee: no longer drinks coffee"],
    "I don't own a car any more.": ["user · owns:car: no longer owns car"],
    "We switched from Slack to Zulip.": ["user · uses:zulip: Zulip", "user · uses:slack: no longer uses Slack"],
    "I'm not vegetarian any more.": ["user · diet: no longer vegetarian"],
    "I quit smoking in 2020.": ["user · habit:smoke: no longer smoking"],
    "I'm 42, not 41.": ["user · age: 42"],
    "I live in Ghent. Actually, I moved to Bruges.": ["user · lives_in: Bruges"],
}
EVERYTHING = IDENTITY | CONTACTS | RELATIONSHIPS | WORK | HOME | TASTES | HEALTH | POSSESSIONS | HABITS | ENDINGS


def told(content: str) -> list[str]:
    return [f"{one.subject} · {one.predicate}: {one.content}" for one in distil(content, WEDNESDAY)]


@pytest.mark.parametrize("sentence", EVERYTHING)
def test_a_sentence_tells_exactly_this(sentence: str) -> None:
    """Every fact of the sentence and no other."""
    assert sorted(told(sentence)) == sorted(EVERYTHING[sentence])


@pytest.mark.parametrize("sentence", EVERYTHING)
def test_properties_have_no_time(sentence: str) -> None:
    """None of these happened on a day: what is so has no valid_at."""
    assert [one.valid_at for one in distil(sentence, WEDNESDAY)] == [None] * len(EVERYTHING[sentence])


def test_an_ended_state_has_the_key_of_the_state() -> None:
    """So that it takes its place: the predicate of "no longer" is that of the thing itself."""
    for before, after in (
        ("I use Slack.", "I no longer use Slack."),
        ("I'm vegetarian.", "I'm not vegetarian anymore."),
        ("I work at Acme.", "I don't work at Acme any more."),
        ("I own a car.", "I no longer own a car."),
    ):
        assert distil(before, WEDNESDAY)[0].predicate == distil(after, WEDNESDAY)[0].predicate


@pytest.mark.parametrize(
    ("sentence", "permanence", "importance"),
    [
        ("My name is Anna.", "permanent", 8),
        ("I'm allergic to nuts.", "permanent", 9),
        ("I live in Rome.", "stable", 7),
        ("I love jazz.", "standard", 5),
        ("I prefer tea.", "standard", 6),
        ("I sprained my ankle.", "volatile", 9),
        ("I'm flying to Tokyo on 12 April.", "volatile", 5),
    ],
)
def test_the_class_decides_how_long_it_lasts(sentence: str, permanence: str, importance: int) -> None:
    """Permanence and importance follow from the kind of fact."""
    (found,) = distil(sentence, WEDNESDAY)
    assert (found.permanence, found.importance) == (permanence, importance)


def test_a_compound_sentence_is_taken_apart() -> None:
    """Each statement is a fact of its own, about whom it is about."""
    assert told(
        "I'm Yuki, I work at Fujitsu as a QA lead, live in Kawasaki with my partner Aiko, "
        "and I'm allergic to buckwheat."
    ) == [
        "user · relationship:aiko: partner Aiko",
        "user · name: Yuki",
        "user · works_at: Fujitsu",
        "user · works_as: QA lead",
        "user · lives_in: Kawasaki",
        "user · allergic_to:buckwheat: buckwheat",
    ]
