"""Parts of a text that somebody or something else wrote: quoted and forwarded mails, web pages, documents, tool output.

Recognised by form and by the words that introduce them. A mail header or the beginning of a page reaches to the end of
the text, an introduction ("the page says: …") to the end of its paragraph, a quotation or a fence to its own end. Each
pattern is tried once a line, on a bounded beginning of it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from memory_butler.models import Origin

LINE_CHARACTERS = 1_000
# Share of a text that must come from elsewhere for the whole text to count as such.
MOSTLY = 0.6
CONDITION_CHARACTERS = 60
CACHED_TEXTS = 4096

_MAIL = (
    r"-{2,40}\s?(?:original|forwarded) message|begin forwarded message|fwd? ?: \S"
    r"|(?:from|von|de|da) ?: ?\S[^\n]{0,200}[@<]|(?:subject|betreff|objet|asunto) ?: \S|(?:reply-to|return-path"
    r"|message-id) ?: "
    r"|(?:on|am|le|el) [^:]{6,80}(?:wrote|schrieb|a écrit|escribió) ?:"
)
_PAGE = (
    r"<!doctype html|</?(?:html|head|body)\b|<!--"
    r"|<(?:title|meta|article|section|div|span|script|style|p|h\d|li|a)\b[^>\n]{0,200}>[^\n]{0,600}</"
    r"|(?:url|source|page|link|fetched|retrieved|scraped|crawled|visited|browsed|contents? of|text of|opened)"
    r" ?(?:from|at|url)? ?:? <?https?://"
    r"|(?:web ?page|web content|incoming (?:e-?mail|mail|message)) ?:|<(?:document|web_?page|e-?mail|attachment)\b"
    r"|(?:web ?page|page|site|website|article|search result|snippet|wiki|document|pdf|readme|transcript|ticket"
    r"|calendar invite|invitation|attachment) (?:title|contents?|text|body|excerpt|snippet) ?:"
)
_TOOL = (
    r"(?:tool|function|command|shell|terminal|console|api|server|plugin|mcp|query|search|browser|http)"
    r"[ _-](?:output|results?|response|returned|log) ?[:\]]|\[tool|<tool_|<function_results|<search_results"
    r"|(?:tool|function)(?: ?\([^)\n]{0,40}\)| [\w.-]{1,40})? ?:|(?:stdout|stderr|exit code) ?:|\$ [a-z]|>>> \S"
    r"|traceback \(most recent call last"
    r"|\d{4}-\d\d-\d\d[t ]\d\d:\d\d\S{0,20} \[?(?:info|warn|warning|error|debug|notice)\b|\[(?:info|warn|error|debug)\]"
    r"|(?://|/\*|#|--|;) ?(?:todo|fixme|note|hack|xxx|ai|llm|assistant|agent|instruction|system)\b"
    r"|[\[{] ?\"(?:results?|data|output|content|response|items)\" ?:"
)
_DOCUMENT = (
    r"(?:web ?pages?|web ?sites?|page|site|article|blog(?: post)?|post|wiki|forum|thread|tweet|e-?mails?|mail"
    r"|newsletter"
    r"|message|letter|sms|dm|attachment|document|documentation|docs?|pdf|readme|spreadsheet|slides?|contract|ticket"
    r"|issue|pull request|pr|review|(?:code |source )?comment|commit message|invite|invitation|calendar (?:invite"
    r"|event)"
    r"|search results?|snippet|transcript|log(?: file)?|config file|advert|banner|popup|leaflet|flyer|webseite|seite"
    r"|e-?mail von|nachricht|página|correo|courriel|documento)"
)
_SAYING = (
    r"(?:says?|said|states?|stated|reads|claims?|claimed|asks?|asked|tells?|told|instructs?|instructed|demands?"
    r"|demanded"
    r"|recommends?|recommended|writes|wrote|suggests?|suggested|insists?|insisted|sagt|schreibt"
    r"|dice|dit|(?:contains?|contained|includes?|included|shows?|showed|returned|printed|mentions?|mentioned|notes?"
    r"|noted)"
    r" ?[:\"“'‘])"
)
_THE = (
    r"(?:the|an?|this|that|these|their|his|her|my|our|its|your|one|some|another|[\w-]+['’]s|der|die|das|eine?|la|el|le"
    r"|una?|une?)"
)
# Between a document and its verb: no other clause.
_ATTRIBUTE = r"(?:(?!\b(?:that|and|but|or|who|which|to)\b)[^.!?\n:;,]){0,60}?"
_INTRODUCED = re.compile(
    rf"(?:\b{_THE} (?:(?!user |said )[\w'’-]+ ){{0,3}}{_DOCUMENT}|\breadme|\bweb ?pages?|\bweb ?sites?)\b(?:'s"
    rf"|’s)?{_ATTRIBUTE}\b{_SAYING}"
    rf"|\b{_DOCUMENT} (?:from|by|at|on|von|de) (?:[^.!?\n:]|[.!?](?=\S)){{1,60}}:"
    r"|\b(?:fetched|visited|opened|browsed|read|scraped|downloaded|summari[sz]ed) (?:the )?(?:page |site "
    r"|url )?<?https?://"
    rf"|\b(?:according to|as per|quote[sd]? from|quoting|pasted from|copied from|excerpt from|laut|selon|según)"
    rf" (?:the |a |an |their |his |her |this |that |der |dem |la |le |el )?(?:[\w'’.-]+ ){{0,3}}(?:{_DOCUMENT}\b"
    rf"|https?://)"
    r"|\bforwarded (?:by|from) ",
    re.IGNORECASE,
)
# "If a page says …" quotes no page.
_CONDITION = re.compile(
    r"\b(?:if|when(?:ever)?|unless|in case|any|no|every|each|whatever|wenn|falls|si|cuando|quand)"
    r"(?: (?:an?|the|any|some|eine?|una?|une?))?\s*$"
    r"|\b(?:user|i|we) (?:also )?(?:said|says?|told|mentions?|mentioned|reports?|reported|asks?|asked|wants?"
    r"|confirmed)\b",
    re.IGNORECASE,
)
_TOOL_SAID = re.compile(
    r"\b(?:tool|command|script|api|server|test runner|compiler|linter|output|endpoint|function"
    r"|query)\b[^.!?\n:;]{0,40}?"
    r"\b(?:says?|said|printed|prints|returned|returns|reported|responded|replied|answered) ?[:\"“'‘]",
    re.IGNORECASE,
)
_TO_END = re.compile(rf"[\s>*#\"'(\[]{{0,6}}(?:{_MAIL}|{_PAGE})", re.IGNORECASE)
_TOOL_LINE = re.compile(rf"[\s>*\"'(]{{0,6}}(?:{_TOOL})", re.IGNORECASE)
# The markup of a page reaches to the end, also if it begins inside a line.
_PAGE_INSIDE = re.compile(r"<!doctype html|<html[\s>]|<body[\s>]", re.IGNORECASE)
_QUOTED_LINE = re.compile(r"\s{0,8}>")
_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text that is not the speaker's own."""

    text: str
    origin: Origin


def quoted_parts(text: str) -> list[Part]:
    """The parts of a text that come from elsewhere, in order."""
    return list(_split(text)[0])


@lru_cache(CACHED_TEXTS)
def has_quoted_parts(text: str) -> bool:
    """True if a part of the text comes from elsewhere. Cached: briefings tell the same texts again and again."""
    return bool(quoted_parts(text))


def shown_origin(text: str) -> Origin | None:
    """The origin that a text shows by its form if most of it comes from elsewhere, else None."""
    parts = quoted_parts(text)
    length = len(text.strip()) or 1
    if sum(len(part.text.strip()) for part in parts) / length < MOSTLY:
        return None
    return min((part.origin for part in parts), key=(Origin.EXTERNAL, Origin.TOOL).index)


def part_origin(text: str, content: str) -> Origin | None:
    """The origin of the part of a text that a derived content comes from; None if it is the speaker's own.

    By words: a part counts if it has more of the content's words than the speaker's own text has.
    """
    parts, own = _split(text)
    if not parts:
        return None
    wanted = _words(content)
    best = max(parts, key=lambda part: len(wanted & _words(part.text)))
    return best.origin if len(wanted & _words(best.text)) > len(wanted & _words(own)) else None


@lru_cache(CACHED_TEXTS)
def _split(text: str) -> tuple[tuple[Part, ...], str]:
    """The parts from elsewhere, and the speaker's own text. Cached: each item of an episode asks for its parts."""
    lines = text.splitlines()
    parts: list[Part] = []
    own: list[str] = []
    place = 0
    while place < len(lines):
        said, end, origin = _part_at(lines, place)
        if origin is None:
            own.append(lines[place])
        else:
            own.append(lines[place][:said])
            quoted = "\n".join([lines[place][said:], *lines[place + 1 : end]])
            if quoted.strip():
                parts.append(Part(quoted, origin))
        place = end
    return tuple(parts), "\n".join(own)


def _part_at(lines: list[str], place: int) -> tuple[int, int, Origin | None]:  # noqa: PLR0911 (one line a kind)
    """Where the part that begins in a line begins in it, the line after it, and its origin; None if none begins."""
    line = lines[place][:LINE_CHARACTERS]
    if _TO_END.match(line):
        return 0, len(lines), Origin.EXTERNAL
    if _QUOTED_LINE.match(line):
        return 0, _while(lines, place, _QUOTED_LINE), Origin.EXTERNAL
    if _FENCE.match(line):
        closing = next((at for at in range(place + 1, len(lines)) if _FENCE.match(lines[at])), len(lines) - 1)
        return 0, closing + 1, Origin.TOOL
    if _TOOL_LINE.match(line):
        return 0, _paragraph_end(lines, place), Origin.TOOL
    if (found := _INTRODUCED.search(line)) and not _CONDITION.search(line[: found.start()][-CONDITION_CHARACTERS:]):
        return found.start(), _paragraph_end(lines, place), Origin.EXTERNAL
    if found := _PAGE_INSIDE.search(line):
        return found.start(), len(lines), Origin.EXTERNAL
    if found := _TOOL_SAID.search(line):
        return found.start(), _paragraph_end(lines, place), Origin.TOOL
    return 0, place + 1, None


def _while(lines: list[str], place: int, pattern: re.Pattern[str]) -> int:
    while place < len(lines) and pattern.match(lines[place]):
        place += 1
    return place


def _paragraph_end(lines: list[str], place: int) -> int:
    while place < len(lines) and lines[place].strip():
        place += 1
    return place


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[^\W_]+", text.casefold()) if len(word) > 2}
