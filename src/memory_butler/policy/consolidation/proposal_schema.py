"""JSON schema of a proposal, for models and agents; `proposals.check` validates the same fields.

The schema has no length limits: servers with constrained decoding expand them per character and run out of memory.
"""

from typing import Any

from memory_butler.models import Permanence
from memory_butler.models.proposals import PROPOSAL_VERSION

MAX_ITEMS = 100


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _object(description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties, "required": required}


def _list(description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(description, [*required, "evidence"], **properties, evidence=_EVIDENCE)}


_EVIDENCE = {
    "type": "array",
    "items": _text("As shown with the episode, for example episode:k3f9."),
    "minItems": 1,
    "description": "The episodes of this batch that say it, and no others.",
}
_TAGS = {"type": "array", "items": {"type": "string"}}
_CONTENT = _text("The value alone, short, in the words of the episode, one statement: Acme; peanuts; sister Anna.")

PROPOSAL_SCHEMA: dict[str, Any] = _object(
    "What the episodes tell that is worth remembering. Empty lists if there is nothing.",
    ["version"],
    version={"type": "integer", "enum": [PROPOSAL_VERSION]},
    facts=_list(
        "Something that is so, or that happened at a time.",
        ["subject", "predicate", "content"],
        subject=_text("'user' for the user, else the name as written; user's sister if there is none."),
        predicate=_text(
            "snake_case: works_at, lives_in, birthday; where several values hold together, with the value: likes:tea, "
            "allergic_to:peanuts, relationship:anna."
        ),
        content=_CONTENT,
        permanence={"type": "string", "enum": [kind.value for kind in Permanence]},
        importance={"type": "integer", "minimum": 1, "maximum": 10},
        tags=_TAGS,
        valid_at={
            "type": ["string", "null"],
            "description": "Only for what happens at a stated time: its date, such as 2026-03-17.",
        },
    ),
    updates=_list(
        "A known fact that has another value now.",
        ["target", "content"],
        target=_text("The known fact, for example fact:ab12."),
        content=_CONTENT,
    ),
    rules=_list(
        "How to act from now on.",
        ["content"],
        content=_text("One instruction that can be understood alone: Always run the tests first."),
        tags=_TAGS,
    ),
    confirmations=_list(
        "A known fact or rule that the episodes say again.", ["target"], target=_text("Such as fact:ab12.")
    ),
)
