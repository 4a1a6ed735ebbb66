"""What a session leaves behind: the observations in its last exchanges, or in its summary. Never the transcript.

| from | kept | left out |
|---|---|---|
| the person | what is told, decided or asked to be done | questions for information, greetings, thanks, yes and no |
| the agent | what its last answer says was done, decided or left open | everything else it said on the way |

Out of both go: code, logs and output of tools, what the memory itself served, and every sentence with something in it
that looks like a secret. Where more is left than there is room for, what tells most stays, in its order.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory_butler.policy.admission import TAG_CHARACTERS
from memory_butler.policy.names import guess_names
from memory_butler.policy.secret_looks import has_secret, without_key_blocks
from memory_butler.policy.served import without_served

LAST_EXCHANGES = 24
LONGEST_CHARACTERS = 2_000
SENTENCE_CHARACTERS = 400
# So much of one text is read, from both of its ends: beyond it stands pasted data.
READ_CHARACTERS = 20_000
FEWEST_WORDS = 3
OUTCOME_SENTENCES = 5
TOOL_TAGS, NAME_TAGS = 8, 6

USER, ASSISTANT = "user", "assistant"
_PEOPLE = frozenset({USER, "human", "person", "customer", "client"})
_AGENTS = frozenset({ASSISTANT, "ai", "agent", "model", "bot", "butler", "claude"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn of a session: who spoke, what, and with which tools. Roles but a person's and an agent's are noise."""

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
# What clients put around things that nobody said: reminders, output of commands, pasted files.
_OPENED = re.compile(r"<([a-z][\w-]{2,40})(?:\s[^<>]{0,200})?>")
_NOISE = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|"
    r"Traceback |"
    r"File \"|at [\w.$<>]+ ?\(|\$ |>>> |[>|{}<#]|\w+(?:Error|Exception): |diff --git|[+-]{3} |@@ |\[(?:tool|function|"
    r"result|"
    r"system)\b|(?:tool|function)(?: call| result| use| output)?: |\W*$|caveat: |command (?:output|failed))",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = re.compile(r"^(?:user|human|assistant|ai|agent|claude|system)\s*:\s+", re.IGNORECASE)
_MARKUP = re.compile(r"\*\*|__|`")
_END = re.compile(
    r"(?<![\s.][A-Za-z])(?<!\b[DMS]r)(?<!\bMrs)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?…。！？]+[\"'”’)\]]*(?:\s+|$)"
)
_BEGINNING = re.compile(r"(?:^|(?<=[.!?…] )(?<!\b[DMS][rs]\. )(?<!\bMrs\. ))(\w+)")
_COURTESY = re.compile(
    r"(?:(?:hi|hey|hello|yo|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|cheers|ok(?:ay)?|yes|yep|"
    r"yeah|no|nope|"
    r"sure|great|perfect|nice|cool|awesome|excellent|got it|sounds good|looks good|lgtm|please|go ahead|do it|"
    r"continue|go on|bye|"
    r"goodbye|see you|you're welcome|of course|certainly|absolutely|no problem|happy to help|well done|good job|done|"
    r"there|again|"
    r"so much|very much|a lot|everyone|all|team|claude|for (?:that|this|your help|the help))\b[\s,.!:;–—-]*)+$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:hi|hey|hello|good (?:morning|afternoon|evening))(?: there| again| claude)?|thanks|thank you|ok(?:ay)?|"
    r"great|perfect)"
    r"[,.!]+\s+(?=\S)",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"(?:let me know|feel free|would you like|do you want|shall i|should i|if you(?:'d| would)? (?:like|want|need|"
    r"have)|is there anything|"
    r"anything else|happy to|i(?:'d| would) be happy|i hope|hope (?:this|that)|i(?:'ll| will| am going to|"
    r"'m going to) (?:now |first |start |look|"
    r"check|begin|take a look)|let me |let's |sure|certainly|of course|great question|good question|here(?:'s| is|"
    r" are)\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:(?:so|and|also|now|then|hey|ok|okay)[, ]+)?(?:(?:can|could|would|will) you|please|pls|i(?:'d|"
    r" would) like you to|i (?:want|need) you to)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:(?:so|and|but|ok|okay|hey|now)[, ]+)?(?:what|where|when|why|how|who|whose|which|is|are|was|were|do|does|did|"
    r"has|have|should|"
    r"shall|may|any)\b",
    re.IGNORECASE,
)
# Words that tell something which will matter in another session.
_TELLING = re.compile(
    r"\b(?:i(?:'m| am| have|'ve| prefer| like| love| hate| use| live| work| moved| want| need| decided)|my|our|"
    r"we(?:'re|'ve)?|always|never|"
    r"from now on|remember|don't forget|prefer\w*|instead of|rather than|decided?|decision|agreed|must|should|"
    r"allergic|deadline|"
    r"important|call me|works? at|lives? in|birthday|switch(?:ed)? to|no longer|not .{1,30} but)\b",
    re.IGNORECASE,
)
_OUTCOME = re.compile(
    r"\b(?:done|fixed|added|moved|removed|deleted|renamed|replaced|updated|changed|created|wrote|written|implemented|"
    r"installed|"
    r"configured|deployed|merged|pushed|committed|sent|booked|scheduled|ordered|paid|cancel+ed|saved|stored|decided|"
    r"agreed|chose|"
    r"switched|migrated|resolved|verified|tested|passe[sd]|fail(?:s|ed)|broken|found|learned|turned out|because|"
    r"root cause|remains?|"
    r"left open|still|todo|to do|not yet|next step|blocked|pending|now (?:uses?|works?|runs?|has|is)|summar[iy]\w*)\b",
    re.IGNORECASE,
)


def episode_of_exchanges(
    exchanges: Sequence[Exchange], *, stored: Collection[bytes] = (), longest: int = LONGEST_CHARACTERS
) -> SessionEpisode | None:
    """The observations in the last exchanges of a session; None if nothing in them is worth keeping.

    `stored` has those line hashes of the texts (served.line_hashes) that are stored as facts or rules already.
    """
    last = [(turn, _who(turn.role)) for turn in exchanges[-LAST_EXCHANGES:]]
    found: list[_Observation] = []
    for turn, speaker in last:
        if speaker == USER:
            found += _of_person(_sentences(turn.text, stored))
    answers = [turn for turn, speaker in last if speaker == ASSISTANT and turn.text.strip()]
    outcome = _of_agent(_sentences(answers[-1].text, stored)) if answers else []
    if all(one.weight == 0 for one in found) and not outcome:
        return None
    tools = [tool for turn in exchanges for tool in turn.tools]
    return _episode(_once([*found, *outcome]), tools, longest)


def episode_of_summary(
    summary: str, tools: Sequence[str] = (), *, stored: Collection[bytes] = (), longest: int = LONGEST_CHARACTERS
) -> SessionEpisode | None:
    """A session's own summary, without what does not belong into the memory; None if nothing is left of it."""
    told = [text for text in _sentences(summary, stored) if not _COURTESY.fullmatch(text)]
    found = [_Observation("", text, 2 if _OUTCOME.search(text) or _TELLING.search(text) else 1) for text in told]
    return _episode(_once(found), tools, longest)


def readable(exchanges: Sequence[Exchange], *, longest: int = READ_CHARACTERS) -> list[Exchange]:
    """The last exchanges for somebody who is to make notes of them: less noise, what was served, and secrets."""
    kept: list[Exchange] = []
    for turn in reversed(exchanges[-LAST_EXCHANGES:]):
        speaker = _who(turn.role)
        text = " ".join(_sentences(turn.text, ())) if speaker else ""
        longest -= len(text)
        if longest < 0:
            break
        if text:
            kept.append(Exchange(speaker, text))
    return kept[::-1]


def tags_of(content: str, tools: Sequence[str]) -> tuple[str, ...]:
    """The tools that were used most and the names that were named, each as one word."""
    used = Counter(tag for tool in tools if (tag := _tool_tag(tool)))
    named = guess_names(_with_small_beginnings(content))
    # Of a name of several words and its parts, the whole says it all.
    wholes = [key for key in named if not any(key in other.split("_") for other in named if other != key)]
    tags = [tag for tag, _ in used.most_common(TOOL_TAGS)] + [key.replace("_", "-") for key in wholes[:NAME_TAGS]]
    return tuple(dict.fromkeys(tag[:TAG_CHARACTERS] for tag in tags))


def _with_small_beginnings(content: str) -> str:
    """A capital that begins a sentence is no sign of a name; one that is written elsewhere, too, is."""
    text = " ".join(re.sub(r"^(?:User|Assistant): ", "", line) for line in content.splitlines())
    begun = set(_BEGINNING.findall(text))
    inside = Counter(re.findall(r"\w+", text))
    return _BEGINNING.sub(lambda word: word[0] if inside[word[1]] > 1 and word[1] in begun else word[0].lower(), text)


def _who(role: str) -> str:
    word = role.strip().casefold()
    return USER if word in _PEOPLE else ASSISTANT if word in _AGENTS else ""


def _tool_tag(tool: str) -> str:
    """What a tool is about: of one behind a server, the server. The memory's own say nothing about the session."""
    name = tool.strip().casefold()
    if "memory_" in name or "memory-butler" in name:
        return ""
    parts = [part for part in name.split("__") if part]
    found = parts[1] if len(parts) > 2 and parts[0] == "mcp" else (parts or [""])[-1]
    return re.sub(r"[^\w.-]+", "-", found).strip("-_.")


def _sentences(text: str, stored: Collection[bytes]) -> Iterator[str]:
    """The sentences that somebody may have said: no code, no output, nothing served, nothing secret."""
    if len(text) > READ_CHARACTERS:
        text = f"{text[: READ_CHARACTERS // 2]}\n{text[-READ_CHARACTERS // 2 :]}"
    plain = without_served(_unwrapped(_FENCED.sub("\n", without_key_blocks(text))), stored)
    for whole in plain.splitlines():
        line = _BULLET.sub("", whole, count=1)
        if _NOISE.match(line):
            continue
        line = " ".join(_LABEL.sub("", _MARKUP.sub("", line), count=1).split())
        begin = 0
        for end in [*(match.end() for match in _END.finditer(line)), len(line)]:
            said, begin = _OPENING.sub("", line[begin:end].strip(), count=1), end
            if said and len(said) <= SENTENCE_CHARACTERS and any(map(str.isalpha, said)) and not has_secret(said):
                yield said


def _unwrapped(text: str) -> str:
    """The text less what stands between <tags> and their ends."""
    kept, at = [], 0
    endless: set[str] = set()
    for opened in _OPENED.finditer(text):
        if opened.start() < at or opened[1] in endless:
            continue
        close = f"</{opened[1]}>"
        end = text.find(close, opened.end())
        if end < 0:
            endless.add(opened[1])
        else:
            kept.append(text[at : opened.start()])
            at = end + len(close)
    return "\n".join([*kept, text[at:]])


def _of_person(sentences: Iterator[str]) -> Iterator[_Observation]:
    for text in sentences:
        if _COURTESY.fullmatch(text) or len(text.split()) < FEWEST_WORDS:
            continue
        if _REQUEST.match(text):
            # What was asked for gives what was done its sense, and alone it is nothing.
            yield _Observation(USER, text, 1 if not text.endswith("?") or _TELLING.search(text) else 0)
        elif not (text.endswith("?") or _QUESTION.match(text)):
            yield _Observation(USER, text, 2 if _TELLING.search(text) else 1)


def _of_agent(sentences: Iterator[str]) -> list[_Observation]:
    told = [
        text
        for text in sentences
        if _OUTCOME.search(text)
        and not (text.endswith("?") or _OFFER.match(text) or _COURTESY.fullmatch(text))
        and len(text.split()) >= FEWEST_WORDS
    ]
    return [_Observation(ASSISTANT, text, 2) for text in told[:OUTCOME_SENTENCES]]


def _once(found: Sequence[_Observation]) -> list[_Observation]:
    """Each thing once, where it was said last."""
    last = {one.text.casefold(): place for place, one in enumerate(found)}
    return [found[place] for place in sorted(last.values())]


def _episode(found: Sequence[_Observation], tools: Sequence[str], longest: int) -> SessionEpisode | None:
    """As many as there is room for, those that tell most and the later ones first."""
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
