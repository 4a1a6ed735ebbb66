"""The playground: ask what an agent would ask, and see what it gets and why. Nothing here counts as used."""

import asyncio
from dataclasses import replace
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard import asking
from memory_butler.adapters.dashboard.address import address, move_to, on_travel
from memory_butler.adapters.dashboard.asking import PATH, Wish, in_address, wish_from
from memory_butler.adapters.dashboard.asking_parts import AskForm, Block, Results, Why
from memory_butler.adapters.dashboard.complaints import words_of
from memory_butler.adapters.dashboard.elements import props_of, tag, text_of
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.saying import counted
from memory_butler.adapters.dashboard.shell import page, trouble
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Answer, Briefing, MemoryType
from memory_butler.models.explanation import Term
from memory_butler.operations import brief, browse, explain, recall
from memory_butler.policy.admission import BUDGET_TOKENS

NOW_ONLY = "What is explained is how a question is answered now. Empty the field “As of” to ask why."
_KINDS = [{"name": str(kind), "label": f"{kind}s".capitalize()} for kind in MemoryType]

# What a search finds with what each score is the sum of, the block, and the words of what was left out of it.
Found = tuple[Answer, list[tuple[Term, ...]], Briefing, dict[str, str]]


@page(PATH, "Playground")
async def playground(visitor: Visitor, request: Request) -> None:
    await Playground(visitor).build(dict(request.query_params))


class Playground:
    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._usual = visitor.principal.butler
        self._form: AskForm | None = None
        self._why: Why | None = None
        self._asked = 0

    async def build(self, query: dict[str, str]) -> None:
        visitor = self._visitor
        butlers = await visitor.ask("list_memories", lambda visit: browse.butlers(visit.butler, visit.caller))
        self._usual = visitor.principal.butler if visitor.principal.butler in butlers else butlers[0]
        self._wish = wish_from(query, self._usual)
        tag("p", "mb-muted mb-lead", text="See what an agent would be told, and why. Nothing here counts as used.")
        with tag("div", "mb-stack"):
            self._form = AskForm(
                wish=self._filled(),
                butlers=list(butlers),
                modes=[{"name": str(mode), "label": label} for mode, label in asking.MODES.items()],
                kinds=_KINDS,
                usual=visitor.desk.settings.briefing.token_budget,
                most=BUDGET_TOKENS,
                travels=visitor.principal.role.governs,
                busy=False,
            )
            self._form.on("ask", handled(self._on_ask))
            self._answer = tag("div", "mb-stack mb-play-answer")
        on_travel(self._on_travel)
        await self._draw()

    # --- what a person does ---

    async def _on_ask(self, event: events.GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        query = {str(name): str(value)[:20_000] for name, value in given.items()}
        await self._go(wish_from(query, self._usual))

    async def _on_why(self, event: events.GenericEventArguments) -> None:
        self._wish = replace(self._wish, why=str(event.args)[:200])
        move_to(PATH, in_address(self._wish, self._usual))
        await self._explain()
        ui.run_javascript("document.getElementById('why')?.scrollIntoView({block: 'nearest'})")

    async def _on_travel(self, query: dict[str, str]) -> None:
        self._wish = wish_from(query, self._usual)
        await self._draw()

    async def _go(self, wish: Wish) -> None:
        self._wish = wish
        move_to(PATH, in_address(wish, self._usual))
        await self._draw()

    # --- what is shown ---

    async def _draw(self) -> None:
        """Ask, then show; the last answer stays until the next is there."""
        assert self._form
        self._asked += 1
        mine = self._asked
        props_of(self._form, wish=self._filled(), busy=bool(self._wish.prompt))
        try:
            found = await self._found() if self._wish.prompt else None
        except LoginOver:
            raise
        except MemoryButlerError as problem:
            if mine == self._asked:
                self._answer.clear()
                with self._answer:
                    trouble(problem)
            return
        finally:
            if mine == self._asked:
                props_of(self._form, busy=False)
        if mine != self._asked:
            return
        self._answer.clear()
        with self._answer:
            if found is None:
                _teach()
            else:
                self._show(*found)
                await self._explain()

    async def _found(self) -> Found:
        question, request = self._wish.question(), self._wish.request()

        async def search(visit: Any) -> tuple[Answer, list[tuple[Term, ...]]]:
            answer = await recall.search(visit.butler, question, visit.caller, bump=False)
            return answer, [recall.weighed(visit.butler, one) for one in answer.results]

        (answer, terms), (briefing, left) = await asyncio.gather(
            self._visitor.ask("memory_search", search),
            self._visitor.ask(
                "memory_context", lambda visit: brief.brief_and_words(visit.butler, request, visit.caller)
            ),
        )
        return answer, terms, briefing, left

    def _show(self, answer: Answer, terms: list[tuple[Term, ...]], briefing: Briefing, left: dict[str, str]) -> None:
        _tabs()
        with tag("div", "mb-both") as both:
            both.props["data-tab"] = "found"
            with tag("section", "mb-card mb-of-found", aria_label="Search results"):
                tag("h2", text=f"A search finds {counted(len(answer.results), 'memory', 'memories')}")
                Results(
                    rows=asking.result_rows(answer, terms),
                    labels=[{"name": name, "label": label} for name, label in asking.LABELS.items()],
                    notes=[asking.sentence(said) for said in answer.degraded],
                    empty="Nothing that is remembered bears on this. Try other words, or all types.",
                )
            with tag("div", "mb-stack mb-play-side"):
                with tag("section", "mb-card mb-of-block", aria_label="Context block"):
                    tag("h2", text="The block an agent gets")
                    block = Block(text=briefing.text, receipt=asking.receipt_shape(briefing.receipt, left))
                    block.on("why", handled(self._on_why))
                self._why = Why(asked=self._wish.why, told=None, problem="", note=NOW_ONLY if self._wish.as_of else "")
                self._why.on("why", handled(self._on_why))

    async def _explain(self) -> None:
        wish, box = self._wish, self._why
        if box is None or not wish.why or wish.as_of:
            return
        budget = wish.tokens if wish.tokens is not None else self._visitor.desk.settings.briefing.token_budget
        try:
            told = await self._visitor.ask(
                "memory_explain",
                lambda visit: explain.explain(
                    visit.butler, wish.question(), wish.why, visit.caller, token_budget=budget
                ),
            )
        except LoginOver:
            raise
        except MemoryButlerError as problem:
            props_of(box, asked=wish.why, told=None, problem=text_of(words_of(problem)))
        else:
            props_of(box, asked=wish.why, told=asking.why_shape(told), problem="")

    def _filled(self) -> dict[str, Any]:
        wish = self._wish
        return {
            "prompt": wish.prompt,
            "butler": wish.butler,
            "mode": str(wish.mode),
            "types": list(wish.types),
            "budget": wish.budget,
            "as_of": wish.as_of,
        }


def _tabs() -> None:
    """On a narrow screen one of the two is shown at a time."""
    with tag("div", "mb-tabs", role="tablist", aria_label="What to show"):
        for name, label, chosen in (("found", "Search results", "true"), ("block", "Context block", "false")):
            button = tag("button", "mb-tab", text=label, type="button", role="tab", aria_selected=chosen)
            button.props["data-shows"] = name
            button.on(
                "click",
                js_handler="(event) => { const tab = event.currentTarget, box = tab.closest('.mb-play-answer');"
                " box.querySelector('.mb-both').dataset.tab = tab.dataset.shows;"
                " for (const one of box.querySelectorAll('.mb-tab'))"
                " one.setAttribute('aria-selected', String(one === tab)); }",
            )


def _teach() -> None:
    with tag("section", "mb-card mb-empty"):
        tag("h2", text="Ask what an agent would be asked")
        tag(
            "p",
            text="You see what a search finds, with every part of each score, and the block of memory that an agent",
        )
        tag("p", text="starts its work with: what is in it, what was cut, and why. Begin with one of these:")
        with tag("div", "mb-examples"):
            for example in asking.EXAMPLES:
                tag("a", "mb-example", text=example, href=address(PATH, {"prompt": example}))
