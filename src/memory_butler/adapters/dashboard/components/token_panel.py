"""API tokens on the system page: list, create and revoke. The secret of a new token is shown once."""

from datetime import timedelta
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.data_tables import CollapsibleCard, DataTable, SecretField, TokenForm
from memory_butler.adapters.dashboard.components.elements import tag, visible_text
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url
from memory_butler.adapters.dashboard.view_models import system_tables
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import InvalidInput
from memory_butler.models import NewToken, Role, Token
from memory_butler.models.listings import Page
from memory_butler.operations.access import tokens

PATH = "/system"
PAGE_SIZE = 10
COLUMNS = ("Label", "Butler", "Role", "Status", "Created", "Last used", "Expires")
LIFETIMES = {0: "never", 7: "in 7 days", 30: "in 30 days", 90: "in 90 days", 365: "in 1 year"}
ROLES = {
    Role.READER: "reader: read only",
    Role.AGENT: "agent: reads and writes as one butler",
    Role.ADMIN: "admin: manages this tenant",
    Role.OPERATOR: "operator: manages all tenants",
}


class TokenPanel:
    def __init__(self, context: PageContext, request: Request) -> None:
        self._context = context
        self._cursor = request.query_params.get("tokens") or None
        self._tokens: dict[str, Token] = {}
        self._next_cursor: str | None = None
        self._version = 0

    async def draw(self) -> None:
        if not self._context.may("tokens"):
            return
        description = f"API tokens of tenant {self._context.principal.tenant}."
        if self._context.dashboard.is_open:
            description += " Not needed while service.auth is off."
        with CollapsibleCard("Tokens", description).classes("mb-sys-tokens"):
            self._form()
            self._rows = DataTable(COLUMNS, label="Tokens", empty="No tokens yet.", action="Revoke")
            self._rows.on_action(self._confirm_revoke)
            with tag("nav", "mb-line mb-sys-pages", aria_label="More tokens"):
                self._newest = ui.button("Newest", on_click=handle_errors(self._to_newest)).props("flat no-caps dense")
                self._older = ui.button("Older", on_click=handle_errors(self._to_older)).props("flat no-caps dense")
        self._confirm = ConfirmDialog()
        on_popstate(self._on_popstate)
        await self._refresh()

    def _form(self) -> None:
        is_operator = self._context.principal.role is Role.OPERATOR
        roles = {role: label for role, label in ROLES.items() if role is not Role.OPERATOR or is_operator}
        self._token_form = TokenForm(
            butler=self._context.principal.butler,
            roles=[{"value": role, "label": label} for role, label in roles.items()],
            lifetimes=[{"value": days, "label": label} for days, label in LIFETIMES.items()],
            role=Role.AGENT,
            days=90,
            version=0,
        )
        self._token_form.on("create", handle_errors(self._create))

    async def _create(self, event: events.GenericEventArguments) -> None:
        values: dict[str, Any] = event.args if isinstance(event.args, dict) else {}
        days, role = values.get("days"), values.get("role")
        if not isinstance(days, int) or days not in LIFETIMES or role not in set(ROLES):
            raise InvalidInput("Choose a role and an expiry.")

        async def query(call: CallContext) -> tuple[Token, str]:
            new_token = NewToken(
                tenant=self._context.principal.tenant,
                butler=str(values.get("butler") or ""),
                role=Role(str(role)),
                label=str(values.get("label") or "").strip() or None,
                expires_at=call.resources.clock() + timedelta(days=days) if days else None,
            )
            return await tokens.create(call.resources, new_token, call.caller)

        token, secret = await self._context.call("tokens", query)
        self._version += 1
        self._token_form.set_props(version=self._version)
        self._reveal(token, secret)
        await self._to_newest()

    def _reveal(self, token: Token, secret: str) -> None:
        with ui.dialog().props("persistent") as dialog, tag("div", "mb-card mb-dialog"):
            tag("h2", text=visible_text(f"Token for {token.label}"))
            tag("p", text="Copy it now. It is not shown again.")
            SecretField(secret=secret)
            with tag("div", "mb-dialog-foot"):
                # Deleting the dialog removes the secret from the page.
                ui.button("Done", on_click=dialog.delete).props("unelevated no-caps")
        dialog.open()

    async def _confirm_revoke(self, key: str) -> None:
        token = self._tokens.get(key)
        if token is None:
            raise InvalidInput("This token is not on the page any more.")

        seconds = self._context.dashboard.settings.service.token_cache_seconds
        effects = [f"It stops working within {seconds:g} seconds. This cannot be undone."]
        if await self._confirm(visible_text(f"Revoke the token for {token.label}?"), effects, button="Revoke"):
            await self._context.run("tokens", tokens.revoke, self._context.principal.tenant, token.id)
            ui.notify(visible_text(f"Revoked: {token.label}"), type="positive", position="bottom")
            await self._refresh()

    async def _to_newest(self) -> None:
        await self._go(None)

    async def _to_older(self) -> None:
        await self._go(self._next_cursor)

    async def _go(self, cursor: str | None) -> None:
        if cursor != self._cursor:
            push_url(PATH, {"tokens": cursor})
        await self._on_popstate({"tokens": cursor or ""})

    async def _on_popstate(self, params: dict[str, str]) -> None:
        self._cursor = params.get("tokens") or None
        await self._refresh()

    async def _refresh(self) -> None:
        tenant = self._context.principal.tenant

        async def query(call: CallContext) -> Page[Token]:
            page = await tokens.list_tokens(call.resources, tenant, call.caller, limit=PAGE_SIZE, cursor=self._cursor)
            self._rows.show(system_tables.token_rows(page.items, call.resources.clock()))
            return page

        page = await self._context.call("tokens", query)
        self._tokens = {str(token.id): token for token in page.items}
        self._next_cursor = page.cursor
        self._newest.set_visibility(self._cursor is not None)
        self._older.set_visibility(self._next_cursor is not None)
