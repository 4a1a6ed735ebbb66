"""Redact the rows of an export file at their import.

A text has a hash, and events refer to texts by it. A redacted text gets a new hash, and later rows that carry the old
one get the new one. Texts come before events in a file, so one pass is enough.
"""

import hashlib
import json
from collections import Counter
from typing import Any

from memory_butler.english.text.normalize import normal_name
from memory_butler.policy.transfer.export_format import FIELDS, Record
from memory_butler.policy.trust.redaction import DEFAULT, RedactionPolicy, redact, redact_identifier, redact_values

_PREFIX = "\\x"
# Ids that a caller chose.
_IDS = ("request_id", "subrequest_id", "segment_id", "session_id")
# Labels of names, and the column with the normal form of each.
_NAMES = {"subject_label": "subject", "predicate_label": "predicate", "alias_label": "alias"}
_CONTENT = frozenset({"episode", "fact", "rule"})


class RowRedaction:
    """Redacts row after row of one file. `counts` has the secrets that were found, by kind."""

    def __init__(self, policy: RedactionPolicy = DEFAULT) -> None:
        self.counts: Counter[str] = Counter()
        self._policy = policy
        # Old and new hashes of the texts that were redacted, as hexadecimal numbers.
        self._hashes: dict[str, str] = {}

    def row(self, kind: str, row: Record) -> Record:
        changed = dict(row)
        if kind in _CONTENT or kind == "alias":
            self._words(changed)
        elif kind == "application" and row["reason"] is not None:
            changed["reason"] = self._text(row["reason"])
        elif kind == "text":
            self._body(changed)
        elif kind == "event" and self._hashes:
            changed["payload"] = self._with_new_hashes(row["payload"])
            changed["text_hash"] = self._with_new_hashes(row["text_hash"])
        for name in _IDS:
            if name in FIELDS[kind] and changed.get(name):
                changed[name] = redact_identifier(changed[name], self._policy).text
        return changed

    def _words(self, row: Record) -> None:
        """Redact the fields with words of a memory or an alias, in place."""
        predicate = str(row.get("predicate_label") or "").partition(":")[0]
        if isinstance(row.get("content"), str):
            content = self._text(row["content"], context=predicate[:80])
            if content != row["content"]:
                row["content"] = content
                new = hashlib.sha256(content.encode()).hexdigest()
                if isinstance(row.get("content_hash"), str):
                    self._hashes[row["content_hash"].removeprefix(_PREFIX)] = new
                    row["content_hash"] = _PREFIX + new
        for label, name in _NAMES.items():
            if isinstance(row.get(label), str) and (text := self._text(row[label])) != row[label]:
                row[label] = text
                row[name] = normal_name(text)
        for name in ("tags", "harmful_reasons", "metadata"):
            if row.get(name):
                row[name] = redact_values(row[name], self._policy, self.counts)
        if row.get("alias_label") and isinstance(row.get("subject"), str):
            row["subject"] = self._text(row["subject"])

    def _body(self, row: Record) -> None:
        """Redact the words that an event keeps apart: a JSON object with fields of a memory, or a reason."""
        try:
            words = json.loads(row["body"])
        except ValueError:
            words = None
        if not isinstance(words, dict):
            text = self._text(row["body"])
        else:
            before = json.dumps(words, ensure_ascii=False)
            self._words(words)
            if isinstance(words.get("reason"), str):
                words["reason"] = self._text(words["reason"])
            after = json.dumps(words, ensure_ascii=False)
            text = row["body"] if after == before else after
        if text != row["body"]:
            new = hashlib.sha256(text.encode()).hexdigest()
            self._hashes[row["hash"].removeprefix(_PREFIX)] = new
            row["body"], row["hash"] = text, _PREFIX + new

    def _text(self, text: str, context: str = "") -> str:
        found = redact(text, self._policy, context=context)
        self.counts.update(found.counts)
        return found.text

    def _with_new_hashes(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._with_new_hashes(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._with_new_hashes(one) for one in value]
        if not isinstance(value, str):
            return value
        digest = value.removeprefix(_PREFIX)
        new = self._hashes.get(digest)
        return value if new is None else value[: len(value) - len(digest)] + new
