"""Extract the episode of an agent session: the observations in its last exchanges or its summary, no transcript.

| from | kept | left out |
|---|---|---|
| the user | statements, decisions and requests | questions for information, greetings, thanks, yes and no |
| the agent | decisions; of its last answer the results and open points, or else the conclusion | everything else |
| tools | the names of the files that were changed | everything else |

Removed from both: code, logs, tool output and text recalled from memory. Secrets are redacted. If the rest is too
long, the most informative sentences are kept, in their order.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_butler.english.text.names import guess_names
from memory_butler.english.text.word_sets import caseless
from memory_butler.policy.consolidation.recall_loop_guard import strip_recalled
from memory_butler.policy.memories.validation import TAG_CHARACTERS
from memory_butler.policy.trust.redaction import redact

LAST_EXCHANGES = 24
LONGEST_CHARACTERS = 2_000
SENTENCE_CHARACTERS = 400
# Longer texts are read from both ends only: their middle is usually pasted data.
READ_CHARACTERS = 20_000
FEWEST_WORDS = 3
OUTCOME_SENTENCES = 5
DECISION_SENTENCES, CONCLUSION_SENTENCES = 4, 2
FILES_NAMED, FILE_CHARACTERS = 12, 120
TOOL_TAGS, NAME_TAGS = 8, 6

USER, ASSISTANT = "user", "assistant"
_PEOPLE = frozenset({USER, "human", "person", "customer", "client"})
_AGENTS = frozenset({ASSISTANT, "ai", "agent", "model", "bot", "butler", "claude"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn of an agent session: role, text and tools used. Roles other than user and agent are ignored."""

    role: str
    text: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEpisode:
    content: str
    tags: tuple[str, ...]


class _Observation(NamedTuple):
    speaker: str
    text: str
    weight: int


_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
# Tags that clients put around reminders, command output and pasted files.
_OPENED = re.compile(r"<([a-z][\w-]{2,40})(?:\s[^<>]{0,200})?>")
_NOISE = caseless(
    r"\s{0,20}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|"
    r"Traceback |File \"|at [\w.$<>]{1,200} ?\(|\$ |>>> |[>|{}<#]|\w{1,80}(?:Error|Exception): |diff --git|[+-]{3} |"
    r"@@ |\[(?:tool|function|result|system)\b|(?:tool|function)(?: call| result| use| output)?: |caveat: |"
    r"command (?:output|failed))"
)
_HAS_WORD = re.compile(r"\w")
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = caseless(r"^(?:user|human|assistant|ai|agent|claude|system)\s*:\s+")
_MARKUP = re.compile(r"\*\*|__|`")
_END = re.compile(
    r"(?<![\s.][A-Za-z])(?<!\b[DMS]r)(?<!\bMrs)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?…。！？]+[\"'”’)\]]*(?:\s+|$)"
)
_BEGINNING = re.compile(r"(?:^|(?<=[.!?…] )(?<!\b[DMS][rs]\. )(?<!\bMrs\. ))(\w+)")
_COURTESY = caseless(
    r"(?:(?:hi|hey|hello|yo|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|cheers|ok(?:ay)?|yes|yep|"
    r"yeah|no|nope|sure|great|perfect|nice|cool|awesome|excellent|got it|sounds good|looks good|lgtm|please|go ahead|"
    r"do it|continue|go on|bye|goodbye|see you|you're welcome|of course|certainly|absolutely|no problem|happy to help|"
    r"well done|good job|done|there|again|so much|very much|a lot|everyone|all|team|claude|for (?:that|this|your help|"
    r"the help))\b[\s,.!:;–—-]*)+$"
)
_OPENING = caseless(
    r"^(?:(?:hi|hey|hello|good (?:morning|afternoon|evening))(?: there| again| claude)?|thanks|thank you|ok(?:ay)?|"
    r"great|perfect)[,.!]+\s+(?=\S)"
)
_OFFER = caseless(
    r"(?:let me know|feel free|would you like|do you want|shall i|should i|if you(?:'d| would)? (?:like|want|need|"
    r"have)|is there anything|anything else|happy to|i(?:'d| would) be happy|i hope|hope (?:this|that)|i(?:'ll| will|"
    r" am going to|'m going to) (?:now |first |start |look|check|begin|take a look)|let me |let's |sure|certainly|"
    r"of course|great question|good question|here(?:'s| is| are)\b)"
)
_REQUEST = caseless(
    r"(?:(?:so|and|also|now|then|hey|ok|okay)[, ]+)?(?:(?:can|could|would|will) you|please|pls|i(?:'d|"
    r" would) like you to|i (?:want|need) you to)\b"
)
_QUESTION = caseless(
    r"(?:(?:so|and|but|ok|okay|hey|now)[, ]+)?(?:what|where|when|why|how|who|whose|which|is|are|was|were|do|does|did|"
    r"has|have|should|shall|may|any)\b"
)
# Words that indicate information of lasting value.
_INFORMATIVE = caseless(
    r"\b(?:i(?:'m| am| have|'ve| prefer| like| love| hate| use| live| work| moved| want| need| decided)|my|our|"
    r"we(?:'re|'ve)?|always|never|from now on|remember|don't forget|prefer\w*|instead of|rather than|decided?|"
    r"decision|agreed|must|should|allergic|deadline|important|call me|works? at|lives? in|birthday|switch(?:ed)? to|"
    r"no longer|not .{1,30} but)\b"
)
_OUTCOME = caseless(
    r"\b(?:done|fixed|added|moved|removed|deleted|renamed|replaced|updated|changed|created|wrote|written|implemented|"
    r"installed|configured|deployed|merged|pushed|committed|sent|booked|scheduled|ordered|paid|cancel+ed|saved|stored|"
    r"decided|agreed|chose|switched|migrated|resolved|verified|tested|passe[sd]|fail(?:s|ed)|broken|found|learned|"
    r"turned out|because|root cause|remains?|left open|still|todo|to do|not yet|next step|blocked|pending|"
    r"now (?:uses?|works?|runs?|has|is)|summar[iy]\w*)\b"
)

_DECISION = caseless(
    r"\b(?:decided|agreed|chose|opted|settled on|instead of|rather than|root cause|turned out|(?:we|i)(?:'ll| will)"
    r" (?:use|keep|go with|stay with))\b"
)


def episode_of_exchanges(
    exchanges: Sequence[Exchange],
    *,
    files: Sequence[str] = (),
    stored: Collection[bytes] = (),
    longest: int = LONGEST_CHARACTERS,
) -> SessionEpisode | None:
    """Returns the observations in the last exchanges of an agent session; None if there are none.

    `files` are the files that the session changed. `stored` are those line hashes of the texts
    (recall_loop_guard.line_hashes) that are stored as facts or rules.
    """
    last = [(turn, _speaker(turn.role)) for turn in exchanges[-LAST_EXCHANGES:]]
    found: list[_Observation] = []
    for turn, speaker in last:
        if speaker == USER:
            found += _user_observations(_sentences(turn.text, stored))
    answers = [list(_sentences(turn.text, stored)) for turn, speaker in last if speaker == ASSISTANT]
    answers = [sentences for sentences in answers if sentences]
    outcome = _agent_observations(answers[-1]) if answers else []
    changed = _files_changed(files)
    if all(one.weight == 0 for one in found) and not outcome and not changed:
        return None
    if answers and not outcome:
        outcome = [_Observation(ASSISTANT, text, 1) for text in _statements(answers[-1])[:CONCLUSION_SENTENCES]]
    earlier = [text for sentences in answers[:-1] for text in _statements(sentences) if _DECISION.search(text)]
    decisions = [_Observation(ASSISTANT, text, 2) for text in earlier[-DECISION_SENTENCES:]]
    tools = [tool for turn in exchanges for tool in turn.tools]
    return _episode(_deduplicated([*found, *decisions, *outcome, *changed]), tools, longest)


def episode_of_summary(
    summary: str, tools: Sequence[str] = (), *, stored: Collection[bytes] = (), longest: int = LONGEST_CHARACTERS
) -> SessionEpisode | None:
    """Returns the filtered summary of an agent session; None if nothing is left."""
    kept = [text for text in _sentences(summary, stored) if not _COURTESY.fullmatch(text)]
    found = [_Observation("", text, 2 if _OUTCOME.search(text) or _INFORMATIVE.search(text) else 1) for text in kept]
    return _episode(_deduplicated(found), tools, longest)


def readable_exchanges(exchanges: Sequence[Exchange], *, longest: int = READ_CHARACTERS) -> list[Exchange]:
    """Returns the last exchanges for a model that summarizes them, without noise, recalled text and secrets."""
    kept: list[Exchange] = []
    for turn in reversed(exchanges[-LAST_EXCHANGES:]):
        speaker = _speaker(turn.role)
        text = " ".join(_sentences(turn.text, ())) if speaker else ""
        longest -= len(text)
        if longest < 0:
            break
        if text:
            kept.append(Exchange(speaker, text))
    return kept[::-1]


def tags_of(content: str, tools: Sequence[str]) -> tuple[str, ...]:
    """Returns tags: the most used tools and the names in the content."""
    used = Counter(tag for tool in tools if (tag := _tool_tag(tool)))
    named = guess_names(_lower_sentence_starts(content))
    # Parts of a longer name are left out.
    wholes = [key for key in named if not any(key in other.split("_") for other in named if other != key)]
    tags = [tag for tag, _ in used.most_common(TOOL_TAGS)] + [key.replace("_", "-") for key in wholes[:NAME_TAGS]]
    return tuple(dict.fromkeys(tag[:TAG_CHARACTERS] for tag in tags))


def _lower_sentence_starts(content: str) -> str:
    """Lower-case the first word of each sentence, unless it is capitalized elsewhere, too, and thus may be a name."""
    text = " ".join(re.sub(r"^(?:User|Assistant): ", "", line) for line in content.splitlines())
    begun = set(_BEGINNING.findall(text))
    inside = Counter(re.findall(r"\w+", text))
    return _BEGINNING.sub(lambda word: word[0] if inside[word[1]] > 1 and word[1] in begun else word[0].lower(), text)


def _speaker(role: str) -> str:
    word = role.strip().casefold()
    return USER if word in _PEOPLE else ASSISTANT if word in _AGENTS else ""


def _tool_tag(tool: str) -> str:
    """Tag of a tool; of an MCP tool its server. Memory Butler's own tools get none."""
    name = tool.strip().casefold()
    if "memory_" in name or "memory-butler" in name:
        return ""
    parts = [part for part in name.split("__") if part]
    found = parts[1] if len(parts) > 2 and parts[0] == "mcp" else (parts or [""])[-1]
    return re.sub(r"[^\w.-]+", "-", found).strip("-_.")


def _sentences(text: str, stored: Collection[bytes]) -> Iterator[str]:
    """Yields the sentences of a text without code, output and recalled text, with secrets redacted."""
    if len(text) > READ_CHARACTERS:
        text = f"{text[: READ_CHARACTERS // 2]}\n{text[-READ_CHARACTERS // 2 :]}"
    plain = strip_recalled(_without_tagged(_FENCED.sub("\n", redact(text).text)), stored)
    for whole in plain.splitlines():
        line = _BULLET.sub("", whole, count=1)
        if _NOISE.match(line) or not _HAS_WORD.search(line):
            continue
        line = " ".join(_LABEL.sub("", _MARKUP.sub("", line), count=1).split())
        begin = 0
        for end in [*(match.end() for match in _END.finditer(line)), len(line)]:
            sentence, begin = _OPENING.sub("", line[begin:end].strip(), count=1), end
            is_text = 0 < len(sentence) <= SENTENCE_CHARACTERS and any(map(str.isalpha, sentence))
            if is_text:
                yield sentence


def _without_tagged(text: str) -> str:
    """Returns the text without <tag>…</tag> blocks."""
    kept, at = [], 0
    unclosed: set[str] = set()
    for opened in _OPENED.finditer(text):
        if opened.start() < at or opened[1] in unclosed:
            continue
        close = f"</{opened[1]}>"
        end = text.find(close, opened.end())
        if end < 0:
            unclosed.add(opened[1])
        else:
            kept.append(text[at : opened.start()])
            at = end + len(close)
    return "\n".join([*kept, text[at:]])


def _user_observations(sentences: Iterator[str]) -> Iterator[_Observation]:
    for text in sentences:
        if _COURTESY.fullmatch(text) or len(text.split()) < FEWEST_WORDS:
            continue
        if _REQUEST.match(text):
            # A request gives context to a result; a bare question has no value alone.
            yield _Observation(USER, text, 1 if not text.endswith("?") or _INFORMATIVE.search(text) else 0)
        elif not (text.endswith("?") or _QUESTION.match(text)):
            yield _Observation(USER, text, 2 if _INFORMATIVE.search(text) else 1)


def _agent_observations(sentences: Sequence[str]) -> list[_Observation]:
    results = [text for text in _statements(sentences) if _OUTCOME.search(text)]
    return [_Observation(ASSISTANT, text, 2) for text in results[:OUTCOME_SENTENCES]]


def _statements(sentences: Sequence[str]) -> list[str]:
    """The sentences that state something: no questions, offers and courtesies."""
    return [
        text
        for text in sentences
        if not (text.endswith("?") or _OFFER.match(text) or _COURTESY.fullmatch(text))
        and len(text.split()) >= FEWEST_WORDS
    ]


def _files_changed(files: Sequence[str]) -> list[_Observation]:
    """One line with the names of the files, the last ones if there are many."""
    named = dict.fromkeys(" ".join(redact(name).text.split())[-FILE_CHARACTERS:] for name in files if name.strip())
    if not named:
        return []
    listed = list(named)[-FILES_NAMED:]
    more = f" and {len(named) - len(listed)} more" if len(named) > len(listed) else ""
    return [_Observation("", f"Files changed: {', '.join(listed)}{more}.", 2)]


def _deduplicated(found: Sequence[_Observation]) -> list[_Observation]:
    """Keeps the last occurrence of each sentence."""
    last = {one.text.casefold(): place for place, one in enumerate(found)}
    return [found[place] for place in sorted(last.values())]


def _episode(found: Sequence[_Observation], tools: Sequence[str], longest: int) -> SessionEpisode | None:
    """Fills the length limit: the most informative observations first, later ones before earlier ones."""
    room, kept = longest, set()
    for place in sorted(range(len(found)), key=lambda at: (-found[at].weight, -at)):
        cost = len(_line(found[place])) + 1
        if cost <= room:
            kept.add(place)
            room -= cost
    content = "\n".join(_line(found[place]) for place in sorted(kept))
    return SessionEpisode(content, tags_of(content, tools)) if content else None


def _line(one: _Observation) -> str:
    return f"{one.speaker.capitalize()}: {one.text}" if one.speaker else one.text
