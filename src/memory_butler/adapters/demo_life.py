"""Eight weeks in the life of Ana and Bruno, as three butlers heard it. All of it is made up.

A line is so many days ago, whose butler it was, and what happened.
"""

from typing import NamedTuple


class Said(NamedTuple):
    """An episode: something that was said in a session."""

    days: int
    butler: str
    words: str
    importance: int = 5


class Known(NamedTuple):
    """A fact that an agent stored by itself."""

    days: int
    butler: str
    subject: str
    predicate: str
    content: str
    importance: int = 5
    permanence: str = "standard"
    tags: str = ""


class Lesson(NamedTuple):
    """A rule, and how it fared: each of `marks` is so many days ago, and the reason if it did harm."""

    days: int
    butler: str
    words: str
    marks: tuple[tuple[int, str], ...] = ()


TRAVEL, HOME, WORK = "travel", "home", "work"
# What somebody misheard, and from what: the fact that the tour of the dashboard finds and corrects.
MISHEARD = "A bad line today: it sounded like the twelfth of June for Sofia's birthday, between two tunnels."
GARBLED = "A scanned letter came without its words: \x25PDF-1.4 obj FlateDecode 78 9c ed 5d 07 78 54 45 17"

KNOWN = (
    Known(55, TRAVEL, "Ana", "lives in", "Lisbon, Graça", 8, "stable", "home"),
    Known(55, TRAVEL, "Ana", "allergic to", "peanuts; carries an adrenaline pen", 10, "permanent", "health"),
    Known(55, HOME, "Bruno", "lives with", "Ana", 8, "stable", "family"),
    Known(54, TRAVEL, "Ana", "favorite seat", "window, near the front", 4, "standard", "flights"),
    Known(54, TRAVEL, "Ana", "passport expires", "3 May 2031", 8, "stable", "documents"),
    Known(53, HOME, "Rua da Graça 41", "door code", "changes every quarter; ask the concierge", 6, "volatile", "home"),
    Known(53, HOME, "Bruno", "allergic to", "penicillin", 10, "permanent", "health"),
    Known(52, WORK, "Olaria Sul", "makes", "hand-thrown tableware for restaurants", 7, "stable", "studio"),
    Known(51, WORK, "Olaria Sul", "kiln", "gas kiln, 1,240 °C, fires on Thursdays", 6, "stable", "studio"),
    Known(50, HOME, "Miso", "is", "a grey cat, nine years old", 6, "stable", "cat"),
    Known(49, HOME, "Miso", "vet", "Clínica Sapadores, Dr. Lopes", 7, "stable", "cat"),
    Known(47, TRAVEL, "Bruno", "frequent flyer number", "TP 4471 0923", 5, "stable", "flights"),
    Known(46, WORK, "Casa Verde", "orders", "sixty plates, celadon, every spring", 7, "standard", "customers"),
    Known(44, WORK, "Casa Verde", "contact", "Teresa Pinto, prefers e-mail", 6, "standard", "customers"),
    Known(43, HOME, "heating", "is serviced by", "Calor & Filhos, every October", 5, "standard", "home"),
    Known(42, TRAVEL, "Funchal trip", "taxi", "is booked for twenty to six in the morning", 6, "ephemeral", "funchal"),
    Known(42, TRAVEL, "Funchal trip", "wireless password", "on the fridge of the flat", 3, "ephemeral", "funchal"),
    Known(41, TRAVEL, "Ana", "prefers hotels", "small, quiet, with a desk", 6, "standard", "hotels"),
    Known(40, HOME, "Ana", "wedding anniversary", "21 September", 8, "stable", "family"),
    Known(38, WORK, "celadon glaze", "recipe", "batch 14: two parts feldspar, one part wood ash", 7, "stable", "glaze"),
    Known(36, HOME, "Sofia", "is", "Ana's sister; lives in Porto with two children", 7, "stable", "family"),
    Known(33, TRAVEL, "Ana", "lives in", "Porto, Foz", 8, "stable", "home"),
    Known(31, HOME, "Ana", "diet", "vegetarian since this spring", 8, "stable", "food"),
    Known(29, WORK, "Galeria Maré", "exhibition", "opens in January; twelve vases wanted", 8, "standard", "exhibition"),
    Known(30, HOME, "parcel", "waits", "at the post office until Friday", 5, "ephemeral", "home"),
    Known(28, WORK, "Caulinos do Norte", "closed", "until the end of the month", 4, "volatile", "suppliers"),
    Known(27, TRAVEL, "Bruno", "dislikes", "flights before eight in the morning", 5, "standard", "flights"),
    Known(24, HOME, "rubbish", "is collected", "Tuesday and Friday evening", 3, "volatile", "home"),
    Known(22, WORK, "porcelain supplier", "is", "Caulinos do Norte, four weeks' notice", 6, "standard", "suppliers"),
    Known(18, HOME, "Miso", "medicine", "half a thyroid tablet every morning", 9, "stable", "cat"),
    Known(16, TRAVEL, "Ana", "favorite seat", "aisle, since the knee operation", 5, "standard", "flights"),
    Known(
        13,
        WORK,
        "Galeria Maré",
        "exhibition",
        "opens on 17 January; fourteen vases wanted",
        8,
        "standard",
        "exhibition",
    ),
    Known(11, HOME, "Bruno", "birthday present idea", "a second-hand oud", 6, "ephemeral", "family"),
    Known(9, TRAVEL, "Rome trip", "is planned for", "the second week of May", 6, "volatile", "rome"),
    Known(6, WORK, "kiln", "thermocouple", "was replaced; the log has the old readings", 4, "ephemeral", "studio"),
    Known(4, HOME, "Sofia", "birthday", "12 June", 8, "stable", "family"),
    Known(3, HOME, "plumber", "comes", "Wednesday between nine and eleven", 7, "ephemeral", "home"),
    Known(1, TRAVEL, "Rome trip", "hotel", "Albergo del Sole, two nights held until Friday", 7, "ephemeral", "rome"),
)

# What a person put right or took out: so many days ago, of whom and what, and the right words if there are any.
PUT_RIGHT = (
    (26, "Bruno", "frequent flyer number", "TP 4471 0932"),
    (21, "Caulinos do Norte", "closed", ""),
)

LESSONS = (
    Lesson(
        52,
        TRAVEL,
        "Book the cheapest flight without asking",
        (
            (30, "Ana spent a night on an airport bench"),
            (19, "the ticket could not be changed"),
            (8, "the bag cost more than the flight"),
        ),
    ),
    Lesson(
        50,
        TRAVEL,
        "Name two restaurants, not ten, and say why",
        ((45, ""), (38, ""), (31, ""), (25, ""), (17, ""), (12, ""), (5, "")),
    ),
    Lesson(48, HOME, "Ask about peanuts before suggesting any dessert", ((41, ""), (33, ""), (26, ""), (14, ""))),
    Lesson(
        45,
        WORK,
        "Quote prices to restaurants without tax, to shops with tax",
        ((40, ""), (28, "a shop was quoted without tax"), (15, "")),
    ),
    Lesson(37, WORK, "Never promise a delivery in the week of a glaze firing", ((20, ""), (10, ""))),
    Lesson(28, HOME, "Put what the cat needs first on the shopping list", ((21, ""),)),
    Lesson(15, TRAVEL, "Check the knee-friendly seat map before paying", ((7, ""),)),
    Lesson(5, WORK, "Send photographs of new glazes at noon, when the light is flat"),
)

SAID = (
    Said(55, TRAVEL, "Ana works as a ceramicist at Olaria Sul. Bruno teaches music at a school in Alfama."),
    Said(54, TRAVEL, "Ana likes night trains and dislikes early flights."),
    Said(53, HOME, "Bruno said: always turn the music down after ten, the neighbours have a baby.", 7),
    Said(52, HOME, "Thanks, that was great! What is the weather like tomorrow?", 2),
    Said(51, WORK, "Teresa from Casa Verde called. Casa Verde pays within thirty days.", 6),
    Said(50, WORK, "Ana said: never ship vases by the cheap courier.", 8),
    Said(49, HOME, "Miso is afraid of the vacuum cleaner."),
    Said(47, TRAVEL, "Ana wants to see the Scrovegni Chapel in Padua one day."),
    Said(46, HOME, "Ana loves small trattorias and hates loud bars."),
    Said(45, WORK, "The new apprentice is called Inês. Inês works on Mondays and Thursdays.", 6),
    Said(43, HOME, "Bruno plays the oud. Bruno's teacher is called Karim."),
    Said(42, TRAVEL, "We flew to Funchal and back; the transfer was late, the hotel was good.", 4),
    Said(40, HOME, "Ana and Bruno celebrate their wedding anniversary on 21 September.", 6),
    Said(39, WORK, "The printer of the studio was out of toner again.", 2),
    Said(38, WORK, "Ana prefers e-mail to phone calls."),
    Said(36, HOME, "Ana's sister Sofia lives in Porto. Sofia works as a nurse.", 6),
    Said(35, HOME, "Sofia's children are called Tomás and Leonor.", 6),
    Said(34, TRAVEL, "Ana said: remember to book seats together for Bruno and me.", 7),
    Said(33, TRAVEL, "Ana moved to Porto last weekend.", 8),
    Said(32, HOME, "Ana is vegetarian now.", 7),
    Said(30, WORK, "Galeria Maré wants twelve vases for January. The owner is called Luís.", 7),
    Said(
        29,
        TRAVEL,
        "Ana spent the night at the airport because the cheapest flight had a connection of forty minutes.",
        8,
    ),
    Said(28, HOME, "Bruno hates coriander.", 5),
    Said(27, TRAVEL, "Ana said: never book a connection under an hour.", 8),
    Said(25, WORK, "Inês asked whether the celadon can be fired hotter. Ana will try it next week.", 4),
    Said(24, HOME, "What is on television tonight?", 2),
    Said(23, HOME, "Leonor turns six on the second of December.", 6),
    Said(21, WORK, "Ana's favorite glaze is celadon.", 6),
    Said(20, WORK, "The order for Casa Verde was shipped in the week of a firing and three plates broke.", 7),
    Said(19, TRAVEL, "Ana had a knee operation and needs room for her leg.", 8),
    Said(18, HOME, "Miso takes half a tablet for the thyroid every morning.", 8),
    Said(16, TRAVEL, "Ana's favorite seat is the aisle now.", 6),
    Said(14, HOME, "Bruno is learning Arabic on Saturdays.", 5),
    Said(13, WORK, "Luís said the exhibition opens on 17 January and he wants fourteen vases.", 8),
    Said(12, TRAVEL, "Ana asked for a trip to Rome in May and wants to go by night train.", 6),
    Said(10, WORK, "Ana said: always photograph every vase before it leaves the studio.", 7),
    Said(9, HOME, "Sofia's phone number is +351 912 000 417.", 6),
    Said(8, TRAVEL, "The bag cost more than the flight to Madrid. Ana was not amused.", 6),
    Said(6, WORK, GARBLED, 3),
    Said(5, WORK, "Inês works on Tuesdays, too.", 5),
    Said(4, HOME, MISHEARD, 7),
    Said(4, HOME, "Ana's favorite tea is genmaicha.", 5),
    Said(3, HOME, "The plumber comes on Wednesday between nine and eleven.", 6),
    Said(2, HOME, "Sofia laughed: her party is on the twenty-first of June, as every year.", 6),
    Said(3, WORK, "Luís lives in Matosinhos. Luís's phone number is +351 913 000 882.", 6),
    Said(2, WORK, "Ana said: never quote a price before the glaze is tested.", 7),
    Said(2, WORK, "Teresa of Casa Verde wants the plates in a darker celadon this time.", 6),
    Said(1, TRAVEL, "Ana wants a quiet room in Rome, not on the street.", 6),
    Said(0, HOME, "Bruno said: never plan anything for Saturday mornings.", 6),
    Said(0, WORK, "Luís of Galeria Maré prefers phone calls in the afternoon.", 5),
)
