"""The prompt for a batch. Episodes and memories go in as data that cannot leave its block."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from string import Template

from memory_butler.models import Batch, Known
from memory_butler.models.proposals import PROPOSAL_VERSION

# What could end a block or a line, open a fence, or hide from a reader: inside a JSON text, an escape says the same.
_TELLING = re.compile(
    r"[<>`\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is told, and what it is given to read."""

    instructions: str
    data: str

    @property
    def whole(self) -> str:
        return f"{self.instructions}\n{self.data}"


def render(batch: Batch) -> Prompt:
    """The prompt for a batch; the same batch gives the same prompt."""
    episodes = [
        {"id": f"episode:{episode.ref}", "observed_at": _moment(episode.observed_at), "text": text}
        for episode in batch.episodes
        if (text := batch.texts.get(episode.id, "").strip())
    ]
    return Prompt(
        template("distil.txt").substitute(version=PROPOSAL_VERSION).strip() + "\n",
        template("distil_batch.txt").substitute(
            known="\n".join(data_line(_known(one)) for one in batch.known),
            episodes="\n".join(data_line(one) for one in episodes),
        ),
    )


def has_words(batch: Batch) -> bool:
    """Whether there is anything to read in a batch: an episode may hold nothing but what the memory served itself."""
    return any(batch.texts.get(episode.id, "").strip() for episode in batch.episodes)


def _known(one: Known) -> dict[str, object]:
    shown = {
        "id": one.handle,
        "subject": one.subject,
        "predicate": one.predicate,
        "content": one.content,
        "valid_at": _moment(one.valid_at) if one.valid_at else None,
        "warning": one.is_warning or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _moment(when: datetime) -> str:
    """The weekday helps with "next Friday"."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ, %A}"


def data_line(record: Mapping[str, object]) -> str:
    """A record as one line of a block, which it cannot leave."""
    return _TELLING.sub(_escaped, json.dumps(record, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return f"\\u{ord(char):04x}" if char <= "\uffff" else json.dumps(char)[1:-1]


@cache
def template(name: str) -> Template:
    return Template((files("memory_butler.ai") / "prompts" / name).read_text(encoding="utf-8"))
