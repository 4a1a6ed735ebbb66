"""Empty states: what a page shows while nothing is stored, with the commands to get started."""

import shlex

from fastapi import Request

from memory_butler.adapters.connect.executable import NAME, executable, is_usual
from memory_butler.adapters.dashboard.components.elements import card, tag
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.http.app import connection_lines
from memory_butler.models import MemoryType
from memory_butler.settings import Settings

EXAMPLES: dict[MemoryType, tuple[str, ...]] = {
    MemoryType.FACT: ("remember", "fact", "Ada", "favourite tea", "Jasmine, without sugar"),
    MemoryType.RULE: ("remember", "rule", "Ask before booking anything that cannot be cancelled."),
    MemoryType.EPISODE: ("remember", "episode", "Ada said that she moves to Porto in May."),
}
_EXPLANATIONS: dict[MemoryType, str] = {
    MemoryType.FACT: "A fact is something that is true about a person or a thing. Agents store facts as they learn "
    "them, and consolidation extracts them from episodes.",
    MemoryType.RULE: "A rule says how to act. It gains trust when it helps, and becomes a warning if it does harm.",
    MemoryType.EPISODE: "An episode records what happened in an agent session. Consolidation turns episodes into facts "
    "and rules; the episodes then expire.",
}


def first_steps(kind: MemoryType, settings: Settings, port: int | None) -> list[tuple[str, list[str]]]:
    """Titled groups of shell commands. A service is only reached over the network."""
    connect = connection_lines(settings, port)
    if settings.service.auth == "required":
        return [("Connect an agent", connect[1:])]
    return [
        (f"Store the first {kind}", [shell_command(settings, *EXAMPLES[kind])]),
        ("Connect an agent, over stdio or HTTP", connect),
    ]


def shell_command(settings: Settings, *words: str, on_this_store: bool = True) -> str:
    """A command line for this program and this store. Users of a service have the program on another machine."""
    if settings.service.auth == "required":
        return shlex.join([NAME, *words])
    line = shlex.join([*executable(), *words])
    if is_usual(settings.home) or not on_this_store:
        return line
    return f"{shlex.join([f'MEMORY_BUTLER_HOME={settings.home}'])} {line}"


def draw_empty_state(context: PageContext, kind: MemoryType, request: Request) -> None:
    """Explain a memory type and how to store the first one."""
    with card(f"No {kind}s yet", "mb-empty mb-getting-started"):
        tag("p", text=_EXPLANATIONS[kind])
        if not context.may(f"memory_store_{kind}"):
            return
        for title, lines in first_steps(kind, context.dashboard.settings, request.url.port):
            tag("h3", text=title)
            tag("pre", text="\n".join(lines))
