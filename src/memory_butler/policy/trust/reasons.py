"""Reasons of a quarantine in words."""

from memory_butler.models import Origin
from memory_butler.policy.trust.assessment import (
    CONTESTED,
    INSTRUCTION,
    PROTECTED_PROPERTY,
    RULE_FROM_UNTRUSTED_SOURCE,
    SECRET,
)

_FROM = {
    Origin.TOOL: "a tool or file",
    Origin.EXTERNAL: "an outside source",
    Origin.IMPORT: "an import",
    Origin.AGENT: "a text that an agent stored",
    Origin.USER: "the user",
}
_KINDS = {
    "override": "tries to override instructions",
    "identity": "gives its reader a new identity",
    "exfiltration": "asks to send or reveal data",
    "disabled_checks": "asks to skip checks or confirmations",
    "command": "asks to run commands",
    "authority": "claims authority or rights",
    "trigger": "plants an instruction for later",
    "order": "gives orders to its reader",
    "hidden_text": "has letters that only look like others",
}


def describe_reason(reason: str, origin: str | None = None) -> str:
    """Why a memory is quarantined, in one phrase."""
    source = _FROM[Origin(origin)] if origin else "the text or its source"
    kind, _, detail = reason.partition(":")
    if kind == INSTRUCTION:
        return f"{source} {_KINDS.get(detail, 'gives orders to its reader')}"
    if kind == CONTESTED:
        return f"{source} contradicts a more trusted fact"
    if kind == RULE_FROM_UNTRUSTED_SOURCE:
        return f"{source} cannot set a rule"
    if kind == PROTECTED_PROPERTY:
        return f"{source} cannot set the role, rights or instructions of an agent"
    if kind == SECRET:
        return f"{source} holds what looks like a password, key or token"
    return reason.replace("_", " ").replace(":", ": ")
