"""The side bar: navigation in groups, user, theme, tenant switch and logout."""

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.dashboard.components.elements import VueComponent, tag, visible_text
from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.metrics.registry import program_version
from memory_butler.models import Role


class MenuButton(VueComponent, component="menu_button.js"):
    """Opens and closes the side bar where it is an icon rail or hidden."""


class ThemeButton(VueComponent, component="theme_button.js"):
    """Switches between the system's theme, light and dark."""


def draw_side_bar(context: PageContext, request: Request, to_review: int) -> None:
    with tag("header", "mb-side"):
        with tag("div", "mb-brand"):
            with tag("a", "mb-brand-link", href="/"):
                tag("img", src="/dashboard/icon.svg", alt="", width="26", height="26")
                tag("span", text="Memory Butler")
            MenuButton()
        with tag("nav", "mb-nav", id="mb-nav", aria_label="Pages"):
            group = ""
            for entry in routes.NAVIGATION:
                if entry.group != group:
                    group = entry.group
                    tag("span", "mb-nav-group", text=group)
                _draw_entry(entry, request.url.path, to_review if entry.path == routes.REVIEW else 0)
        with tag("div", "mb-side-foot"):
            _draw_user(context, request)


def _draw_entry(entry: routes.NavEntry, path: str, count: int) -> None:
    is_memory = path in routes.TYPES or path.startswith(routes.MEMORY)
    is_current = path == entry.path or (is_memory and entry.path == routes.MEMORIES)
    with tag("a", "mb-nav-entry", href=entry.path, title=entry.title) as link:
        if is_current:
            link.props["aria-current"] = "page"
        ui.icon(entry.icon).props('aria-hidden="true"')
        tag("span", "mb-nav-title", text=entry.title)
        if count:
            tag("span", "mb-nav-badge mb-number", text=f"{count:,}", title=f"{count:,} to decide on")


def _draw_user(context: PageContext, request: Request) -> None:
    """User, role and tenant, theme switch and logout."""
    principal = context.principal
    with tag("div", "mb-user"):
        ui.icon("person").props('aria-hidden="true"')
        with tag("div"):
            tag("div", "mb-user-name", text=visible_text(principal.name or principal.butler))
            where = "this machine" if context.dashboard.is_open else f"{principal.role} of {principal.tenant}"
            tag("div", "mb-muted mb-small", text=where)
        ThemeButton()
    if principal.role is Role.OPERATOR:
        _draw_tenant_switch(context, request)
    if not context.dashboard.is_open:
        with tag("form", method="post", action=routes.LOGOUT):
            tag("button", "mb-button-outline", text="Log out", type="submit")
    tag("div", "mb-muted mb-small", text=f"Version {program_version()}")


def _draw_tenant_switch(context: PageContext, request: Request) -> None:
    """Operators can switch to another tenant; while they do, the page shows it and offers the way back."""
    principal = context.principal
    with _tenant_form(request):
        tag("label", "mb-small", text="Tenant", **{"for": "tenant"})
        with tag("div", "mb-line"):
            # A placeholder, not a value: redrawing would reset a value while the user types.
            attributes = {"placeholder": principal.tenant, "maxlength": "64", "required": "", "autocomplete": "off"}
            tag("input", id="tenant", name="tenant", **attributes)
            tag("button", "mb-button-outline", text="Go", type="submit")
    if principal.home:
        tag(
            "p",
            "mb-tenant-notice mb-small",
            text=f"You are viewing tenant {principal.tenant}. This is audited.",
            role="status",
        )
        with _tenant_form(request):
            tag("input", type="hidden", name="tenant", value="")
            tag("button", "mb-button-outline", text=f"Back to {principal.home}", type="submit")


def _tenant_form(request: Request) -> Element:
    form = tag("form", "mb-tenant", method="post", action=routes.TENANT)
    with form:
        # Without query parameters: filters and memories belong to one tenant.
        path = request.url.path
        tag("input", type="hidden", name="next", value="/" if path.startswith(routes.MEMORY) else path)
    return form
