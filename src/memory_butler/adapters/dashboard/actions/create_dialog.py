"""The dialog that stores a new fact, rule or note."""

from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.memory_actions import ActionResult
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.components.vue_components import CreateForm
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models.list_query import split_values
from memory_butler.adapters.dashboard.view_models.phrases import truncate
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import MemoryType, NewEpisode, NewFact, NewRule, Origin, Permanence, Stored
from memory_butler.operations.writing import remember
from memory_butler.policy.memories.validation import FACT_CHARACTERS

_LABELS = {MemoryType.FACT: "Fact", MemoryType.RULE: "Rule", MemoryType.EPISODE: "Note"}


class CreateDialog:
    """One per page. The user vouches for what is stored here, so its origin is `user`."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._dialog = ui.dialog()
        self._dialog.props["aria-label"] = "Remember"
        self._request_id = ""

    async def ask(self, kind: MemoryType | None, request_id: str) -> ActionResult | None:
        """Returns None if the user cancels. A problem is shown in the form, which keeps what was typed."""
        kinds = [one for one in MemoryType if self._context.may(f"memory_store_{one}")]
        self._request_id = request_id
        self._dialog.clear()
        with self._dialog:
            self._form = CreateForm(
                kinds=[{"name": str(one), "label": _LABELS[one]} for one in _LABELS if one in kinds],
                kind=str(kind if kind in kinds else kinds[0] if MemoryType.FACT not in kinds else MemoryType.FACT),
                permanences=[str(one) for one in Permanence],
                most=FACT_CHARACTERS,
                problem="",
                attempt=0,
            )
            self._form.on("create", handle_errors(self._on_create))
            self._form.on("cancel", lambda: self._dialog.submit(None))
        answer = await self._dialog
        return answer if isinstance(answer, ActionResult) else None

    async def _on_create(self, event: events.GenericEventArguments) -> None:
        given = {str(name): str(value).strip() for name, value in dict(event.args).items()}
        try:
            stored = await self._store(given)
        except MemoryButlerError as problem:
            advice = f" {problem.recovery}" if problem.recovery else ""
            self._form.set_props(problem=f"{visible_text(problem.message)}{visible_text(advice)}")
            return
        undo_id = await memory_actions.find_undo_id(self._context, stored.type, str(stored.id), self._request_id)
        words = {"confirmed": "Known already, and confirmed", "superseded": "Stored, and replaces an older fact"}
        label = words.get(stored.outcome, "Quarantined for review" if stored.quarantine_reason else "Remembered")
        message = f"{label}: “{truncate(given.get('content', ''), memory_actions.QUOTE_CHARACTERS)}”"
        self._dialog.submit(ActionResult(message, stored, undo_id, "create"))

    async def _store(self, given: dict[str, str]) -> Stored:
        kind = given.get("kind", "")
        if kind not in set(MemoryType):
            raise InvalidInput("Choose a fact, a rule or a note.")
        tags = tuple(one.removeprefix("#").strip() for one in split_values(given.get("tags", "")))

        async def work(call: CallContext) -> Stored:
            if kind == MemoryType.EPISODE:
                note = NewEpisode(
                    content=given["content"], butler=call.caller.principal.butler, tags=tags, source=Origin.USER
                )
                return await remember.episode(call.resources, note, call.caller)
            scope = given.get("scope") or "global"
            if kind == MemoryType.RULE:
                rule = NewRule(content=given["content"], scope=scope, tags=tags, source=Origin.USER)
                return await remember.rule(call.resources, rule, call.caller)
            fact = NewFact(
                subject=given["subject"],
                predicate=given["predicate"],
                content=given["content"],
                scope=scope,
                tags=tags,
                importance=int(given.get("importance") or 5),
                permanence=given.get("permanence") or Permanence.STANDARD,
                source=Origin.USER,
            )
            return await remember.fact(call.resources, fact, call.caller)

        return await self._context.call(f"memory_store_{kind}", work, request_id=self._request_id)
