"""Subjects: a list of them, and the page of one with facts, relations, other names and its history."""

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard.actions import bulk_actions
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import card, chip, tag, visible_text
from memory_butler.adapters.dashboard.components.page_frame import page, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import EntryList, SubjectList, SubjectMerge
from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import push_url, url_for
from memory_butler.adapters.dashboard.view_models import subject_rows
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.english.text.normalize import as_words
from memory_butler.models import Activity, MemoryType
from memory_butler.operations.browse import graph, subject_profile

MAX_CHARACTERS = 300


@page(routes.SUBJECTS, "Subjects")
async def subjects_page(context: PageContext, request: Request) -> str | None:
    name = request.query_params.get("name", "").strip()[:MAX_CHARACTERS]
    if name:
        return await SubjectPage(context, name).open()
    await SubjectsPage(context, request.query_params.get("q", "").strip()[:MAX_CHARACTERS]).open()
    return None


class SubjectsPage:
    def __init__(self, context: PageContext, words: str) -> None:
        self._context = context
        self._words = words

    async def open(self) -> None:
        await subscribe(self._context, Throttle(self._show))
        self._list = SubjectList(rows=[], words=self._words)
        self._list.on("search", handle_errors(self._on_search))
        await self._show()

    async def _on_search(self, event: events.GenericEventArguments) -> None:
        self._words = str(event.args)[:MAX_CHARACTERS]
        push_url(routes.SUBJECTS, {"q": self._words}, replace=True)
        await self._show()

    async def _show(self) -> None:
        found = await self._context.run(
            "list_memories", graph.subjects, words=self._words or None, limit=graph.MAX_SUBJECTS
        )
        self._list.set_props(rows=[subject_rows.subject_row(one) for one in found])


class SubjectPage:
    def __init__(self, context: PageContext, name: str) -> None:
        self._context = context
        self._name = name

    async def open(self) -> str:
        """Draw the page; returns its title."""
        await subscribe(self._context, self._on_events)
        profile = await self._read()
        self._bar = UndoBar(self._context, self._redraw)
        self._confirm = ConfirmDialog()
        with tag("nav", "mb-breadcrumb", aria_label="Breadcrumb"):
            tag("a", text="← All subjects", href=routes.SUBJECTS)
        self._root = tag("div", "mb-subject")
        self._draw(profile)
        return visible_text(as_words(profile.label))

    async def _read(self) -> subject_profile.SubjectProfile:
        return await self._context.run("list_memories", subject_profile.subject_profile, self._name)

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        if any(item.event.entity_type == MemoryType.FACT for item in items):
            await self._redraw()

    async def _redraw(self) -> None:
        self._draw(await self._read())

    def _draw(self, profile: subject_profile.SubjectProfile) -> None:
        self._root.clear()
        with self._root:
            with tag("div", "mb-stack"):
                self._draw_facts(profile)
                with card("Over time", id="over-time"):
                    EntryList(groups=subject_rows.history_groups(profile), variant="line")
            with tag("div", "mb-stack"):
                self._draw_names(profile)
                with card("Relations", id="relations"):
                    groups = subject_rows.relation_groups(profile.relations)
                    if groups:
                        EntryList(groups=groups)
                    else:
                        tag("p", "mb-muted", text="No fact connects it to another subject.")
                    tag("a", "mb-small", text="Show on the map", href=url_for("/graph", {"subject": profile.subject}))

    def _draw_facts(self, profile: subject_profile.SubjectProfile) -> None:
        with card("Facts", id="facts"):
            tag("p", "mb-muted mb-small", text=_counts(profile))
            with tag("dl", "mb-subject-facts"):
                for label, facts in subject_rows.by_property(profile):
                    tag("dt", text=label, dir="auto")
                    with tag("dd"):
                        for fact in facts:
                            with tag("div", "mb-text", dir="auto"):
                                href = routes.memory_path(fact.type, fact.ref)
                                tag("a", text=visible_text(fact.content), href=href)
            listed = url_for("/facts", {"subject": profile.subject})
            tag("a", "mb-small", text="Open as a list, to edit or move several", href=listed)

    def _draw_names(self, profile: subject_profile.SubjectProfile) -> None:
        with card("Names", id="names"):
            with tag("div", "mb-line"):
                chip(as_words(profile.label))
                for name in profile.aliases:
                    chip(name)
            if profile.facts and self._context.may("memory_update"):
                merge = SubjectMerge(label=visible_text(as_words(profile.label)))
                merge.on("merge", handle_errors(self._on_merge))

    async def _on_merge(self, event: events.GenericEventArguments) -> None:
        """Move all facts in use to another subject, as one change."""
        target = str(event.args).strip()[:MAX_CHARACTERS]
        profile = await self._read()
        facts = [one.memory for one in profile.facts]
        effects = [
            f"{count_text(len(facts), 'fact')} about {as_words(profile.label)} will be about {target}.",
            "The old versions stay in the history. One undo takes all of it back.",
        ]
        if not target or not await self._confirm(f"Merge into {visible_text(target)}?", effects, button="Merge"):
            return
        result, problems = await bulk_actions.run(
            self._context, "subject", facts, target, request_id=self._bar.new_request_id()
        )
        self._bar.show(result)
        if problems:
            self._bar.warn(bulk_actions.problem_text(problems))
        await self._redraw()


def _counts(profile: subject_profile.SubjectProfile) -> str:
    former = f", {len(profile.former)} not any more" if profile.former else ""
    more = ". Only the newest are here" if profile.more else ""
    return f"{count_text(len(profile.facts), 'fact')} in use{former}{more}."
