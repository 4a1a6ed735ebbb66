"""Tokens on the page of the machinery: who has one, a new one whose secret is shown once, and one that is worth
nothing any more."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import standing
from memory_butler.adapters.dashboard.address import move_to, on_travel
from memory_butler.adapters.dashboard.elements import tag, text_of
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.tabular import Fold, Rows, Secret, TokenForm
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.errors import InvalidInput
from memory_butler.models import NewToken, Role, Token
from memory_butler.models.listings import Page
from memory_butler.operations import tokens

PATH = "/system"
SHOWN = 10
COLUMNS = ("Label", "Butler", "Role", "Stands", "Made", "Last used", "Ends")
ENDS = {0: "never ends", 7: "for a week", 30: "for 30 days", 90: "for 90 days", 365: "for a year"}
ROLES = {
    Role.READER: "reader: looks",
    Role.AGENT: "agent: works as one butler",
    Role.ADMIN: "admin: governs this tenant",
    Role.OPERATOR: "operator: looks after all tenants",
}


class TokenDesk:
    def __init__(self, visitor: Visitor, request: Request) -> None:
        self._visitor = visitor
        self._cursor = request.query_params.get("tokens") or None
        self._found: dict[str, Token] = {}
        self._later: str | None = None

    async def draw(self) -> None:
        if not self._visitor.may("tokens"):
            return
        about = f"By these, callers of {self._visitor.principal.tenant} say who they are."
        if self._visitor.desk.is_open:
            about += " On this machine nobody has to, as long as service.auth is off."
        with Fold("Tokens", about).classes("mb-sys-tokens"):
            self._form()
            self._rows = Rows(COLUMNS, label="Tokens", empty="There are no tokens yet.", act="Revoke")
            self._rows.on_act(self._ask_to_revoke)
            with tag("nav", "mb-line mb-sys-pages", aria_label="More tokens"):
                self._newest = ui.button("Newest", on_click=handled(self._to_newest)).props("flat no-caps dense")
                self._older = ui.button("Older", on_click=handled(self._to_older)).props("flat no-caps dense")
        on_travel(self._travelled)
        await self._show()

    def _form(self) -> None:
        roles = {role: words for role, words in ROLES.items() if role is not Role.OPERATOR or self._makes_operators()}
        self._wanted = TokenForm(
            butler=self._visitor.principal.butler,
            roles=[{"value": role, "label": words} for role, words in roles.items()],
            ends=[{"value": days, "label": words} for days, words in ENDS.items()],
            role=Role.AGENT,
            days=90,
        )
        self._wanted.on("create", handled(self._create))

    def _makes_operators(self) -> bool:
        return self._visitor.principal.role is Role.OPERATOR

    async def _create(self, event: events.GenericEventArguments) -> None:
        given: dict[str, Any] = event.args if isinstance(event.args, dict) else {}
        days, role = given.get("days"), given.get("role")
        if not isinstance(days, int) or days not in ENDS or role not in set(ROLES):
            raise InvalidInput("Choose a role and how long the token is good.")

        async def asked(visit: Visit) -> tuple[Token, str]:
            wanted = NewToken(
                tenant=self._visitor.principal.tenant,
                butler=str(given.get("butler") or ""),
                role=Role(str(role)),
                label=str(given.get("label") or "").strip() or None,
                expires_at=visit.butler.clock() + timedelta(days=days) if days else None,
            )
            return await tokens.create(visit.butler, wanted, visit.caller)

        token, secret = await self._visitor.ask("tokens", asked)
        self._wanted.clear_label()
        self._reveal(token, secret)
        await self._to_newest()

    def _reveal(self, token: Token, secret: str) -> None:
        with ui.dialog().props("persistent") as dialog, tag("div", "mb-card mb-dialog"):
            tag("h2", text=text_of(f"The token for {token.label}"))
            tag("p", text="Copy it now: nobody can read it again.")
            Secret(secret)
            with tag("div", "mb-dialog-foot"):
                # With the dialog the secret leaves the page, too.
                ui.button("I have it", on_click=dialog.delete).props("unelevated no-caps")
        dialog.open()

    async def _ask_to_revoke(self, key: str) -> None:
        token = self._found.get(key)
        if token is None:
            raise InvalidInput("There is no such token on this page.")

        async def revoke() -> None:
            await self._revoke(token.id)
            dialog.delete()

        with ui.dialog() as dialog, tag("div", "mb-card mb-dialog"):
            tag("h2", text=text_of(f"Revoke the token for {token.label}?"))
            seconds = self._visitor.desk.settings.service.token_cache_seconds
            tag("p", text=f"Whoever uses it is refused within {seconds:g} seconds. It cannot be taken back.")
            with tag("div", "mb-dialog-foot"):
                ui.button("Cancel", on_click=dialog.delete, color=None).props("outline no-caps")
                ui.button("Revoke", on_click=handled(revoke)).props("unelevated no-caps color=negative")
        dialog.open()

    async def _revoke(self, token_id: UUID) -> None:
        tenant = self._visitor.principal.tenant
        token = await self._visitor.ask(
            "tokens", lambda visit: tokens.revoke(visit.butler, tenant, token_id, visit.caller)
        )
        ui.notify(text_of(f"Revoked: {token.label}"), type="positive", position="bottom")
        await self._show()

    async def _to_newest(self) -> None:
        await self._go(None)

    async def _to_older(self) -> None:
        await self._go(self._later)

    async def _go(self, cursor: str | None) -> None:
        if cursor != self._cursor:
            move_to(PATH, {"tokens": cursor})
        await self._travelled({"tokens": cursor or ""})

    async def _travelled(self, wanted: dict[str, str]) -> None:
        self._cursor = wanted.get("tokens") or None
        await self._show()

    async def _show(self) -> None:
        tenant = self._visitor.principal.tenant

        async def asked(visit: Visit) -> Page[Token]:
            found = await tokens.listed(visit.butler, tenant, visit.caller, limit=SHOWN, cursor=self._cursor)
            self._rows.show(standing.token_lines(found.items, visit.butler.clock()))
            return found

        found = await self._visitor.ask("tokens", asked)
        self._found = {str(token.id): token for token in found.items}
        self._later = found.cursor
        self._newest.set_visibility(self._cursor is not None)
        self._older.set_visibility(self._later is not None)
