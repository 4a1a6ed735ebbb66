"""Extracts the facts and rules of a whole episode, and skips what states none."""

import re
from dataclasses import replace
from datetime import datetime

from memory_butler.english.extraction.brackets import bracketed_facts
from memory_butler.english.extraction.findings import Draft, Finding, deduplicated, fact, rule
from memory_butler.english.extraction.grammar.clause_splitting import clauses
from memory_butler.english.extraction.grammar.coreference import Discourse
from memory_butler.english.extraction.grammar.known_names import PLACES
from memory_butler.english.extraction.grammar.lower_case_names import is_of_another, puts_right, with_capitals
from memory_butler.english.extraction.grammar.noise import (
    asks,
    before_the_question,
    gives_orders_to_the_reader,
    hands_over_secrets,
    is_about_the_user,
    is_automatic,
    is_commission,
    is_fiction,
    is_ironic,
    is_laughed_at,
    is_public,
    is_recipe,
    is_role_play,
    is_saying,
    is_trivial,
    is_unsure,
    speaks_as_a_model,
    speaks_of_customers,
    speaks_of_software,
    without_quotes,
)
from memory_butler.english.extraction.grammar.people import people_mentioned
from memory_butler.english.extraction.grammar.person import in_third_person, rule_text
from memory_butler.english.extraction.grammar.speakers import is_heading, is_known, label_at, looks_named
from memory_butler.english.extraction.grammar.turns import ASSISTANT, SOMEBODY, USER, Sentence, turns
from memory_butler.english.extraction.instructions import recurs, rules_in, standing_order
from memory_butler.english.extraction.remember_requests import remember_request
from memory_butler.english.extraction.safety import is_safe
from memory_butler.english.extraction.statements import read, statements
from memory_butler.english.extraction.topics.contacts import find_replacement, replacement_facts
from memory_butler.english.extraction.topics.events import undated
from memory_butler.english.extraction.topics.home import RENTED
from memory_butler.english.text.word_sets import caseless, words_in
from memory_butler.english.time.event_dates import find_event_date

MERELY_NAMED = 4
# Facts that are never the user's if their sentence is about another.
_PERSONAL = frozenset({"allergic_to", "health", "diet", "relationship"})
# "Tried Mendeley, moved to Zotero" is no change of home.
_OF_TOOLS = caseless(
    r"\b(?:tried|tested|migrat\w+|switched|apps?|tools?|software|editors?|frameworks?|librar(?:y|ies)|providers?|hosting|"
    r"subscriptions?|licen[cs]es?|databases?|plug-?ins?)\b"
)
_WHOSE = caseless(
    r"(?:and |the |new |full |last |first )?(?:name|surname|number|phone|mobile|cell|e-?mail|address|birthday|age)"
    r"(?: is|'s|:| =) "
)
_OWN = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "we're", "our", "us", "user", "user's"])
_WHOSE_NOT = frozenset(["i", "i'm", "i've", "my", "me", "mine", "user", "user's", "hi", "hello", "hey"])
# Pasted data: a word of this length, or a run of marks. Patterns would take long and find nothing.
_UNREADABLE = re.compile(r"\S{81}|[^\w\s]{12}")

# The text after such a request is material to work on, not a statement.
_HANDED_OVER = re.compile(r":|\b(?:this|following|below)\b")


def distil(content: str, observed_at: datetime) -> list[Finding]:
    """The facts and rules of an episode, each with the sentence it came from; words of time count from observed_at."""
    found: list[Finding] = []
    if is_automatic(content):
        return found
    discourse = Discourse(
        customer_is_user=not speaks_of_customers(content), user_is_software=speaks_of_software(content)
    )
    by_assistant = is_about_the_user(content)
    plays = False
    began = len(found)
    for turn in turns(content):
        if plays:
            break
        if turn.sentences and is_laughed_at(turn.sentences[0].text):
            del found[began:]
        began = len(found)
        if turn.speaker == ASSISTANT:
            continue
        discourse.start_turn(turn.speaker, by_assistant=by_assistant and not turn.labelled)
        handed_over = is_manual = False
        # "Rent from the tenant is due. Name is Priscilla": whose name it is, is not clear.
        is_own = True
        for sentence in turn.sentences:
            if handed_over:
                break
            if is_ironic(sentence.text):
                found = [one for one in found if one.span[1] < sentence.start - 3]
                continue
            if is_role_play(sentence.text):
                plays = True
                break
            is_manual = is_manual or is_recipe(sentence.text)
            if is_commission(sentence.text):
                handed_over = bool(_HANDED_OVER.search(sentence.text))
            elif not (is_fiction(sentence.text) or is_saying(sentence.text) or speaks_as_a_model(sentence.text)):
                told = _of_sentence(sentence, discourse, observed_at)
                told = [one for one in told if one.kind != "rule" or not is_manual]
                found += told if is_own or not _WHOSE.match(sentence.text) else []
                is_own = not _WHOSE_NOT.isdisjoint(words_in(sentence.text))
    obeyed = not gives_orders_to_the_reader(content)
    return deduplicated(
        [one for one in found if one.kind != "rule" or (obeyed and not hands_over_secrets(one.content))]
    )


def distil_by_hand(content: str, observed_at: datetime) -> list[Finding]:
    """The same for what a person stored by hand: an imperative that says nothing else is a rule."""
    found = distil(content, observed_at)
    order = "" if found or gives_orders_to_the_reader(content) else standing_order(content, USER)
    return [rule(order, (0, len(content)))] if order and not hands_over_secrets(order) else found


def _of_sentence(sentence: Sentence, discourse: Discourse, now: datetime) -> list[Finding]:
    """The findings of one sentence that do not contradict it. Only the user gives rules."""
    if sentence.speaker == SOMEBODY or _UNREADABLE.search(sentence.text):
        return []
    sentence = sentence._replace(text=with_capitals(sentence.text))
    found = _found_in(sentence, discourse, now)
    if puts_right(sentence.text):
        # A note keeps the sentence: it is not clear of whom it is true.
        found = [one for one in found if one.kind != "fact"]
        discourse.last = ""
    if sentence.speaker != USER:
        found = [one for one in found if one.kind == "fact"]
    if sentence.speaker == USER and (label := _named_in_front(sentence.text)):
        found = [_said_of(one, label) for one in found]
    if _OF_TOOLS.search(sentence.text):
        found = [one for one in found if one.predicate != "lives_in" or one.content in PLACES]
    if is_of_another(sentence.text):
        found = [one for one in found if one.subject != USER or one.predicate.partition(":")[0] not in _PERSONAL]
    return [one for one in found if not is_trivial(one.content) and is_safe(sentence.text, one.predicate, one.content)]


def _named_in_front(text: str) -> str:
    """The name before the colon of a sentence without "I": "Piotr: on vacation until Thursday" is about Piotr."""
    label = label_at(text)
    if label is None or is_known(label) or is_heading(label) or not looks_named(label.name):
        return ""
    return label.name if _OWN.isdisjoint(words_in(text[label.end :])) else ""


def _said_of(found: Finding, name: str) -> Finding:
    """A fact about whom the label names instead of the user."""
    if found.kind != "fact" or found.subject != USER:
        return found
    return replace(found, subject=name, content=found.content.removeprefix(f"{name}: "))


def _found_in(sentence: Sentence, discourse: Discourse, now: datetime) -> list[Finding]:
    """The findings of one sentence: requests to remember, rules and facts."""
    span = (sentence.start, sentence.end)
    text = _ASIDE.sub("", without_quotes(sentence.text))
    discourse.start_sentence(text, is_public=is_public(text))
    asked = sentence.asks or asks(text)
    kept = remember_request(text, asked=asked)
    if asked and kept is None:
        text = before_the_question(text)
        if not text:
            return []
        kept = remember_request(text, asked=False)
    if kept:
        if not kept.is_task:
            return _kept(kept.text, discourse, now, span)
        return _task(kept.text, discourse, now, span)
    given = rules_in(_ASIDE.sub("", sentence.text) if '"' not in sentence.text else text, discourse.speaker)
    found: list[Finding] = []
    for piece in given.left:
        found += _facts(_born_elsewhere(_of_piece(without_quotes(piece), discourse, now)), span)
    if _PREFERS_NOW.search(text):
        found += [other for one in found if (other := _given_up(one)) is not None]
    return [rule(one, span) for one in _standing_alone(given.rules, discourse)] + found


def _given_up(one: Finding) -> Finding | None:
    """ "Now prefers coffee over tea": tea is preferred no longer, if it was."""
    _, is_choice, other = one.content.partition(" over ")
    if not is_choice or not one.predicate.startswith("prefers:"):
        return None
    return fact(Draft(one.subject, "prefers", f"no longer prefers {other}", key=other), one.span)


# Words that add no meaning and would become part of a value.
_ASIDE = caseless(
    r",? (?:after all|go figure|believe it or not|as it turns out|of all things|funnily enough)(?=$|[,;.!])"
)
_PREFERS_NOW = caseless(
    r"\bnow prefers?\b|\bprefers? [^,;]{2,60} (?:now|these days)\b|\b(?:has|have|'ve) come to prefer\b"
)
_OF_THEM = re.compile(
    r"^((?:(?i:please|always|never|don't|do not) ){0,2}\w+ )(him|her)"
    r"(?= (?:first|before|whenever|when|every|each|if|prior|an?|the|any|more|about|on|at|by|in|until)\b|\.?$)"
)


def _standing_alone(rules: list[str], discourse: Discourse) -> list[str]:
    """The rules with names for "him" and "her". Dropped if unknown: the agent would not know whom to ask."""
    found = []
    for one in rules:
        match = _OF_THEM.match(one)
        who = discourse.pronoun(match[2], pets=False) if match else ""
        if match and who:
            found.append(f"{match[1]}{'the user' if who == USER else who}{one[match.end() :]}")
        elif match is None:
            found.append(one)
    return found


def _task(text: str, discourse: Discourse, now: datetime, span: tuple[int, int]) -> list[Finding]:
    """Something to remember to do: once on a day, or always."""
    when = find_event_date(text, now, "future")
    if when is not None and when.exact:
        return _facts([Draft(discourse.speaker, "plan", undated(text, when), valid_at=when.day)], span)
    if recurs(text):
        return [rule(rule_text(text, discourse.speaker), span)]
    return _facts([Draft(discourse.speaker, "plan", text)], span)


def _kept(text: str, discourse: Discourse, now: datetime, span: tuple[int, int]) -> list[Finding]:
    """A remembered statement as rules or facts; verbatim as a note if no table understands it."""
    given = rules_in(text, discourse.speaker)
    if given.rules:
        return [rule(one, span) for one in given.rules]
    drafts = _of_piece(text, discourse, now)
    if not drafts or _only_names(drafts, text):
        drafts.append(Draft(discourse.speaker, "note", in_third_person(text, discourse.speaker)))
    return _facts(drafts, span)


def _only_names(drafts: list[Draft], text: str) -> bool:
    """True if only names were extracted from a sentence that says more."""
    named = {word for one in drafts for word in words_in(one.content)}
    return all(one.kind in ("relationship", "pet") for one in drafts) and len(words_in(text) - named) > MERELY_NAMED


def _of_piece(text: str, discourse: Discourse, now: datetime) -> list[Draft]:
    """The facts of a piece of a sentence: first the people it mentions, then its statements."""
    if replacement := find_replacement(text):
        found = _of_piece(replacement.before, discourse, now) if replacement.before else []
        found += replacement_facts(replacement, found, discourse) if not is_unsure(text) else []
        return found + (_of_piece(replacement.after, discourse, now) if replacement.after else [])
    sure = not is_unsure(text)
    found = people_mentioned(text, discourse, by_pronoun=False) if sure else []
    for clause in clauses(text):
        found += people_mentioned(clause.text, discourse, by_pronoun=True) if sure else []
        told = statements(clause, discourse, now)
        told = [one for one in told if one.key != RENTED or one.subject not in discourse.homes]
        found += told
        for one in told:
            discourse.add_fact(one)
    found += bracketed_facts(text, discourse, now, read) if sure else []
    discourse.note_mentions(text)
    return found


def _born_elsewhere(drafts: list[Draft]) -> list[Draft]:
    """Born in one place and grown up in another: keep both, so that the second does not supersede the first."""
    origins = [one for one in drafts if one.kind == "from"]
    if len(origins) != 2 or origins[0].subject != origins[1].subject:
        return drafts
    grown = origins[1]._replace(kind="note", content=f"grew up in {origins[1].content}", key="grew up")
    return [grown if one is origins[1] else one for one in drafts]


def _facts(drafts: list[Draft], span: tuple[int, int]) -> list[Finding]:
    return [one for draft in drafts if (one := fact(draft, span)) is not None]
