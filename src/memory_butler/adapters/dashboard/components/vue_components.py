"""Python side of the dashboard's Vue components. A list sends a few values per row instead of many elements."""

from collections.abc import Sequence
from typing import Any

from nicegui.element import Element

from memory_butler.adapters.dashboard.components.elements import VueComponent

Group = dict[str, Any]
_OPPOSITES = {"pin": "unpin", "unpin": "pin", "forget": "restore", "restore": "forget"}


class EntryList(VueComponent, component="entry_list.js"):
    """Titled groups of entries; `variant` is `line` for a history, `found` for search results, `tiles` for a grid.

    Emits `action` (a name and an entry's key) and `navigate` (an entry's key).
    """


class MemoryEditor(VueComponent, component="memory_editor.js"):
    """The fields of a memory, each edited in place. Emits `save` (a field's name and value)."""


class CreateForm(VueComponent, component="create_form.js"):
    """Form for a new fact, rule or note. Emits `create` with its values, and `cancel`."""


# --- overview and timeline ------------------------------------------------------------------------


class CountCards(VueComponent, component="count_cards.js"):
    """One card per memory type with its count."""


class ReviewDigest(VueComponent, component="review_digest.js"):
    """The first entries of the inbox. Emits `decide` with a key, a decision and the text."""


class VisitNote(VueComponent, component="visit_note.js"):
    """Changes since the last visit. Emits `since` with its time."""


class AttentionList(VueComponent, component="attention_list.js"):
    """Items that need attention. Emits `action` with an item's key."""


class ShareBars(VueComponent, component="share_bars.js"):
    """Labelled bars, each a share of a whole."""


class EventList(VueComponent, component="event_list.js"):
    """Events by day. Emits `undo` with an entry's key."""


class MemoryMapCanvas(VueComponent, component="memory_map.js"):
    """The whole store as a picture. Emits `open` with the key of a node, and `recall` with a prompt."""


class CallFigures(VueComponent, component="call_figures.js"):
    """Figures of the calls of agents, and a bar for each day."""


class CallList(VueComponent, component="call_list.js"):
    """Calls of agents with filters. Emits `filter` with the filters' values, and `older`."""


class TimelineFilters(VueComponent, component="timeline_filters.js"):
    """Emits `change` with the filters' values."""


class AsOfPanel(VueComponent, component="as_of_panel.js"):
    """The store as of the end of a day. Emits `day` with the chosen day and `search` with a question about it."""


# --- playground -----------------------------------------------------------------------------------


class PlaygroundForm(VueComponent, component="playground_form.js"):
    """Emits `search` with the form's values."""


class SearchResults(VueComponent, component="search_results.js"):
    """Search results, each with its score as a stacked bar."""


class ContextBlock(VueComponent, component="context_block.js"):
    """The context block that an agent receives, with its use of the budget. Emits `explain` with a reference."""


class ExplainPanel(VueComponent, component="explain_panel.js"):
    """The reason why a memory was or was not returned. Emits `explain` with a reference."""


# --- consolidation --------------------------------------------------------------------------------


class RunTable(VueComponent, component="run_table.js"):
    """Consolidation runs with filters. Emits `filter` with a butler and a state, and `page` with a cursor."""


class RunItems(VueComponent, component="run_items.js"):
    """The items of a run beside the memories they replace. Emits `decide` with a place and a decision."""


class DeadLetters(VueComponent, component="dead_letters.js"):
    """Episodes that could not be processed. Emits `requeue` with references, and `page` with a cursor."""


class ReviewInbox(VueComponent, component="review_inbox.js"):
    """Items that wait for a decision, one by one. Emits `decide` with a key, a decision and the edited text."""


class SubjectList(VueComponent, component="subject_list.js"):
    """Subjects with the number of facts about each. Emits `search` with words."""


class SubjectMerge(VueComponent, component="subject_merge.js"):
    """Form to move the facts of a subject to another one. Emits `merge` with the other subject."""


# --- keyboard focus -------------------------------------------------------------------------------


class KeyboardFocus(Element, component="keyboard_focus.js"):
    """Invisible, one per page: moves the focus after an action has redrawn the element that had it."""

    def focus_first(self, selectors: Sequence[str]) -> None:
        """Focus the first element that exists. Selectors never contain text of a memory."""
        self.run_method("focusFirst", list(selectors))


class ConnectionGuard(VueComponent, component="connection_guard.js"):
    """Says so while the server is away, and stops clicks that would be lost. One per page."""


class FocusKeeper(Element, component="focus_keeper.js"):
    """Invisible, one per page: keeps the focus in place when a live update redraws the page."""


def action_buttons(container: str, action: str) -> list[str]:
    """Selectors of an action's button, or of the opposite action's that has replaced it."""
    names = (action, _OPPOSITES.get(action, action))
    return [f'{container} [data-act="{name}"]' for name in dict.fromkeys(names)]
