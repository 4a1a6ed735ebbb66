"""Markdown for agents: `CLAUDE.md`, `AGENTS.md`, or a folder of notes.

| there | here |
|---|---|
| a list item or paragraph with an instruction (always, never, use, prefer …) | a rule |
| any other | a fact about its heading (else the file); replaces no other |
| code, tables, comments, front matter, imports (`@file`) | left out |
"""

import re
from collections.abc import Iterator
from pathlib import Path

from memory_butler.adapters.importers.notes import note_facts, read_text_file, split_text
from memory_butler.errors import InvalidInput
from memory_butler.models import NewRule
from memory_butler.operations.transfer.import_foreign import Parsed
from memory_butler.policy.memories.validation import NAME_CHARACTERS, RULE_CHARACTERS

NAME = "markdown"
MIN_WORDS = 2
MAX_FILES = 10_000
GENERIC_NAMES = ("claude", "agents", "memory", "readme", "gemini", "index", "claude.local")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_MARKS = re.compile(r"\*\*|__")
_LEFT_OUT = re.compile(r"^\s*(?:\||@[\w~./-]+\s*$|!?\[[^\]]*\]\([^)]*\)\s*$|[-=*_]{3,}\s*$|<[^>]+>\s*$)")
_INSTRUCTION = re.compile(
    r"^(?:[\w `'\"/.-]{1,40}:\s+)?(?:please\s+)?(?:always|never|do not|don't|do|use|prefer|avoid|keep|run|write|make|"
    r"ensure|check|follow|add|put|remember|read|test|commit|ask|stop|start|call|leave|include|exclude|name|format|"
    r"answer|reply|speak|respond|treat|handle|return|raise|update|document|verify|only|when|if|before|after|must|"
    r"no\s|be\s)\b"
    r"|\b(?:must(?: not)?|should(?: not|n't)?|never|always|do not|don't|prefer(?:red|s)?|avoid|make sure)\b",
    re.IGNORECASE,
)


def parse(path: Path, butler: str) -> Parsed:
    parsed = Parsed(NAME)
    for file in _files(path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        for heading, text in blocks(read_text_file(file), parsed):
            _add(parsed, heading or _title(file), text, {"imported_from": NAME, "file": name})
    return parsed


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    inside = (file for file in path.rglob("*.md") if file.is_file() and not _is_hidden(file.relative_to(path)))
    files = sorted(inside) if path.is_dir() else []
    if not files or len(files) > MAX_FILES:
        raise InvalidInput(
            f"{path} is neither a Markdown file nor a folder of Markdown files.",
            recovery=f"Pass a file such as CLAUDE.md, or a folder with at most {MAX_FILES:,} files that end in .md.",
        )
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in path.parts)


def _title(file: Path) -> str:
    """Return the subject of a file: its name, or its folder's name for a file that every project has."""
    is_generic = file.stem.casefold() in GENERIC_NAMES
    return (file.resolve().parent.name if is_generic else file.stem) or file.stem


def blocks(text: str, parsed: Parsed) -> Iterator[tuple[str, str]]:
    """Yield every list item and paragraph with the heading above it; count the rest as left out."""
    plain, fenced = _FENCE.subn("\n\n", _COMMENT.sub("", _FRONT.sub("", text.replace("\r\n", "\n"), count=1)))
    if fenced:
        parsed.left_out["is code"] += fenced
    heading, block = "", list[str]()
    for line in [*plain.split("\n"), ""]:
        head, item = _HEADING.match(line), _ITEM.match(line)
        skipped = bool(_LEFT_OUT.match(line))
        if block and (not line.strip() or head or item or skipped):
            yield heading, " ".join(block)
            block = []
        if head:
            heading = _MARKS.sub("", head[1]).strip(" `")
        elif item:
            block = [item[1].strip()]
        elif skipped:
            parsed.left_out["is a table, a horizontal rule or only a link"] += 1
        elif line.strip():
            block.append(line.strip())


def _add(parsed: Parsed, about: str, text: str, metadata: dict[str, str]) -> None:
    content = _MARKS.sub("", text).strip()
    if len(content.split()) < MIN_WORDS:
        parsed.left_out["is too short"] += 1
    elif _INSTRUCTION.search(content):
        parsed.items += [NewRule(content=piece, metadata=metadata) for piece in split_text(content, RULE_CHARACTERS)]
    else:
        parsed.items += note_facts(about[:NAME_CHARACTERS], content, metadata=metadata)
