"""The prompt for a batch. Episodes and memories are escaped, so that they cannot end their block."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from string import Template

from memory_butler.models import Batch, KnownMemory
from memory_butler.models.proposals import PROPOSAL_VERSION

# Characters that could end a block or a line, open a fence, or are invisible. A JSON escape has the same meaning.
_UNSAFE = re.compile(
    r"[<>`\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions, and the data to read."""

    instructions: str
    data: str

    @property
    def whole(self) -> str:
        return f"{self.instructions}\n{self.data}"


def render(batch: Batch) -> Prompt:
    """Return the prompt for a batch. Deterministic."""
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
    """Return False if all texts are empty: an episode may contain only text that the memory itself served."""
    return any(batch.texts.get(episode.id, "").strip() for episode in batch.episodes)


def _known(one: KnownMemory) -> dict[str, object]:
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
    """With the weekday, so that the model can resolve "next Friday"."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ, %A}"


def data_line(record: Mapping[str, object]) -> str:
    """Return a record as one escaped line of a block."""
    return _UNSAFE.sub(_escaped, json.dumps(record, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return f"\\u{ord(char):04x}" if char <= "\uffff" else json.dumps(char)[1:-1]


@cache
def template(name: str) -> Template:
    return Template((files("memory_butler.ai") / "prompts" / name).read_text(encoding="utf-8"))
