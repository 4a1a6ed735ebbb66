"""Sentences of the kind people say to an assistant, and questions about them, from a seed."""

import random
from collections.abc import Sequence
from typing import NamedTuple

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
SUBJECTS = (
    "my brother", "our team", "the landlord", "her daughter", "the new client", "my dentist", "the choir", "I",
    "the plumber", "my cousin", "our accountant", "the coach", "the florist", "my manager", "the vet", "his uncle",
    "the librarian", "our tenant", "the tailor", "my roommate", "the baker", "their lawyer", "the electrician",
    "my grandmother", "the tutor", "our caterer", "the architect", "my nephew", "the optician", "the drummer",
    "our gardener", "the surgeon", "my godfather", "the referee", "the potter", "our translator", "the beekeeper",
    "my aunt", "the chemist", "the ranger", "our intern", "the sculptor", "my twin", "the cashier", "the diver",
)  # fmt: skip
VERBS = (
    "booked", "cancelled", "moved", "finished", "started", "recommended", "painted", "repaired", "ordered", "forgot",
    "planned", "cooked", "tested", "presented", "celebrated", "measured", "returned", "rented", "postponed", "learned",
    "sold", "borrowed", "photographed", "designed", "cleaned", "inspected", "delivered", "translated", "sketched",
    "assembled", "polished", "donated", "registered", "upgraded", "compared", "replaced", "signed", "packed",
    "stored", "insured", "decorated", "sharpened", "printed", "catalogued", "auctioned", "varnished", "calibrated",
    "rescheduled", "audited", "unpacked",
)  # fmt: skip
KINDS = (
    "wooden", "blue", "portable", "vintage", "quarterly", "silver", "folding", "spare", "Portuguese", "handmade",
    "inflatable", "ceramic", "electric", "striped", "annual", "waterproof", "miniature", "velvet", "Norwegian",
    "organic", "cordless", "antique", "rubber", "magnetic", "seasonal", "linen", "solar", "copper", "leather",
    "woollen", "Turkish", "plastic", "golden", "rusty", "foldable", "crooked", "engraved", "bamboo", "digital",
    "marble",
)  # fmt: skip
THINGS = (
    "cello", "budget", "cake", "shelf", "telescope", "bicycle", "insurance claim", "garden hose", "lamp", "tent",
    "bookcase", "piano", "lentil soup", "train pass", "desk", "sleeping bag", "contract", "vegetable box", "kayak",
    "tax return", "sofa", "microscope", "calendar", "teapot", "mattress", "ferry ticket", "curtain", "wardrobe",
    "printer", "passport", "drum kit", "blender", "ladder", "mirror", "necklace", "umbrella", "sewing machine",
    "greenhouse", "aquarium", "carpet", "violin", "wheelbarrow", "chandelier", "typewriter", "barbecue", "surfboard",
    "toolbox", "radiator", "doorbell", "hammock", "projector", "saddle", "compass", "fountain", "staircase",
    "harmonica", "scarecrow", "tapestry", "turntable", "pergola",
)  # fmt: skip
CIRCUMSTANCES = (
    "because the weather turned", "before the long weekend", "after talking to Priya", "for the trip in October",
    "since the old one broke", "although it was expensive", "while working from home", "to save some money",
    "and was very happy with it", "but would choose another one next time", "on the doctor's advice",
    "just in time for the birthday", "with help from the neighbours", "despite a sore knee", "at the market hall",
    "in spite of the noise", "without reading the manual", "for the school fair", "under the apple tree",
    "against all warnings", "thanks to a discount", "between two meetings", "at the harbour", "with a borrowed van",
    "for charity", "during the power cut", "behind the garage", "as a wedding gift", "with great patience",
    "at the village square", "for the exhibition", "over the phone", "on a whim", "for the orchestra",
    "with the landlady's permission", "next to the chapel", "for a documentary", "by candlelight",
    "at double the price", "for the festival",
)  # fmt: skip
TIMES = (
    "last Tuesday", "in early spring", "two weeks ago", "this morning", "on New Year's Eve", "over lunch",
    "during the strike", "at the weekend", "in the summer of 2024", "yesterday evening", "on Friday", "before Easter",
    "in November", "at midnight", "around noon", "in the holidays", "in winter", "on Monday", "in February",
    "three days ago", "before sunrise", "on Thursday", "in late autumn", "a month ago", "at dusk", "in April",
    "on Halloween", "during the heatwave", "in September", "after the storm", "on Sunday", "in January",
    "at breakfast", "in a hurry", "on Wednesday", "in March", "after dinner", "in August", "before dawn", "on Saturday",
)  # fmt: skip


class Vocabulary(NamedTuple):
    """What is spoken of. What stands further back in a list is said less often, by this power of its place."""

    subjects: Sequence[str]
    verbs: Sequence[str]
    kinds: Sequence[str]
    things: Sequence[str]
    times: Sequence[str]
    circumstances: Sequence[str]
    rarer: float


# As in what people really say, some things come up all the time and most seldom. With this, a question's words are in
# about as many memories as in LoCoMo and LongMemEval (docs/reference/benchmarks.md).
USUAL = Vocabulary(SUBJECTS, VERBS, KINDS, THINGS, TIMES, CIRCUMSTANCES, rarer=0.5)
# A store that speaks of little: a question's words are in a quarter of all memories, so that words cost the most.
FEW = Vocabulary(SUBJECTS[:8], VERBS[:20], KINDS[:25], THINGS[:25], TIMES[:10], CIRCUMSTANCES[:15], rarer=0)
ADVICE = ("Always ask before", "Never forget to confirm before", "Check the calendar before", "Write a summary after")
QUESTIONS = (
    "What did {who} say about {what} {when}?",
    "When was it that {subject} {verb} {what}?",
    "Can you help me with {what}? I think {subject} {verb} it {when}.",
    "Who {verb} {what} {why}?",
    "Please plan my day; {subject} {verb} {what} and {who} comes by.",
)


def sentences(count: int, seed: int, words: Vocabulary = USUAL) -> list[str]:
    """Different sentences of nine to twenty words."""
    source = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        said = _filled("{subject} {verb} {what} {when} {why}.", words, source)
        found[said[0].upper() + said[1:]] = None
    return list(found)


def rule_text(sentence: str, source: random.Random) -> str:
    return f"{source.choice(ADVICE)} {sentence[0].lower()}{sentence[1:]}"


def questions(count: int, seed: int, words: Vocabulary = USUAL) -> list[str]:
    """Questions of seven to twenty-one words that no run asks twice, so that no cache answers them."""
    source = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[_filled(source.choice(QUESTIONS), words, source)] = None
    return list(found)


def _filled(template: str, words: Vocabulary, source: random.Random) -> str:
    def one_of(choice: Sequence[str]) -> str:
        return source.choices(choice, [(place + 1) ** -words.rarer for place in range(len(choice))])[0]

    return template.format(
        who=source.choice(PEOPLE),
        what=f"the {one_of(words.kinds)} {one_of(words.things)}",
        when=one_of(words.times),
        why=one_of(words.circumstances),
        subject=one_of(words.subjects),
        verb=one_of(words.verbs),
    )
