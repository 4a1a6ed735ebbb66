"""A first memory in Python: store a fact, a rule and an episode, find them again, and get a briefing.

Run it with `python examples/first_memory.py`. The store is the one in ~/.memory-butler, or in MEMORY_BUTLER_HOME; give
`Memory` the address of a server to use that instead.
"""

from memory_butler import Memory

with Memory(butler="designer") as memory:
    fact = memory.remember_fact("Ana", "favorite color", "green")
    memory.remember_rule("Show Ana two designs before building one")
    memory.remember_episode("Ana approved the new logo.")
    print(f"stored fact:{fact.ref} ({fact.outcome})")

    print(memory.search("Which colour does Ana like?", limit=1))

    briefing = memory.briefing("Design a poster for Ana", token_budget=200)
    print(briefing)
    print(f"{briefing.receipt.used_tokens} of {briefing.receipt.token_budget} tokens used")
