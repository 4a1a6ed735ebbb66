"""Admission of imported rows: a file may hold nothing that no other write could have stored."""

from memory_butler.errors import InvalidInput
from memory_butler.policy.memories.validation import (
    EPISODE_CHARACTERS,
    FACT_CHARACTERS,
    LABEL_CHARACTERS,
    NAME_CHARACTERS,
    REASON_CHARACTERS,
    RULE_CHARACTERS,
    TAG_CHARACTERS,
    TAGS,
    clean_metadata,
)
from memory_butler.policy.transfer.export_format import FIELDS, Record

# Case folding and normalization can make a stored text longer than the text that was checked.
GROWTH = 3
_CONTENT = {"episode": EPISODE_CHARACTERS, "fact": FACT_CHARACTERS, "rule": RULE_CHARACTERS}
_TEXTS = {
    "reason": REASON_CHARACTERS,
    # Texts of a memory as JSON, in which a character can take six.
    "body": 8 * EPISODE_CHARACTERS,
    "subject": NAME_CHARACTERS * 2,
    "predicate": NAME_CHARACTERS * 2,
    "alias": NAME_CHARACTERS * 2,
    "alias_label": NAME_CHARACTERS,
}


def refusal_of(kind: str, row: Record) -> str | None:
    """The reason why a row of an export is not admitted; None if it is."""
    for name, type_name in FIELDS[kind].items():
        value = row.get(name)
        limit = _CONTENT.get(kind, LABEL_CHARACTERS) if name == "content" else _TEXTS.get(name, LABEL_CHARACTERS)
        if (
            type_name.startswith("text")
            and isinstance(value, str)
            and len(value) > limit * GROWTH ** (name != "content")
        ):
            return f"{name} has {len(value)} characters; the limit is {limit}."
    if len(row.get("tags") or ()) > TAGS or any(len(tag) > TAG_CHARACTERS * GROWTH for tag in row.get("tags") or ()):
        return f"there are more than {TAGS} tags, or one has more than {TAG_CHARACTERS} characters."
    if isinstance(row.get("metadata"), dict):
        try:
            clean_metadata(row["metadata"])
        except InvalidInput as problem:
            return problem.message
    return None
