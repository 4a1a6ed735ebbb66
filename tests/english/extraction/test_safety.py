"""No finding contradicts its sentence, and none gives the words of one person to another."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.english.extraction import distil
from memory_butler.english.extraction.safety import objection

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
THINGS = ("cats", "dogs", "walnuts", "almonds", "cheese", "horses", "shellfish", "peanuts", "pollen", "latex")
TOOLS = ("pnpm", "npm", "Vim", "Emacs", "Slack", "Teams", "Docker", "Postgres", "Kafka", "Jira")
NAMES = ("Anna", "Tom", "Priya", "Lars", "Mette", "Hanna")

SAFE = [
    ("I'm allergic to cats, dogs are fine", "allergic_to:cats", "cats"),
    ("I'm not allergic to nuts", "allergic_to:nuts", "not allergic to nuts"),
    ("I no longer use Slack", "uses:slack", "no longer uses Slack"),
    ("I can't eat gluten", "diet:gluten", "gluten-free"),
    ("I like cats but not dogs", "likes:cats", "cats"),
    ("I can't wait to move to Porto", "plan:porto", "move to Porto"),
    ("I'm vegan, if that helps", "diet:vegan", "vegan"),
    ("User does not smoke and works at Acme.", "works_at", "Acme"),
    ("I'd prefer tea over coffee", "prefers:tea", "tea over coffee"),
    ("Don't cc my manager unless I say so", "", "Don't cc the user's manager unless the user says so."),
]
UNSAFE = [
    ("I'm allergic to cats, dogs are fine", "allergic_to:dogs", "dogs"),
    ("we use pnpm here, never npm", "uses:npm", "npm"),
    ("I'm allergic to nuts except almonds", "allergic_to:almonds", "almonds"),
    ("I might move to Rome", "lives_in", "Rome"),
    ("I take aspirin if I have a headache", "health:aspirin", "takes aspirin"),
    ("I used to live in Rome", "lives_in", "Rome"),
    ("I almost bought a Tesla", "owns:tesla", "a Tesla"),
    ("I wish I had a dog", "pet:dog", "a dog"),
    ("I own a car until May", "owns:car", "a car"),
    ("I don't hate jazz", "dislikes:jazz", "jazz"),
    ("Never deploy on Fridays", "", "Deploy on Fridays."),
    ("We don't use Jira any more", "uses:jira", "Jira"),
]


@pytest.mark.parametrize(("sentence", "predicate", "content"), SAFE)
def test_what_a_sentence_says_is_safe(sentence: str, predicate: str, content: str) -> None:
    assert objection(sentence, predicate, content) is None


@pytest.mark.parametrize(("sentence", "predicate", "content"), UNSAFE)
def test_what_drops_a_word_that_turns_it_round_is_refused(sentence: str, predicate: str, content: str) -> None:
    assert objection(sentence, predicate, content) is not None


def two(words: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(words), min_size=3, max_size=4, unique=True).map(tuple)


CONTRASTS = st.sampled_from([
    "{a} and {b}, {c} are fine", "{a}, {b} too, {c} never", "{a}, not {c}", "{a} but not {c}", "{a}, {c} is ok",
    "{a}, {c} don't bother me", "{a} and {b}, never {c}", "{a} except {c}", "{a}, {c} no", "{a}, {c} only if cooked",
    "{a}; {c} are okay", "{a} - {c} are fine though", "{a} (not {c})", "{a}, though {c} are fine",
])  # fmt: skip
VERBS = st.sampled_from([
    "I'm allergic to", "I like", "I hate", "my sister likes", "I can't stand", "User loves", "Tom likes", "I love",
])  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(VERBS, CONTRASTS, two(THINGS))
def test_a_list_ends_where_a_contrast_begins(verb: str, contrast: str, things: tuple[str, ...]) -> None:
    """Whatever comes after the contrast is not in the list."""
    a, b, c = things[:3]
    sentence = f"{verb} {contrast.format(a=a, b=b, c=c)}"
    for one in distil(sentence, NOW):
        denied = any(word in one.content for word in ("not", "never", "no ", "except", "n't"))
        assert c not in one.content or denied, sentence


UNTRUE = st.sampled_from([
    "I might use {t}", "maybe we use {t}", "I used to use {t}", "I no longer use {t}", "we don't use {t}",
    "we never use {t}", "if we use {t}, tell me", "I'd use {t} if it was free", "I almost used {t}",
    "I wish we used {t}", "we use {u} unless {t} is up", "we use {u} instead of {t}", "we use {u}, not {t}",
    "we use {u} rather than {t}", "we could use {t}", "nobody here uses {t}", "I stopped using {t}",
    "we use {u}, never {t}", "do we use {t}", "we probably use {t}", "we use everything except {t}",
])  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(UNTRUE, two(TOOLS), st.sampled_from(["", "btw ", "ok so ", "User: ", "note: "]))
def test_denied_doubted_and_conditional_statements_stay_so(form: str, tools: tuple[str, ...], lead: str) -> None:
    t, u = tools[:2]
    sentence = lead + form.format(t=t, u=u)
    for one in distil(sentence, NOW):
        ended = any(
            word in one.content
            for word in ("no longer", "not", "never", "stopped", "n't", "instead", "rather", "except")
        )
        assert t not in one.content.split() or ended or one.kind == "rule", sentence


OTHERS = st.sampled_from([
    "{n}: {s}", "{n} wrote: {s}", "{n} said: {s}", "from {n}: {s}", "Fwd from {n}: {s}", "> {s}", "[10:02] {n}: {s}",
    "{n}: hi\nMe: hello\n{n}: {s}", "From: {n}\nSubject: x\n\n{s}", "On Tue, 4 Mar 2026, {n} wrote:\n> {s}",
    "-----Original Message-----\nFrom: {n} <n@example.org>\n{s}", "my sister {n} wrote: {s}", "{n} schrieb: {s}",
    "{n} dijo: {s}", "{n} a écrit : {s}", "**{n}:** {s}", "{n} : {s}", "von {n}: {s}", "Teacher: {s}", "{n}： {s}",
    "the page says: {s}", "Candidate: {s}\nInterviewer: ok", "Am 3.2. schrieb {n}:\n> {s}", "{n} написала: {s}",
])  # fmt: skip
OWN = st.sampled_from([
    "I'm celiac", "I live in Rome", "my son is vegan", "I'm allergic to nuts", "I work at Acme", "I hate jazz",
    "Always call me first", "Never deploy on Fridays, I hate that", "my number is 0612 345678", "I'm on metformin",
])  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(OTHERS, st.sampled_from(NAMES), OWN)
def test_the_words_of_others_are_not_the_users(form: str, name: str, words: str) -> None:
    """No fact about the user and no rule; facts about the one who spoke may be kept."""
    episode = form.format(n=name, s=words)
    for one in distil(episode, NOW):
        kin = one.predicate.startswith("relationship")
        assert one.kind == "fact" and (one.subject != "user" or kin), episode


@pytest.mark.parametrize("name", ["Sam", "Don", "Les", "Will", "May", "Mark", "Grace", "Hope", "Rose", "Jack", "Bill"])
def test_names_that_are_words_can_be_subjects(name: str) -> None:
    assert [(one.subject, one.content) for one in distil(f"{name} works at Ocado.", NOW)] == [(name, "Ocado")]


@pytest.mark.parametrize(
    ("sentence", "predicate", "content"),
    [
        ("I moved from Google to Meta", "works_at", "Meta"),
        ("I moved from Porto to Lisbon", "lives_in", "Lisbon"),
        ("I've been at LinkedIn since 2020", "works_at", "LinkedIn"),
        ("As of 2026 I'm at Datadog", "works_at", "Datadog"),
        ("Nina went vegan in January", "diet", "vegan"),
    ],
)
def test_a_property_that_changed_has_one_value(sentence: str, predicate: str, content: str) -> None:
    assert [(one.predicate, one.content) for one in distil(sentence, NOW)] == [(predicate, content)]
