"""Notes: sentences that are kept in the person's own words where no fact or rule says them.

A sentence becomes a note if the accepted items of a proposal have less than 70 % of its content words, no veto applies
(see languages/speech/vetoes.py), and it is worth keeping (see salience.py). It is kept verbatim, never rewritten, with
the label of its speaker unless that is the user, and with the short sentences next to it that say nothing alone. A note
is a fact of its own predicate and never supersedes another.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from memory_butler.english.extraction.remember_requests import remember_request
from memory_butler.english.text.word_sets import caseless
from memory_butler.english.time.event_dates import find_event_date
from memory_butler.languages.speech import cues
from memory_butler.languages.speech.cues import FIRST_PERSON
from memory_butler.languages.speech.mentions import NOBODY, SpokenOf, is_person, likely_subject, mentions
from memory_butler.languages.speech.utterances import USER, Utterance, is_conversation, utterances
from memory_butler.languages.speech.vetoes import FEWEST_WORDS, Veto, vetoes, word_count
from memory_butler.models import Batch, Episode, Item, ItemKind, Permanence
from memory_butler.models.vocabulary import BY_HAND
from memory_butler.policy.consolidation.coverage import content_words, coverage, numbers, told_words
from memory_butler.policy.consolidation.salience import Features, features
from memory_butler.policy.memories.text import NOTES_TAG, note_predicate

# Share of a sentence's content words that the items must have to say it.
COVERED = 0.7
SURE_IMPORTANCE = 4
UNSURE_IMPORTANCE = 3
VITAL_IMPORTANCE = 7
MAX_NOTE_WORDS = 40
# Salience from which a request that holds from now on is kept.
STANDING_FROM = 0.1
# Salience from which a sentence is kept that says that it is a result: "left open: …".
OUTCOME_FROM = 0.35
# Salience from which a sentence next to a kept one is kept with it, unless a person stored it by hand: then any is.
NEIGHBOUR_FROM = 0.3
# Vetoes that hold also for what a person stored by hand.
NO_TRACE = frozenset({Veto.ORDER, Veto.ASSISTANT, Veto.SOMEBODY})
_ASKED = cues.opening(
    "merk dir, merke dir, vergiss nicht, denk daran, erinnere mich, notier*, recuerda que, recuérdame, no olvides",
    "anota, apunta",
    "souviens-toi, retiens, n'oublie pas, rappelle-moi, note que, lembra, lembre-se, lembre, não esqueça, anote, anota",
    "ricorda che, ricordati, ricordami, non dimenticare, annota, запомни, не забудь, напомни, запиши, note to self",
    "reminder, fyi",
)
_ASKED_CJK = re.compile(r"覚えて|忘れないで|メモして|记住|记得|别忘|记一下")
_CORRECTS = cues.spaced(
    "actually, correction, i was wrong, not anymore, no longer, scratch that, i meant, instead of, changed my mind",
    "update, no wait, wait no, my mistake, got it wrong, make that, since the reorg",
    "doch nicht, stimmt nicht mehr, korrektur, nicht mehr, en realidad, corrección, ya no, en fait, correction",
    "ne plus",
    "na verdade, correção, já não, in realtà, correzione, non più, на самом деле, поправка, больше не, уже не",
)
_PIECES = re.compile(r"[,;]\s+|\s[-–—]\s")
# Between two items of a list, which are kept as one note if they are short.
_ITEM = re.compile(r"[ \t]*\n[ \t]*(?:[-*•+–]|\d{1,2}[.)]|(?=\[))[ \t]*(?:\[ \][ \t]*|(?P<mark>\[[xX]\][ \t]*))?")
_DONE = re.compile(r"\[[xX]\][ \t]*$")
MAX_ITEM_WORDS = 7
# A sentence without a subject that says more about that of the sentence before it.
_GOES_ON = cues.opening("not just, not only, not even, no more, proper, nicht nur, no solo, pas seulement, не только")
ANYBODY = "anybody"
_RELATIVE = caseless(r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago)\b")
_CORRECTS_CJK = re.compile(r"訂正|実は|もう.{1,8}ない|其实|更正|不再")


class Source(StrEnum):
    """Where an episode came from: thresholds of notes differ."""

    HAND = "hand"
    SESSION = "session"
    CHAT = "chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRules:
    """The settings of notes: from which probability on a sentence is kept, by source, and how many in a chat."""

    hand_from: float
    session_from: float
    chat_from: float
    sure_from: float
    chat_most: int

    def least(self, source: Source) -> float:
        return {Source.HAND: self.hand_from, Source.SESSION: self.session_from, Source.CHAT: self.chat_from}[source]


class Candidate(NamedTuple):
    """A sentence that may be kept, as the item that it would become."""

    item: Item
    features: Features
    source: Source
    # It was asked to be remembered: it is kept whatever its probability.
    is_asked: bool
    # It is the only trace of what a person stored by hand if nothing else is kept.
    by_hand: bool
    # A veto applies: it is kept only as that trace.
    is_vetoed: bool = False
    # It corrects something said before.
    is_correction: bool = False
    # It asks for something once and for all: "bitte immer kurz schreiben".
    is_standing: bool = False
    # Too short to be understood alone: it is kept only with a sentence next to it.
    is_fragment: bool = False
    # The white space between it and the sentence before; None at the beginning of a line or after another speaker.
    gap: str | None = None
    text: str = ""

    def spoken_of(self, before: SpokenOf) -> SpokenOf:
        """The person that "he" or "she" is in the next sentence."""
        if self.item.subject != USER and is_person(self.item.subject):
            return SpokenOf(self.item.subject, is_subject=True)
        people = [name for name in self.item.mentions if is_person(name)]
        return SpokenOf(people[0] if len(people) == 1 else before.name)


def source_of(episode: Episode, text: str) -> Source:
    if episode.metadata.get(BY_HAND) is True:
        return Source.HAND
    return Source.CHAT if is_conversation(text) else Source.SESSION


def candidates(batch: Batch, items: Iterable[Item]) -> list[Candidate]:
    """The sentences of a batch that the items do not say and no veto excludes, in order."""
    told: dict[UUID, list[Item]] = {}
    for item in items:
        for cited in item.evidence:
            told.setdefault(cited, []).append(item)
    known = {
        memory.id: f"{memory.subject or ''} {memory.predicate or ''} {memory.content}".replace(":", " ")
        for memory in batch.known
    }
    found: dict[tuple[str, str], Candidate] = {}
    for episode in batch.episodes:
        text = batch.texts.get(episode.id, "")
        words = told_words(told.get(episode.id, ()), known)
        for one in _of_episode(episode, text, words):
            key = one.item.subject, one.item.predicate
            if before := found.get(key):
                evidence = (*before.item.evidence, *one.item.evidence)
                found[key] = before._replace(item=replace(before.item, evidence=evidence))
            else:
                found[key] = one
    return list(found.values())


def _of_episode(episode: Episode, text: str, told: frozenset[str]) -> list[Candidate]:
    said = utterances(text)
    source, by_hand = source_of(episode, text), episode.metadata.get(BY_HAND) is True
    found: list[Candidate] = []
    people = dict[str, SpokenOf]()
    last: Utterance | None = None
    # Set once the user has asked for something that holds from now on: "and no emojis" goes on with it.
    goes_on = False
    for utterance, veto in zip(said, vetoes(said), strict=True):
        reason = veto
        is_asked = is_asked_for(utterance)
        # "Can you remember that my birthday is in May?" asks and tells.
        if is_asked and reason in (Veto.QUESTION, Veto.HYPOTHESIS):
            reason = None
        is_trace = reason is not None and by_hand and reason not in NO_TRACE
        is_short = word_count(utterance.text) <= FEWEST_WORDS
        is_fragment = reason is Veto.LENGTH and is_short and not cues.CHATTER.match(utterance.text)
        # A heading, and what a list has ticked off, are understood only with the lines next to them.
        is_fragment |= reason is None and (utterance.text.endswith((":", "：")) or _is_done(text, utterance))
        # Who was last spoken of, by this speaker or else by anybody.
        before = people.get(utterance.speaker) or people.get(ANYBODY, NOBODY)
        one = _candidate(episode, utterance, before)
        people[utterance.speaker] = people[ANYBODY] = one.spoken_of(before)
        adds = goes_on and source is Source.CHAT and cues.ADDS_A_WISH.match(utterance.text) is not None
        is_standing = utterance.speaker == USER and (stands(utterance.text) or adds)
        goes_on = (
            goes_on or is_standing or (utterance.speaker == USER and cues.ASKS_HOW.match(utterance.text) is not None)
        )
        is_open = reason is None or is_trace or is_fragment
        if is_open and _left_out(utterance, told):
            found.append(
                one._replace(
                    source=source,
                    is_asked=is_asked,
                    by_hand=by_hand and not told,
                    is_vetoed=is_trace and not is_fragment,
                    is_correction=corrects(utterance.text),
                    is_standing=is_standing,
                    is_fragment=is_fragment,
                    gap=_gap(text, last, utterance),
                )
            )
            last = utterance
        else:
            last = None
    return found


def _gap(text: str, last: Utterance | None, utterance: Utterance) -> str | None:
    """The text between two sentences of one line and speaker, or between two short items of a list."""
    if last is None or last.speaker != utterance.speaker:
        return None
    between = text[last.start + len(last.text) : utterance.start]
    if not between.strip() and "\n" not in between:
        return between
    item = _ITEM.fullmatch(between)
    is_list = item is not None and max(word_count(last.text), word_count(utterance.text)) <= MAX_ITEM_WORDS
    if item is None or not is_list:
        return None
    return (" " if last.text.endswith((":", "：")) else ", ") + (item["mark"] or "")


def _is_done(text: str, utterance: Utterance) -> bool:
    """True for an item of a list that is ticked off."""
    return _DONE.search(text, max(0, utterance.start - 8), utterance.start) is not None


def is_asked_for(utterance: Utterance) -> bool:
    """True if the sentence asks to remember what it says."""
    text = utterance.text
    return (
        remember_request(text.rstrip(".!?… "), asked=utterance.asks) is not None
        or bool(_ASKED.match(text))
        or bool(_ASKED_CJK.search(text))
    )


def corrects(content: str) -> bool:
    """True if a note corrects something said before."""
    return bool(_CORRECTS.search(content) or _CORRECTS_CJK.search(content))


def stands(content: str) -> bool:
    """True for a request that holds from now on."""
    is_request = cues.PLEASE.search(content) or cues.ASKS_HOW.match(content)
    return bool(is_request and (cues.ALWAYS.search(content) or cues.ALWAYS_CJK.search(content)))


def _left_out(utterance: Utterance, told: frozenset[str]) -> bool:
    """True if the items do not say a sentence. "10" is understood only with its question."""
    answer = content_words(utterance.text)
    if coverage(utterance.text if len(answer) > 1 else utterance.told, told) < COVERED:
        return True
    if not numbers(answer) <= numbers(told):
        return True
    # "Ifeoma flies in on Monday, I pick her up": the second half is another statement.
    return any(_is_untold(piece, told) for piece in _PIECES.split(utterance.text)[1:])


def _is_untold(piece: str, told: frozenset[str]) -> bool:
    words = content_words(piece)
    return bool(words and FIRST_PERSON.search(piece)) and coverage(piece, told) == 0.0


def _candidate(episode: Episode, utterance: Utterance, before: SpokenOf) -> Candidate:
    named = mentions(utterance.told)
    if utterance.label:
        named = [utterance.label, *(name for name in named if name != utterance.label)]
    content = utterance.quoted
    subject = likely_subject(utterance, named, before)
    item = Item(
        kind=ItemKind.FACT,
        evidence=(episode.id,),
        subject=subject,
        predicate=_predicate(content),
        content=content,
        permanence=Permanence.VOLATILE,
        importance=UNSURE_IMPORTANCE,
        tags=(NOTES_TAG,),
        valid_at=_day(utterance.told, episode.observed_at),
        mentions=tuple(name for name in named if name != subject),
    )
    found = features(utterance.told, names=len(named), is_about_another=subject != USER)
    return Candidate(item, found, Source.SESSION, is_asked=False, by_hand=False, text=utterance.text)


def _day(text: str, observed_at: datetime) -> datetime | None:
    """The day that words such as "tomorrow" mean: without it, the note could not be understood later."""
    match = _RELATIVE.search(text)
    if match is None:
        return None
    is_past = match[0].casefold().startswith(("yesterday", "last", "ago"))
    when = find_event_date(text, observed_at, "past" if is_past else "future")
    return when.day if when and when.exact else None


def chosen(found: Sequence[tuple[Candidate, float]], rules: NoteRules) -> list[Item]:
    """The notes to keep. What a person stored by hand leaves at least one, the most salient."""
    kept: dict[int, Item] = {}
    by_chat: dict[UUID, list[tuple[float, int]]] = {}
    silent: dict[UUID, tuple[float, int]] = {}
    traced = set[UUID]()
    for at, (one, probability) in enumerate(found):
        episode = one.item.evidence[0]
        score = 1.0 if one.is_asked else probability
        # What is said of anybody's health in a conversation must not be asked twice.
        is_grave = one.source is Source.CHAT and _is_vital(one.item)
        least = rules.hand_from if one.is_correction or is_grave else rules.least(one.source)
        if one.is_standing:
            least = min(least, STANDING_FROM if one.source is Source.CHAT else rules.hand_from)
        is_result = cues.OUTCOMES.match(one.text) is not None
        least = min(least, OUTCOME_FROM) if is_result else least
        if one.is_vetoed or one.is_fragment or score < least:
            if one.by_hand and score > silent.get(episode, (-1.0, 0))[0]:
                silent[episode] = (score, at)
            continue
        traced.add(episode)
        if one.source is Source.CHAT:
            by_chat.setdefault(episode, []).append((-score, at))
        kept[at] = _graded(one.item, is_sure=one.is_standing or is_result or score >= rules.sure_from)
    for own in by_chat.values():
        for _, at in sorted(own)[rules.chat_most :]:
            del kept[at]
    kept |= {at: found[at][0].item for episode, (_, at) in silent.items() if episode not in traced}
    return _with_neighbours(found, kept)


def _with_neighbours(found: Sequence[tuple[Candidate, float]], kept: dict[int, Item]) -> list[Item]:
    """The kept notes, each with the sentences next to it that are not kept alone: "no lifting for her" belongs to the
    sentence before it. A sentence of a conversation is kept only with what its pronoun stands for."""
    taken, merged = set(kept), set[int]()
    notes = []
    for at in sorted(kept):
        if at in merged:
            continue
        first = last = at
        content, count = kept[at].content, word_count(kept[at].content)
        for step in (1, -1):
            place = at + step
            while 0 <= place < len(found) and _joins(found, max(place, place - step)):
                one, probability = found[place]
                goes_on = step > 0 and place in kept and _GOES_ON.match(one.text) is not None
                if place in taken and not goes_on:
                    break
                probability = 1.0 if goes_on else probability
                count += word_count(one.item.content)
                # "Decision: …" is understood only with the sentence before it.
                leads = step < 0 and cues.OUTCOMES.match(found[place + 1][0].text) is not None
                wanted = one.source is Source.HAND or one.is_fragment or leads or probability >= NEIGHBOUR_FROM
                if one.source is Source.CHAT:
                    wanted = step < 0 and cues.OPENS_WITH_PRONOUN.match(found[place + 1][0].text) is not None
                if not wanted or one.is_vetoed or count > MAX_NOTE_WORDS:
                    break
                first, last = min(first, place), max(last, place)
                taken.add(place)
                merged.add(place)
                place += step
        if first == last:
            notes.append(kept[at])
            continue
        run = [one for one, _ in found[first : last + 1]]
        label = content[: len(content) - len(found[at][0].text)]
        words = run[0].text + "".join(f"{one.gap}{one.text}" for one in run[1:])
        notes.append(_joined_note(kept[at], [one.item for one in run], f"{label}{words}"))
    return notes


def _joins(found: Sequence[tuple[Candidate, float]], later: int) -> bool:
    """True if a sentence directly follows the one before it in the list."""
    one, before = found[later][0], found[later - 1][0]
    return one.gap is not None and one.item.evidence[0] == before.item.evidence[0]


def _joined_note(note: Item, parts: Sequence[Item], content: str) -> Item:
    named = dict.fromkeys(name for part in parts for name in (part.subject, *part.mentions))
    return replace(
        note,
        content=content,
        predicate=_predicate(content),
        valid_at=next((part.valid_at for part in (note, *parts) if part.valid_at), None),
        mentions=tuple(name for name in named if name not in (note.subject, USER)),
    )


def _predicate(content: str) -> str:
    return note_predicate(hashlib.sha256(content.encode()).digest())


def _is_vital(item: Item) -> bool:
    """Of health or diet."""
    return bool(cues.VITAL.search(item.content) or cues.VITAL_CJK.search(item.content))


def _graded(item: Item, *, is_sure: bool) -> Item:
    if _is_vital(item):
        return replace(item, permanence=Permanence.STANDARD, importance=VITAL_IMPORTANCE)
    if not is_sure:
        return item
    return replace(item, permanence=Permanence.STANDARD, importance=SURE_IMPORTANCE)
