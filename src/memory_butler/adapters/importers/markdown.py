"""Markdown for agents: `CLAUDE.md`, `AGENTS.md`, or a folder of notes.

| there | here |
|---|---|
| a list item or paragraph that says how to act (always, never, use, prefer …) | a rule |
| any other | a fact about what its heading names (else the file), beside the others |
| code, tables, comments, front matter, imports (`@file`) | left out |
"""

import re
from collections.abc import Iterator
from pathlib import Path

from memory_butler.adapters.importers.notes import notes, pieces, text_of
from memory_butler.errors import InvalidInput
from memory_butler.models import NewRule
from memory_butler.operations.adopt import Parsed
from memory_butler.policy.admission import NAME_CHARACTERS, RULE_CHARACTERS

NAME = "markdown"
FEWEST_WORDS = 2
FILES = 10_000
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_MARKS = re.compile(r"\*\*|__")
_LEFT_OUT = re.compile(r"^\s*(?:\||@[\w~./-]+\s*$|!?\[[^\]]*\]\([^)]*\)\s*$|[-=*_]{3,}\s*$|<[^>]+>\s*$)")
_ACTING = re.compile(
    r"^(?:[\w `'\"/.-]{1,40}:\s+)?(?:please\s+)?(?:always|never|do not|don't|do|use|prefer|avoid|keep|run|write|make|"
    r"ensure|check|follow|add|put|remember|read|test|commit|ask|stop|start|call|leave|include|exclude|name|format|"
    r"answer|reply|speak|respond|treat|handle|return|raise|update|document|verify|only|when|if|before|after|must|"
    r"no\s|be\s)\b"
    r"|\b(?:must(?: not)?|should(?: not|n't)?|never|always|do not|don't|prefer(?:red|s)?|avoid|make sure)\b",
    re.IGNORECASE,
)


def parse(path: Path, butler: str) -> Parsed:
    found = Parsed(NAME)
    for file in _files(path):
        shown = file.name if path.is_file() else file.relative_to(path).as_posix()
        for heading, text in blocks(text_of(file), found):
            _add(found, heading or _title(file), text, {"imported_from": NAME, "file": shown})
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    inside = (one for one in path.rglob("*.md") if one.is_file() and not _is_hidden(one.relative_to(path)))
    files = sorted(inside) if path.is_dir() else []
    if not files or len(files) > FILES:
        raise InvalidInput(
            f"{path} is no Markdown file and no folder of such files.",
            recovery=f"Pass a file such as CLAUDE.md, or a folder with at most {FILES:,} files that end in .md.",
        )
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in path.parts)


def _title(file: Path) -> str:
    """What a file is about: its name or, for a file that every project has, its folder's."""
    is_usual = file.stem.casefold() in ("claude", "agents", "memory", "readme", "gemini", "index", "claude.local")
    return (file.resolve().parent.name if is_usual else file.stem) or file.stem


def blocks(text: str, found: Parsed) -> Iterator[tuple[str, str]]:
    """Every list item and every paragraph with the heading above it."""
    plain, fenced = _FENCE.subn("\n\n", _COMMENT.sub("", _FRONT.sub("", text.replace("\r\n", "\n"), count=1)))
    if fenced:
        found.left_out["is code"] += fenced
    heading, held = "", list[str]()
    for line in [*plain.split("\n"), ""]:
        head, item = _HEADING.match(line), _ITEM.match(line)
        skipped = bool(_LEFT_OUT.match(line))
        if held and (not line.strip() or head or item or skipped):
            yield heading, " ".join(held)
            held = []
        if head:
            heading = _MARKS.sub("", head[1]).strip(" `")
        elif item:
            held = [item[1].strip()]
        elif skipped:
            found.left_out["is a table, a rule or a link alone"] += 1
        elif line.strip():
            held.append(line.strip())


def _add(found: Parsed, about: str, text: str, metadata: dict[str, str]) -> None:
    words = _MARKS.sub("", text).strip()
    if len(words.split()) < FEWEST_WORDS:
        found.left_out["says too little"] += 1
    elif _ACTING.search(words):
        found.items += [NewRule(content=piece, metadata=metadata) for piece in pieces(words, RULE_CHARACTERS)]
    else:
        found.items += notes(about[:NAME_CHARACTERS], words, metadata=metadata)
