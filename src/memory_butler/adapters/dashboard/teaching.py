"""How to begin: what a page shows where nothing is remembered yet."""

import shlex

from fastapi import Request

from memory_butler.adapters.connect.executable import NAME, executable, is_usual
from memory_butler.adapters.dashboard.elements import tag
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.adapters.http import connection_lines
from memory_butler.models import MemoryType
from memory_butler.settings import Settings

EXAMPLES: dict[MemoryType, tuple[str, ...]] = {
    MemoryType.FACT: ("remember", "fact", "Ada", "favourite tea", "Jasmine, without sugar"),
    MemoryType.RULE: ("remember", "rule", "Ask before booking anything that cannot be cancelled."),
    MemoryType.EPISODE: ("remember", "episode", "Ada said that she moves to Porto in May."),
}
_MEANING: dict[MemoryType, str] = {
    MemoryType.FACT: "A fact is something that is true of somebody or something. Agents store facts as they learn "
    "them, and consolidation distils them from what happened.",
    MemoryType.RULE: "A rule says how to act. It earns trust by helping, and becomes a warning if it does harm.",
    MemoryType.EPISODE: "An episode is what happened in a session. Facts and rules are distilled from episodes, which "
    "are then let go.",
}


def first_steps(kind: MemoryType, settings: Settings, port: int | None) -> list[tuple[str, list[str]]]:
    """What to do, and the lines to type for it. A service is reached over the network only."""
    connect = connection_lines(settings, port)
    if settings.service.auth == "required":
        return [("Connect an agent", connect[1:])]
    return [
        ("Store the first one", [command(settings, *EXAMPLES[kind])]),
        ("Connect an agent, over stdio or over HTTP", connect),
    ]


def command(settings: Settings, *words: str, on_this_store: bool = True) -> str:
    """A line to type, for this program and this store. Who looks at a service has the program elsewhere."""
    if settings.service.auth == "required":
        return shlex.join([NAME, *words])
    line = shlex.join([*executable(), *words])
    if is_usual(settings.home) or not on_this_store:
        return line
    return f"{shlex.join([f'MEMORY_BUTLER_HOME={settings.home}'])} {line}"


def teach(visitor: Visitor, kind: MemoryType, request: Request) -> None:
    """Nothing of this type is remembered yet: what it is, and how to begin."""
    with tag("section", "mb-card mb-empty mb-teach"):
        tag("h2", text=f"No {kind}s yet")
        tag("p", text=_MEANING[kind])
        if not visitor.may(f"memory_store_{kind}"):
            return
        for title, lines in first_steps(kind, visitor.desk.settings, request.url.port):
            tag("h3", text=title)
            tag("pre", text="\n".join(lines))
