"""The command palette of every page."""

from nicegui import events

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import VueComponent, visible_text
from memory_butler.adapters.dashboard.components.undo_bar import UNDO_LAST
from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import subject_rows
from memory_butler.adapters.dashboard.view_models.list_query import IN_USE
from memory_butler.adapters.dashboard.view_models.phrases import count_text, truncate
from memory_butler.english.text.normalize import as_words
from memory_butler.models import EVERY_SCOPE
from memory_butler.models.graph import Subject
from memory_butler.models.listings import ListedMemory, Listing
from memory_butler.operations.browse import find, graph
from memory_butler.policy.memories.sentence import memory_sentence

SHOWN, SUBJECTS = 8, 3
SHOWN_CHARACTERS = 120
_ICONS = {"fact": "fact_check", "rule": "gavel", "episode": "forum"}
_EMIT_UNDO = f"() => emitEvent('{UNDO_LAST}')"


class CommandPalette(VueComponent, component="command_palette.js"):
    """Emits `search` with words, and `undo`."""


def draw_palette(context: PageContext) -> None:
    pages = [{"href": entry.path, "title": entry.title, "icon": entry.icon} for entry in routes.NAVIGATION]
    palette = CommandPalette(pages=pages, found=[], asked="")

    async def search(event: events.GenericEventArguments) -> None:
        words = str(event.args)[:200]
        scope = EVERY_SCOPE if context.principal.role.governs else None
        listing = Listing(type=None, words=words, scope=scope, validity=IN_USE)
        found = await context.run("list_memories", find.find, listing)
        named = await context.run("list_memories", graph.subjects, words=words.strip(), limit=SUBJECTS) if words else []
        entries = [*(_subject(one) for one in named), *(_entry(one) for one in found.items[:SHOWN])]
        palette.set_props(found=entries, asked=words)

    palette.on("search", handle_errors(search))
    palette.on("undo", js_handler=_EMIT_UNDO)


def _subject(subject: Subject) -> dict[str, str]:
    return {
        "href": subject_rows.subject_href(subject.subject),
        "title": visible_text(as_words(subject.label)),
        "icon": "person",
        "note": f"Everything about it: {count_text(subject.facts, 'fact')}",
    }


def _entry(listed: ListedMemory) -> dict[str, str]:
    memory = listed.memory
    return {
        "href": routes.memory_path(memory.type, memory.ref),
        "title": truncate(memory_sentence(memory), SHOWN_CHARACTERS),
        "icon": _ICONS[str(memory.type)],
        "note": str(memory.type).capitalize(),
    }
