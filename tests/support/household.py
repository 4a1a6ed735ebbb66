"""A store with a few dozen mixed memories of one person, for tests of search."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.gate.ids import id_maker

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
FACTS = (
    ("Anna", "favorite_color", "Anna likes green."),
    ("Anna", "job", "She is a nurse at the children's hospital."),
    ("Anna", "allergic_to:peanuts", "Even traces are dangerous; she carries an EpiPen."),
    ("Anna", "lives_in", "A flat in Lisbon, near the river."),
    ("Anna", "plays", "The cello, in an amateur orchestra."),
    ("Ben", "job", "He repairs bicycles and has his own workshop."),
    ("Ben", "favorite_food", "Lasagne, the way his grandmother made it."),
    ("Ben", "lives_in", "A farmhouse outside of Porto."),
    ("Ben", "afraid_of", "Heights; he never takes a cable car."),
    ("Clara", "school", "She is in the third grade and loves maths."),
    ("the cat", "sleeps", "On the kitchen sofa, always under the red blanket."),
    ("the cat", "vet", "Doctor Moreira, in the street behind the station."),
    ("billing service", "language", "Written in Go, deployed on Fly."),
    ("billing service", "database", "PostgreSQL 16, with nightly backups to S3."),
    ("website", "framework", "Django with HTMX, no React."),
    ("car", "next_inspection", "Due in September, at the garage of Mister Alves."),
    ("wifi", "guest_network", "Called Seagull, and the password is on the fridge."),
)
RULES = (
    "Run the smoke tests before every deployment.",
    "Never deploy on a Friday afternoon.",
    "Answer e-mails of customers in Portuguese unless they write in English.",
    "Water the tomatoes every evening in summer.",
    "Use British spelling in the documentation.",
)
EPISODES = (
    ("s1", "Ben: How was the concert last night?"),
    ("s1", "Anna: Wonderful, we played Dvorak and my string broke in the last bars!"),
    ("s1", "Ben: I am building a wooden boat in the barn, it will take all year."),
    ("s2", "The flaky invoice test was fixed by freezing the clock in its fixture."),
    ("s2", "The memory leak of the image resizer came from an unclosed file handle."),
    ("s3", "Booked flights to Naxos for the second week of July."),
    ("s3", "The dentist moved the appointment to Thursday at four."),
    ("s4", "The washing machine was repaired; the pump had been blocked by a coin."),
)
# What happened when, long before it was stored.
EVENTS = (
    ("Anna", "visited", "She went to Rome and saw the Sistine Chapel.", datetime(2023, 5, 14, tzinfo=UTC)),
    ("Anna", "visited", "She went to Vienna and saw the opera.", datetime(2024, 2, 3, tzinfo=UTC)),
    ("Anna", "visited", "She went to Oslo and saw the fjords.", datetime(2025, 8, 20, tzinfo=UTC)),
)


def own_tenant(resources: Resources) -> Resources:
    """Returns the resources with their own tenant and a stopped clock."""
    tenant = f"t{uuid4().hex[:16]}"
    settings = resources.settings.model_copy(update={"tenant": tenant})
    return replace(resources, settings=settings, clock=lambda: NOW, make_id=id_maker(random.Random(tenant)))


async def fill(resources: Resources) -> None:
    for subject, predicate, content in FACTS:
        aliases = ("Annie",) if (subject, predicate) == ("Anna", "job") else ()
        await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, aliases=aliases))
    for content in RULES:
        await remember.rule(resources, NewRule(content=content))
    for number, (session, content) in enumerate(EPISODES):
        moment = NOW - timedelta(days=4) + timedelta(minutes=number)
        await remember.episode(
            resources, NewEpisode(content=content, butler="main", session_id=session, observed_at=moment)
        )
    for subject, predicate, content, moment in EVENTS:
        await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, valid_at=moment))
