from memory_butler.models import *
from memory_butler.operations import remember, recall
from memory_butler.operations.brief import brief
from dataclasses import replace
async def test_crowd(butler):
    for n in range(130):
        await remember.fact(butler, NewFact(subject="green tea", predicate=f"p:{n}", content="green tea"))
    await remember.rule(butler, NewRule(content="never boil the green tea water in the old kettle today please"))
    t=(await brief(butler, BriefRequest(trigger_prompt="green tea", butler="main", token_budget=20000))).text
    print("RULE SHOWN", "kettle" in t, t.count("\n"))
    s=butler.settings.model_copy(update={"retrieval":butler.settings.retrieval.model_copy(update={"text_search":"klingon"})})
    try: await recall.search(replace(butler,settings=s), Question(query="x"))
    except Exception as e: print("TS", type(e).__name__, e)
