"""An episode read from its first turn to its last: what is passed over, and what each sentence tells."""

import re
from datetime import datetime

from memory_butler.policy.distilling.asides import asides
from memory_butler.policy.distilling.clauses import clauses
from memory_butler.policy.distilling.contacts import in_its_place, used_instead
from memory_butler.policy.distilling.dates import moment_in
from memory_butler.policy.distilling.events import undated
from memory_butler.policy.distilling.found import Draft, Found, fact, rule, settled
from memory_butler.policy.distilling.home import RENTED
from memory_butler.policy.distilling.instructions import recurs, rules_in
from memory_butler.policy.distilling.noise import (
    asks,
    before_the_question,
    gives_orders_to_the_reader,
    hands_over_secrets,
    is_about_the_user,
    is_commission,
    is_fiction,
    is_ironic,
    is_public,
    is_role_play,
    is_unsure,
    speaks_of_customers,
    speaks_of_software,
    without_quotes,
)
from memory_butler.policy.distilling.people import people_named
from memory_butler.policy.distilling.remembering import remembered
from memory_butler.policy.distilling.scene import Scene
from memory_butler.policy.distilling.sentences import ASSISTANT, USER, Sentence, turns
from memory_butler.policy.distilling.statements import read, statements
from memory_butler.policy.distilling.voice import in_third_person, worded
from memory_butler.policy.distilling.words import words_in

MERELY_NAMED = 4

# What follows such a request is the text to work on.
_HANDED_OVER = re.compile(r":|\b(?:this|following|below)\b")


def distil(content: str, observed_at: datetime) -> list[Found]:
    """The facts and rules of an episode, each with the sentence it came from; words of time count from observed_at."""
    found: list[Found] = []
    scene = Scene(customer_is_user=not speaks_of_customers(content), user_is_software=speaks_of_software(content))
    by_assistant = is_about_the_user(content)
    for turn in turns(content):
        if turn.speaker == ASSISTANT:
            continue
        scene.begins(turn.speaker, by_assistant=by_assistant and not turn.labelled)
        handed_over = False
        for sentence in turn.sentences:
            if handed_over:
                break
            if is_ironic(sentence.text):
                found = [one for one in found if one.span[1] < sentence.start - 3]
                continue
            if is_role_play(sentence.text):
                break
            if is_commission(sentence.text):
                handed_over = bool(_HANDED_OVER.search(sentence.text))
            elif not is_fiction(sentence.text):
                found += _of_sentence(sentence, scene, observed_at)
    obeyed = not gives_orders_to_the_reader(content)
    return settled([one for one in found if one.kind != "rule" or (obeyed and not hands_over_secrets(one.content))])


def _of_sentence(sentence: Sentence, scene: Scene, now: datetime) -> list[Found]:
    """What one sentence tells: what is to be remembered, how to act, and what is so."""
    span = (sentence.start, sentence.end)
    text = without_quotes(sentence.text)
    scene.next_sentence(text, is_public=is_public(text))
    asked = sentence.asks or asks(text)
    kept = remembered(text, asked=asked)
    if asked and kept is None:
        text = before_the_question(text)
        if not text:
            return []
        kept = remembered(text, asked=False)
    if kept:
        if not kept.is_task:
            return _kept(kept.text, scene, now, span)
        return _task(kept.text, scene, now, span)
    given = rules_in(sentence.text if '"' not in sentence.text else text, scene.speaker)
    found: list[Found] = []
    for piece in given.left:
        found += _facts(_born_elsewhere(_of_piece(without_quotes(piece), scene, now)), span)
    return [rule(one, span) for one in _standing_alone(given.rules, scene)] + found


_OF_THEM = re.compile(r"^(\w+ )(him|her)(?= (?:first|before|whenever|when|every|each|if|prior)\b)")


def _standing_alone(rules: list[str], scene: Scene) -> list[str]:
    """The rules with the people in them by name; without a name, nobody would know whom to ask."""
    found = []
    for one in rules:
        match = _OF_THEM.match(one)
        who = scene.pronoun({"him": "he", "her": "she"}[match[2]], pets=False) if match else ""
        if match and who:
            found.append(f"{match[1]}{'the user' if who == USER else who}{one[match.end() :]}")
        elif match is None:
            found.append(one)
    return found


def _task(text: str, scene: Scene, now: datetime, span: tuple[int, int]) -> list[Found]:
    """Something to remember to do: once on a day, or always."""
    when = moment_in(text, now, "future")
    if when is not None and when.exact:
        return _facts([Draft(scene.speaker, "plan", undated(text, when), valid_at=when.day)], span)
    if recurs(text):
        return [rule(worded(text, scene.speaker), span)]
    return _facts([Draft(scene.speaker, "plan", text)], span)


def _kept(text: str, scene: Scene, now: datetime, span: tuple[int, int]) -> list[Found]:
    """What somebody asked to have remembered: as facts where it can be read, else as it stands."""
    given = rules_in(text, scene.speaker)
    if given.rules:
        return [rule(one, span) for one in given.rules]
    drafts = _of_piece(text, scene, now)
    if not drafts or _only_names(drafts, text):
        drafts.append(Draft(scene.speaker, "note", in_third_person(text, scene.speaker)))
    return _facts(drafts, span)


def _only_names(drafts: list[Draft], text: str) -> bool:
    """Was somebody merely named, in a sentence that says more?"""
    named = {word for one in drafts for word in words_in(one.content)}
    return all(one.kind in ("relationship", "pet") for one in drafts) and len(words_in(text) - named) > MERELY_NAMED


def _of_piece(text: str, scene: Scene, now: datetime) -> list[Draft]:
    """People first: who is named in passing is told before what they do."""
    if instead := used_instead(text):
        found = _of_piece(instead.before, scene, now) if instead.before else []
        found += in_its_place(instead, found, scene) if not is_unsure(text) else []
        return found + (_of_piece(instead.after, scene, now) if instead.after else [])
    sure = not is_unsure(text)
    found = people_named(text, scene, by_pronoun=False) if sure else []
    for clause in clauses(text):
        found += people_named(clause.text, scene, by_pronoun=True) if sure else []
        told = statements(clause, scene, now)
        told = [one for one in told if one.key != RENTED or one.subject not in scene.homes]
        found += told
        for one in told:
            scene.learns(one)
    found += asides(text, scene, now, read) if sure else []
    scene.hint(text)
    return found


def _born_elsewhere(drafts: list[Draft]) -> list[Draft]:
    """Born in one place and grown up in another: both are told, and the second does not take the place of the first."""
    origins = [one for one in drafts if one.kind == "from"]
    if len(origins) != 2 or origins[0].subject != origins[1].subject:
        return drafts
    grown = origins[1]._replace(kind="note", content=f"grew up in {origins[1].content}", key="grew up")
    return [grown if one is origins[1] else one for one in drafts]


def _facts(drafts: list[Draft], span: tuple[int, int]) -> list[Found]:
    return [one for draft in drafts if (one := fact(draft, span)) is not None]
