"""A first memory in Python: store a fact, a rule and an episode, find them again, and get a briefing.

Run it with `python examples/first_memory.py`. The store is the one in ~/.memory-butler, or in MEMORY_BUTLER_HOME.
"""

import asyncio

from memory_butler import BriefRequest, NewEpisode, NewFact, NewRule, Question, open_resources
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember


async def main() -> None:
    async with open_resources() as resources:
        fact = await remember.fact(resources, NewFact(subject="Ana", predicate="favorite color", content="green"))
        await remember.rule(resources, NewRule(content="Show Ana two designs before building one"))
        await remember.episode(resources, NewEpisode(content="Ana approved the new logo.", butler="designer"))
        print(f"stored fact:{fact.ref} ({fact.outcome})")

        answer = await search.search(resources, Question(query="Which colour does Ana like?", limit=1))
        for entry in answer.results:
            print(f"found {entry.hit.content!r} with score {entry.parts.score:.2f}")

        request = BriefRequest(trigger_prompt="Design a poster for Ana", butler="designer", token_budget=200)
        briefing = await brief.brief(resources, request)
        print(briefing.text)
        print(f"{briefing.receipt.used_tokens} of {briefing.receipt.token_budget} tokens used")


if __name__ == "__main__":
    asyncio.run(main())
