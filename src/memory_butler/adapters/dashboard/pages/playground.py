"""Playground: what an agent would receive for a prompt, and why. Its searches do not count as use of a memory."""

import asyncio
from dataclasses import asdict, replace
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.error_texts import user_text
from memory_butler.adapters.dashboard.components.elements import card, tag, visible_text
from memory_butler.adapters.dashboard.components.page_frame import page, show_error
from memory_butler.adapters.dashboard.components.vue_components import (
    ContextBlock,
    ExplainPanel,
    PlaygroundForm,
    SearchResults,
)
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url, url_for
from memory_butler.adapters.dashboard.view_models import playground_results
from memory_butler.adapters.dashboard.view_models.list_query import IN_USE
from memory_butler.adapters.dashboard.view_models.phrases import count_text, sentence, truncate
from memory_butler.adapters.dashboard.view_models.playground_results import (
    PATH,
    PlaygroundQuery,
    query_from,
    url_params,
)
from memory_butler.errors import MemoryButlerError, NotFound
from memory_butler.models import EVERY_SCOPE, Answer, Briefing, MemoryType
from memory_butler.models.explanation import Term
from memory_butler.models.listings import Listing
from memory_butler.operations.briefing import brief
from memory_butler.operations.browse import find, listings
from memory_butler.operations.retrieval import explain
from memory_butler.operations.retrieval import search as search_operation
from memory_butler.policy.memories.sentence import memory_sentence
from memory_butler.policy.memories.validation import BUDGET_TOKENS

NOW_ONLY = "Explanations are only available for the present. Clear “As of” to use them."
_KINDS = [{"name": str(kind), "label": f"{kind}s".capitalize()} for kind in MemoryType]

# Search results with the terms of each score, the context block, and the texts that were left out of it.
Results = tuple[Answer, list[tuple[Term, ...]], Briefing, dict[str, str]]


@page(PATH, "Playground")
async def playground(context: PageContext, request: Request) -> None:
    await Playground(context).build(dict(request.query_params))


class Playground:
    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._default_butler = context.principal.butler
        self._form: PlaygroundForm | None = None
        self._explain_panel: ExplainPanel | None = None
        self._choices: list[dict[str, str]] = []
        self._request_number = 0

    async def build(self, query: dict[str, str]) -> None:
        context = self._context
        butlers = await context.run("list_memories", listings.butlers)
        self._default_butler = context.principal.butler if context.principal.butler in butlers else butlers[0]
        self._query = query_from(query, self._default_butler)
        tag(
            "p",
            "mb-muted mb-lead",
            text="See what an agent would receive for a prompt, and why. Searches here do not count as use.",
        )
        with tag("div", "mb-stack"):
            self._form = PlaygroundForm(
                query=self._form_values(),
                butlers=list(butlers),
                modes=[{"name": str(mode), "label": label} for mode, label in playground_results.MODES.items()],
                kinds=_KINDS,
                default_budget=context.dashboard.settings.token_budget_of(self._query.butler),
                max_budget=BUDGET_TOKENS,
                has_as_of=context.principal.role.governs,
                busy=False,
            )
            self._form.on("search", handle_errors(self._on_search))
            self._answer = tag("div", "mb-stack mb-playground-answer")
        on_popstate(self._on_popstate)
        await self._draw()

    # --- events ---

    async def _on_search(self, event: events.GenericEventArguments) -> None:
        args = event.args if isinstance(event.args, dict) else {}
        query = {str(name): str(value)[:20_000] for name, value in args.items()}
        await self._go(query_from(query, self._default_butler))

    async def _on_explain(self, event: events.GenericEventArguments) -> None:
        self._query = replace(self._query, explain=await self._reference(str(event.args)[:200]))
        push_url(PATH, url_params(self._query, self._default_butler))
        await self._explain()
        ui.run_javascript("document.getElementById('explain')?.scrollIntoView({block: 'nearest'})")

    async def _reference(self, words: str) -> str:
        """The reference of a memory, from its reference or from words of it."""
        if " " not in words and (":" in words or any(character.isdigit() for character in words)):
            return words
        scope = EVERY_SCOPE if self._context.principal.role.governs else None
        listing = Listing(type=None, words=words, scope=scope, validity=IN_USE)
        found = (await self._context.run("list_memories", find.find, listing)).items
        if not found:
            raise NotFound("No memory has these words.", recovery="Try other words, or enter a reference.")
        [first, *_] = (one.memory for one in found)
        chosen = {
            "ref": f"{first.type}:{first.ref}",
            "text": truncate(memory_sentence(first), playground_results.SAID_CHARACTERS),
        }
        self._choices = [chosen, *(one for one in self._choices if one["ref"] != chosen["ref"])]
        if self._explain_panel:
            self._explain_panel.set_props(choices=self._choices)
        return chosen["ref"]

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query = query_from(query, self._default_butler)
        await self._draw()

    async def _go(self, query: PlaygroundQuery) -> None:
        self._query = query
        push_url(PATH, url_params(query, self._default_butler))
        await self._draw()

    # --- drawing ---

    async def _draw(self) -> None:
        """Search, then show; the previous results stay until the new ones are there."""
        assert self._form
        self._request_number += 1
        request_number = self._request_number
        budget = self._context.dashboard.settings.token_budget_of(self._query.butler)
        self._form.set_props(query=self._form_values(), default_budget=budget, busy=bool(self._query.prompt))
        try:
            results = await self._search() if self._query.prompt else None
        except MemoryButlerError as problem:
            if request_number == self._request_number:
                self._answer.clear()
                with self._answer:
                    show_error(problem)
            return
        finally:
            if request_number == self._request_number:
                self._form.set_props(busy=False)
        if request_number != self._request_number:
            return
        self._answer.clear()
        with self._answer:
            if results is None:
                _draw_examples()
            else:
                self._show(*results)
                await self._explain()

    async def _search(self) -> Results:
        question, request = self._query.question(), self._query.request()

        async def search(call: Any) -> tuple[Answer, list[tuple[Term, ...]]]:
            answer = await search_operation.search(call.resources, question, call.caller, bump=False)
            return answer, [search_operation.score_terms(call.resources, one) for one in answer.results]

        (answer, terms), (briefing, contents) = await asyncio.gather(
            self._context.call("memory_search", search),
            self._context.run("memory_context", brief.brief_with_omitted, request),
        )
        return answer, terms, briefing, contents

    def _show(
        self, answer: Answer, terms: list[tuple[Term, ...]], briefing: Briefing, contents: dict[str, str]
    ) -> None:
        _tabs()
        with tag("div", "mb-playground-columns") as both:
            both.props["data-tab"] = "found"
            with tag("section", "mb-card mb-pane-results", aria_label="Search results"):
                tag("h2", text=count_text(len(answer.results), "search result"))
                SearchResults(
                    rows=playground_results.result_rows(answer, terms),
                    labels=[{"name": name, "label": label} for name, label in playground_results.LABELS.items()],
                    notes=[sentence(note) for note in (*answer.degraded, *playground_results.overview_note(answer))],
                    empty="No memory is relevant to this. Try other words, or all types.",
                )
            with tag("div", "mb-stack mb-playground-side"):
                with card("Context sent to the agent", "mb-pane-block", aria_label="Context block"):
                    block = ContextBlock(
                        text=briefing.text, receipt=playground_results.receipt_props(briefing.receipt, contents)
                    )
                    block.on("explain", handle_errors(self._on_explain))
                self._choices = playground_results.choices(answer, contents)
                self._explain_panel = ExplainPanel(
                    choices=self._choices,
                    reference=self._query.explain,
                    explanation=None,
                    problem="",
                    note=NOW_ONLY if self._query.as_of else "",
                )
                self._explain_panel.on("explain", handle_errors(self._on_explain))

    async def _explain(self) -> None:
        query, panel = self._query, self._explain_panel
        if panel is None or not query.explain or query.as_of:
            return
        settings = self._context.dashboard.settings
        budget = query.tokens if query.tokens is not None else settings.token_budget_of(query.butler)
        try:
            explanation = await self._context.run(
                "memory_explain", explain.explain, query.question(), query.explain, token_budget=budget
            )
        except MemoryButlerError as problem:
            panel.set_props(reference=query.explain, explanation=None, problem=visible_text(user_text(problem)))
        else:
            panel.set_props(
                reference=query.explain,
                explanation=playground_results.explanation_props(explanation),
                problem="",
            )

    def _form_values(self) -> dict[str, Any]:
        values = asdict(self._query)
        del values["explain"]
        return values


def _tabs() -> None:
    """On narrow screens: tabs for search results and context block."""
    with tag("div", "mb-tabs", role="tablist", aria_label="What to show"):
        for name, label, chosen in (("found", "Search results", "true"), ("block", "Context block", "false")):
            button = tag("button", "mb-tab", text=label, type="button", role="tab", aria_selected=chosen)
            button.props["data-shows"] = name
            button.on(
                "click",
                js_handler="(event) => { const tab = event.currentTarget, box = tab.closest('.mb-playground-answer');"
                " box.querySelector('.mb-playground-columns').dataset.tab = tab.dataset.shows;"
                " for (const one of box.querySelectorAll('.mb-tab'))"
                " one.setAttribute('aria-selected', String(one === tab)); }",
            )


def _draw_examples() -> None:
    with card("Try a prompt", "mb-empty"):
        tag(
            "p",
            text="See the search results with every term of their scores, and the context block that an agent gets:",
        )
        tag("p", text="what is in it, what was left out, and why. Start with one of these:")
        with tag("div", "mb-examples"):
            for example in playground_results.EXAMPLES:
                tag("a", "mb-example", text=example, href=url_for(PATH, {"prompt": example}))
