"""JSON schema of a proposal, for models and agents; `proposals.check` validates the same fields.

The schema has no length limits: servers with constrained decoding expand them per character and run out of memory.
"""

from typing import Any

from memory_butler.models import Permanence
from memory_butler.models.proposals import PROPOSAL_VERSION

MAX_ITEMS = 100
_EVIDENCE = {
    "type": "array",
    "items": {"type": "string", "description": "As shown with the episode, for example episode:k3f9."},
    "minItems": 1,
    "description": "The episodes of this batch that say it, and no others.",
}
_TAGS = {"type": "array", "items": {"type": "string"}}
_CONTENT = {
    "type": "string",
    "description": "The value alone, short, in the words of the episode, one statement: Acme; peanuts; sister Anna.",
}


def _object(description: str, required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties, "required": required}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


PROPOSAL_SCHEMA: dict[str, Any] = _object(
    "What the episodes tell that is worth remembering. Empty lists if there is nothing.",
    ["version"],
    {
        "version": {"type": "integer", "enum": [PROPOSAL_VERSION]},
        "facts": _list(
            _object(
                "Something that is so, or that happened at a time.",
                ["subject", "predicate", "content", "evidence"],
                {
                    "subject": {
                        "type": "string",
                        "description": "'user' for the user, else the name as written; user's sister if there is none.",
                    },
                    "predicate": {
                        "type": "string",
                        "description": "snake_case: works_at, lives_in, birthday; where several values hold together, "
                        "with the value: likes:tea, allergic_to:peanuts, relationship:anna.",
                    },
                    "content": _CONTENT,
                    "permanence": {"type": "string", "enum": [kind.value for kind in Permanence]},
                    "importance": {"type": "integer", "minimum": 1, "maximum": 10},
                    "tags": _TAGS,
                    "valid_at": {
                        "type": ["string", "null"],
                        "description": "Only for what happens at a stated time: its date, such as 2026-03-17.",
                    },
                    "evidence": _EVIDENCE,
                },
            )
        ),
        "updates": _list(
            _object(
                "A known fact that has another value now.",
                ["target", "content", "evidence"],
                {
                    "target": {"type": "string", "description": "The known fact, for example fact:ab12."},
                    "content": _CONTENT,
                    "evidence": _EVIDENCE,
                },
            )
        ),
        "rules": _list(
            _object(
                "How to act from now on.",
                ["content", "evidence"],
                {
                    "content": {
                        "type": "string",
                        "description": "One instruction that can be understood alone: Always run the tests first.",
                    },
                    "tags": _TAGS,
                    "evidence": _EVIDENCE,
                },
            )
        ),
        "confirmations": _list(
            _object(
                "A known fact or rule that the episodes say again.",
                ["target", "evidence"],
                {"target": {"type": "string", "description": "Such as fact:ab12."}, "evidence": _EVIDENCE},
            )
        ),
    },
)
