"""Forms of statements: verbs whose object matches one pattern, as entries of a table."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memory_butler.english.extraction.findings import Draft
from memory_butler.english.extraction.grammar.values import first_piece
from memory_butler.english.extraction.grammar.verbs import VerbPhrase
from memory_butler.models import Permanence

Reader = Callable[[VerbPhrase, datetime], list[Draft]]


@dataclass(frozen=True, slots=True)
class Form:
    """A reader: if the object of the verb matches `pattern`, it is a fact of the class `kind`.

    `content` and `key` are format strings with the groups of the pattern, `{match}`, `{word}` (the verb as written),
    `{first}` and `{rest}` (the first piece of the group `v` and of the whole object).
    """

    kind: str
    pattern: str | re.Pattern[str]
    content: str = "{v}"
    key: str = ""
    # Empty: any tense.
    tenses: tuple[str, ...] = ("present",)
    # Properties of a verb phrase that does not count.
    unless: tuple[str, ...] = ("negated", "modal")
    permanence: Permanence | None = None

    def __call__(self, vp: VerbPhrase, now: datetime) -> list[Draft]:
        match = re.match(self.pattern, vp.rest)
        if match is None or (self.tenses and vp.tense not in self.tenses):
            return []
        if any(getattr(vp, name) for name in self.unless):
            return []
        values = match.groupdict() | {"match": match[0], "word": vp.word, "rest": first_piece(vp.rest)}
        values["first"] = first_piece(values.get("v") or "")
        content, key = self.content.format(**values), self.key.format(**values)
        return [Draft(vp.subject, self.kind, content, key, permanence=self.permanence)]
