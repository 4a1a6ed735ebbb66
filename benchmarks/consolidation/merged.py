"""Scoring of what is kept in any form: as a fact, a rule or a note.

A gold is kept if one stored item says all its key words. Watches are items that must not be stored: an inversion says
the opposite of the episode, a misattribution gives the words of one person to another.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.consolidation.scoring import Distilled, Distiller, Labelled

NOTE = "note"
_BY_HAND = re.compile(r"^(?:the )?user\b(?!:)|\bthe user\b", re.IGNORECASE | re.MULTILINE)
_LABELLED = re.compile(r"^(?:user|assistant):", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class Kept:
    """Counts of one group of episodes. `facts` and `rules` are golds as (kept, wanted); `structured` counts triples and
    rules alone, `any_form` includes notes."""

    episodes: int = 0
    items: int = 0
    right: int = 0
    structured_items: int = 0
    structured_right: int = 0
    wanted: int = 0
    kept: int = 0
    structured: int = 0
    rules_wanted: int = 0
    rules_kept: int = 0
    rules_structured: int = 0
    silent: int = 0
    kept_silent: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)
    inversions: list[tuple[str, str]] = field(default_factory=list)
    misattributions: list[tuple[str, str]] = field(default_factory=list)

    @staticmethod
    def share(part: int, whole: int) -> float:
        return part / whole if whole else 1.0


def source_of(episode: Labelled) -> str:
    """The source type: as labelled, else a chat if lines carry labels, else a session note or a note by hand."""
    if episode.source:
        return episode.source
    if _LABELLED.search(episode.content):
        return "chat"
    return "session" if _BY_HAND.search(episode.content) else "note"


def score_kept(episodes: Iterable[Labelled], distiller: Distiller) -> dict[str, Kept]:
    """The counts of all episodes, of each source type and of each language."""
    groups: dict[str, Kept] = {}
    for episode in episodes:
        found = distiller(episode.content, episode.observed_at)
        for name in ("all", f"source {source_of(episode)}", f"language {episode.language}"):
            _count(groups.setdefault(name, Kept()), episode, found)
    return groups


def _count(group: Kept, episode: Labelled, found: Sequence[Distilled]) -> None:
    group.episodes += 1
    if episode.is_silent:
        group.silent += 1
        group.kept_silent += not found
    inverted = [one for one in found if any(trips(one, watch) for watch in episode.inversions)]
    misattributed = [one for one in found if any(trips(one, watch, notes=True) for watch in episode.misattributions)]
    group.inversions += [(episode.id, shown(one)) for one in inverted]
    group.misattributions += [(episode.id, shown(one)) for one in misattributed]
    golds = [*episode.facts, *episode.rules]
    for one in found:
        right = one not in inverted and one not in misattributed and any(covers(one, gold) for gold in golds)
        group.items += 1
        group.right += right
        if not is_note(one):
            group.structured_items += 1
            group.structured_right += right
        if not right:
            group.wrong.append((episode.id, shown(one)))
    for gold in golds:
        if gold.get("optional"):
            continue
        is_rule = gold in episode.rules
        covering = [one for one in found if one not in inverted and one not in misattributed and covers(one, gold)]
        structured = any(one.kind == "rule" if is_rule else not is_note(one) for one in covering)
        group.wanted += 1
        group.kept += bool(covering)
        group.structured += structured
        group.rules_wanted += is_rule
        group.rules_kept += is_rule and bool(covering)
        group.rules_structured += is_rule and structured
        if not covering:
            group.missed.append((episode.id, str(gold["keys"])))


def is_note(one: Distilled) -> bool:
    return one.kind == "fact" and one.predicate.split(":")[0] == NOTE


def covers(one: Distilled, gold: dict[str, Any]) -> bool:
    """Whether an item says all key words of a gold; a fact that is no note also has its subject and predicate."""
    if not says(_words(one), gold["keys"]):
        return False
    if one.kind == "rule" or is_note(one):
        return True
    if gold.get("predicate") and one.predicate.split(":")[0] not in gold["predicate"]:
        return False
    return not gold.get("subject") or _is_about(one, gold["subject"])


def trips(one: Distilled, watch: dict[str, Any], *, notes: bool = False) -> bool:
    """Whether an item is what a watch warns of. A note quotes its whole sentence and inverts nothing."""
    if is_note(one) and not notes:
        return False
    if watch.get("form") and one.kind != watch["form"]:
        return False
    if watch.get("predicate") and (one.kind != "fact" or one.predicate.split(":")[0] not in watch["predicate"]):
        return False
    if watch.get("subject") and not _is_about(one, watch["subject"]):
        return False
    told = _words(one)
    return says(told, watch["keys"]) and not any(word.casefold() in told for word in watch.get("unless", ()))


def _is_about(one: Distilled, subjects: str | Sequence[str]) -> bool:
    wanted = [subjects] if isinstance(subjects, str) else subjects
    return one.subject.casefold() in {subject.casefold() for subject in wanted}


def _words(one: Distilled) -> str:
    predicate = one.predicate.replace("_", " ").replace(":", " ")
    day = f" {one.valid_at:%Y-%m-%d} {one.valid_at.day} {one.valid_at:%B}" if one.valid_at else ""
    return f"{one.subject} {predicate} {one.content}{day}".casefold()


def says(told: str, keys: Sequence[str]) -> bool:
    return all(any(word.casefold() in told for word in key.split("|")) for key in keys)


def shown(one: Distilled) -> str:
    return f"{one.subject} · {one.predicate}: {one.content}" if one.kind == "fact" else f"rule: {one.content}"


def table(groups: dict[str, Kept]) -> str:
    """One line for each group of episodes."""
    head = (
        f"{'group':<20}{'episodes':>9}{'P':>7}{'R':>7}{'merged P':>10}{'merged R':>10}{'rules R':>9}{'any form':>10}"
        f"{'silence':>9}{'inversions':>12}{'misattributions':>17}"
    )
    lines = [head]
    for name, one in groups.items():
        share = one.share
        lines.append(
            f"{name:<20}{one.episodes:>9}{share(one.structured_right, one.structured_items):>7.2f}"
            f"{share(one.structured, one.wanted):>7.2f}{share(one.right, one.items):>10.2f}"
            f"{share(one.kept, one.wanted):>10.2f}{share(one.rules_structured, one.rules_wanted):>9.2f}"
            f"{share(one.rules_kept, one.rules_wanted):>10.2f}{share(one.kept_silent, one.silent):>9.2f}"
            f"{len(one.inversions):>12}{len(one.misattributions):>17}"
        )
    return "\n".join(lines)
