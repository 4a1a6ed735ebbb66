"""Episodes to measure speed with: in the style of the labelled ones, with names and values that hardly ever repeat."""

import random
from collections.abc import Sequence

# Words that people use: invented ones have twice as many tokens, and their facts would take twice as long to embed.
NAMES = (
    "Alice", "Amara", "Anouk", "Boris", "Carlos", "Clara", "Daniel", "Diana", "Edith", "Felix", "Frida", "George",
    "Hanna", "Helena", "Hugo", "Irene", "Ivan", "Jasper", "Julia", "Karim", "Laura", "Leon", "Lucas", "Magnus", "Marta",
    "Miriam", "Nadia", "Nina", "Olga", "Oscar", "Pablo", "Petra", "Priya", "Ramon", "Rosa", "Samuel", "Sofia", "Tara",
    "Thomas", "Ursula", "Victor", "Wanda", "Yusuf", "Zara",
)  # fmt: skip
SURNAMES = (
    "Adler", "Baker", "Berg", "Brandt", "Carter", "Castro", "Conti", "Dubois", "Evans", "Ferrari", "Fischer", "Fox",
    "Garcia", "Grant", "Haas", "Hansen", "Jensen", "Keller", "Kumar", "Lang", "Larsen", "Lee", "Lopez", "Marsh",
    "Mason", "Meyer", "Moreau", "Nolan", "Novak", "Okafor", "Olsen", "Perez", "Quinn", "Raman", "Rossi", "Santos",
    "Silva", "Singh", "Stone", "Torres", "Vogel", "Walsh", "Weber", "Young",
)  # fmt: skip
PLACES = (
    "Accra", "Athens", "Bergen", "Berlin", "Boston", "Cairo", "Chicago", "Cork", "Dublin", "Florence", "Geneva",
    "Hamburg", "Havana", "Kyoto", "Lagos", "Leeds", "Lima", "Lisbon", "London", "Lyon", "Madrid", "Milan", "Nairobi",
    "Naples", "Oslo", "Paris", "Porto", "Prague", "Riga", "Rome", "Seoul", "Tokyo", "Turin", "Utrecht", "Vienna",
)  # fmt: skip
THINGS = (
    "amber", "apple", "bamboo", "bronze", "cedar", "cherry", "copper", "coral", "cotton", "crystal", "desert", "echo",
    "ember", "forest", "garden", "glass", "harbour", "honey", "island", "ivory", "jazz", "lemon", "maple", "marble",
    "meadow", "mint", "mountain", "ocean", "olive", "orange", "pepper", "pine", "river", "rose", "silver", "stone",
    "sugar", "summer", "velvet", "walnut", "winter",
)  # fmt: skip

# About 1.6 items an episode and a quarter of them silent, as among the labelled ones.
TEMPLATES = (
    "User: my cousin {person} lives in {place}.\nAssistant: Nice! Maybe you would like to visit her.",
    "I work at {make} as a {thing} designer, live in {place} and use {thing} paper for drawing.",
    "Spoke to {person} about the venue. She lives in {place} and works at {make}.",
    "User loves {thing} tea and {make} films.",
    "User owns a {make} X1 and an old {thing} bicycle.",
    "Met with {person}. She is the user's new manager. She lives in {place}.",
    "User is allergic to {thing} nuts. Carries an EpiPen.",
    "Plumber: {person}, 07700 {number}, good with old boilers. My landlord {friend} lives in {place}.",
    "I have a dentist appointment with Dr. {person} on March 20 at 2:30pm. I own a {thing} bicycle.",
    "User said they work at {make} Analytics, on the ingestion team. They love {thing} bread.",
    "I use {make} for code and {thing} paper for notes. I like {make} coffee.",
    "not a fan of {thing} music tbh, my neighbour {friend} loves it though",
    "Always ask {person} before deleting files from the {thing} folder.",
    "When the user asks about {make}, answer with a table of the {thing} figures.",
    "My friend {person} plays the piano and has a dog called {friend}.",
    "Remember that the spare key is with Mrs. {person} at number {number}.",
    "User is flying to {place} next Tuesday for a {thing} conference. My colleague {person} lives in {place}.",
    "Actually, my email is {friend}{number}@mail.example now, the old one is dead.",
    "Long talk about the {thing} exhibition. {person} lives in {place} and works at {make}.",
    "User asked how to reverse a list in {make}. Explained it with an example.",
    "lol thanks, that worked perfectly, {friend} will be pleased",
    "If I moved to {place}, would I need a visa? And who pays the tax for {friend}?",
    "Debugged the {thing} pipeline for an hour. It went red, then green again after a rerun.",
    "Assistant: You might enjoy {make}. Shall I look up tickets for {place}?\nUser: not now",
)


def episodes(count: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return [
        source.choice(TEMPLATES).format(
            person=_pair(source, NAMES, SURNAMES),
            friend=source.choice(NAMES),
            place=source.choice(PLACES),
            make=_pair(source, THINGS, PLACES).title(),
            thing=_pair(source, THINGS, THINGS),
            number=source.randrange(10**5, 10**6),
        )
        for _ in range(count)
    ]


def _pair(source: random.Random, one: Sequence[str], other: Sequence[str]) -> str:
    return f"{source.choice(one)} {source.choice(other)}"
