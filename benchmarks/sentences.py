"""Sentences of the kind people say to an assistant, and questions about them, from a seed."""

import random

PEOPLE = (
    "Anna", "Ben", "Carla", "David", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Liam", "Maya",
    "Noor", "Oscar", "Priya", "Quinn", "Rosa", "Sven", "Tara", "Umar", "Vera", "Wanda", "Ximena", "Yusuf", "Zoe",
    "Alba", "Bruno", "Chiara", "Dario", "Emil", "Fatima", "Gabor", "Hanna", "Igor", "Julia", "Karim", "Lena", "Marco",
    "Nina",
)  # fmt: skip
ROLES = ("", " (sister)", " (colleague)", " (neighbour)", " (doctor)")
PREDICATES = (
    "works_as", "lives_in", "likes", "dislikes", "allergic_to", "plays", "studies", "owns", "drives", "reads",
    "cooks", "visited", "plans_trip_to", "speaks", "listens_to", "trains_for", "takes", "birthday", "prefers",
    "collects", "repaired", "ordered", "volunteers_at", "met", "grew_up_in", "learns", "subscribes_to",
    "walks_dog_in", "meets_on", "sleeps", "banks_with", "shops_at", "commutes_by", "watches", "writes", "paints",
    "swims_at", "donates_to", "coaches", "teaches", "camps_near", "bakes", "gardens", "fixes", "pays", "remembers",
    "borrowed", "lent", "hopes", "fears",
)  # fmt: skip
SUBJECTS = ("my brother", "our team", "the landlord", "her daughter", "the new client", "my dentist", "the choir", "I")
VERBS = (
    "booked", "cancelled", "moved", "finished", "started", "recommended", "painted", "repaired", "ordered", "forgot",
    "planned", "cooked", "tested", "presented", "celebrated", "measured", "returned", "rented", "postponed", "learned",
)  # fmt: skip
OBJECTS = (
    "the ferry to Naxos", "a second-hand cello", "the quarterly budget", "a gluten-free cake", "the kitchen shelves",
    "an appointment for the cat", "the marathon training plan", "a pottery class", "the insurance claim",
    "the old bicycle", "a surprise party", "the garden irrigation", "a Portuguese course", "the database migration",
    "the winter tyres", "a telescope", "the lentil soup", "the reading group", "a sleeping bag", "the tax return",
    "a standing desk", "the allergy test", "the piano recital", "a train pass", "the vegetable box",
)  # fmt: skip
CIRCUMSTANCES = (
    "because the weather turned", "before the long weekend", "after talking to Priya", "for the trip in October",
    "since the old one broke", "although it was expensive", "while working from home", "to save some money",
    "and was very happy with it", "but would choose another one next time", "on the doctor's advice",
    "just in time for the birthday", "with help from the neighbours", "despite a sore knee", "at the market hall",
)  # fmt: skip
TIMES = (
    "last Tuesday", "in early spring", "two weeks ago", "this morning", "on New Year's Eve", "over lunch",
    "during the strike", "at the weekend", "in the summer of 2024", "yesterday evening",
)  # fmt: skip
ADVICE = ("Always ask before", "Never forget to confirm before", "Check the calendar before", "Write a summary after")
QUESTIONS = (
    "What did {who} say about {what} {when}?",
    "When was it that {subject} {verb} {what}?",
    "Can you help me with {what}? I think {subject} {verb} it {when}.",
    "Who {verb} {what} {why}?",
    "Please plan my day; {subject} {verb} {what} and {who} comes by.",
)


def sentences(count: int, seed: int) -> list[str]:
    """Different sentences of nine to twenty words."""
    source = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        said = (
            f"{source.choice(SUBJECTS)} {source.choice(VERBS)} {source.choice(OBJECTS)} "
            f"{source.choice(TIMES)} {source.choice(CIRCUMSTANCES)}."
        )
        found[said[0].upper() + said[1:]] = None
    return list(found)


def rule_text(sentence: str, source: random.Random) -> str:
    return f"{source.choice(ADVICE)} {sentence[0].lower()}{sentence[1:]}"


def questions(count: int, seed: int) -> list[str]:
    """Questions of nine to eighteen words that no run asks twice, so that no cache answers them."""
    source = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        template = source.choice(QUESTIONS)
        asked = template.format(
            who=source.choice(PEOPLE),
            what=source.choice(OBJECTS),
            when=source.choice(TIMES),
            why=source.choice(CIRCUMSTANCES),
            subject=source.choice(SUBJECTS),
            verb=source.choice(VERBS),
        )
        found[asked] = None
    return list(found)
