"""A process that writes: `python -m tests.adapters.http.activity_writer HOME SEED COUNT TENANT…`.

It prints a line when it begins.
"""

import asyncio
import random
import sys

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Caller, NewEpisode, NewFact, Principal, Role
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

BUTLERS = ("coder", "health")


async def write(resources: Resources, tenant: str, count: int, chance: random.Random) -> None:
    """Episodes, and facts that replace each other: one or several events in each transaction."""
    for number in range(count):
        name = chance.choice(BUTLERS)
        caller = Caller(Principal(tenant, name, Role.AGENT))
        if chance.random() < 0.5:
            await remember.episode(resources, NewEpisode(content=f"{tenant} day {number}", butler=name), caller)
        else:
            scope = chance.choice((name, "global"))
            fact = NewFact(subject="Anna", predicate=chance.choice("xyz"), content=f"{tenant} {number}", scope=scope)
            await remember.fact(resources, fact, caller)
        await asyncio.sleep(chance.random() * 0.02)


async def main(home: str, seed: str, count: str, *tenants: str) -> None:
    async with open_resources(load_settings(home=home), embedder=FakeEmbedder()) as resources:
        sys.stdout.write("writing\n")
        sys.stdout.flush()
        writers = (write(resources, tenant, int(count), random.Random(f"{seed}{tenant}")) for tenant in tenants)
        await asyncio.gather(*writers)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
