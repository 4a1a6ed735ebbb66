"""What is proposed stands on the episodes it cites."""

from datetime import UTC, date, datetime

import pytest
from benchmarks.consolidation.scoring import fits_fact, fits_rule, labelled
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.growth import assert_quick
from tests.support.policy_batches import OBSERVED, fact, make_batch, proposed, rule

from memory_butler.english.extraction import distil
from memory_butler.english.text.clauses import sentences
from memory_butler.english.time.mentioned_days import supports_day
from memory_butler.models import RefusalReason
from memory_butler.policy.consolidation.grounding import Claim, EpisodeText, objection

PEANUTS = "I work at Acme. I'm allergic to peanuts."
ACME = "I work at Acme and I'm allergic to peanuts."
AMARA = "Amara joined the call. She's a product designer based in Lagos, speaks French and doesn't drink alcohol."
CHAT = (
    "Rosa: I'm vegan now btw\nDaniel: since when?? I just bought a smoker lol\nRosa: since May. also I moved to Leith"
)
DEPLOY = "Never deploy on Fridays, because nobody is around to fix it."

SAID = [
    ("user", "works_at", "Acme", PEANUTS),
    ("user", "allergic_to:peanuts", "peanuts", PEANUTS),
    ("the user", "works_at", "Acme", PEANUTS),
    ("user", "allergic_to:peanut", "allergic to peanut", PEANUTS),
    ("user", "allergic_to:nuts", "not allergic to nuts", "I'm not allergic to nuts."),
    ("user", "habit:coffee", "no longer drinks coffee", "I stopped drinking coffee in May."),
    ("user", "habit:coffee", "does not drink coffee", "I don't drink coffee."),
    ("user", "habit:coffee", "drinks no coffee", "No longer drinks coffee."),
    ("user", "owns:car", "no longer owns a car", "User doesn't own a car any more; cycles everywhere."),
    ("user", "diet:fish", "does not eat fish", "I don't eat meat or fish."),
    ("user", "diet:gluten", "gluten-free", "I can't eat gluten."),
    ("user", "works_at", "Acme", "User does not smoke and works at Acme."),
    ("user", "likes:techno", "techno", "Assistant: Do you like jazz?\nUser: not really, I'm more into techno."),
    ("user", "dislikes:jazz", "jazz", "Assistant: Do you like jazz?\nUser: not really, I'm more into techno."),
    ("user", "age", "42", "I'm 42, not 41."),
    ("user", "dislikes:coriander", "coriander", "I can't stand coriander."),
    ("user", "dislikes:jira", "Jira", "Dislikes Jira."),
    ("user", "plan:porto", "moving to Porto", "I can't wait to move to Porto!"),
    ("user", "birthday", "September 9", "don't forget that my birthday is September 9"),
    ("user", "pet:cats", "2 cats", "User lives with two cats."),
    ("user", "pet:cats", "two cats", "I have 2 cats."),
    ("user", "age", "21", "I just turned twenty-one."),
    ("user", "note:rent", "rent of 1400 euros", "Rent is €1,400, in euros."),
    ("user", "phone", "02079460812", "my number is 020 7946 0812"),
    ("user", "contact:work", "work number", "She gave me her work mobile."),
    ("user", "note:call", "call at 14:30", "The call is at 2:30pm."),
    ("user", "favorite_color", "teal", "my favourite colour is teal"),
    ("user", "relationship:kids", "two children", "We have two kids."),
    ("user", "relationship:mother", "mother Ana", "My mum Ana is visiting."),
    ("user", "works_as", "works as a translator", "I translate novels for a living."),
    ("user", "likes:cat", "猫が好き", "私は猫が好きです"),
    ("Anna", "lives_in", "Rome", "Anna and Tom live in Rome."),
    ("Tom", "lives_in", "Rome", "Anna and Tom live in Rome."),
    ("Anna", "works_at", "Acme", "Anna lives in Rome and works at Acme."),
    ("Amara", "works_as", "product designer", AMARA),
    ("Amara", "speaks:french", "French", AMARA),
    ("Amara", "habit:alcohol", "does not drink alcohol", AMARA),
    ("Rosa", "diet:vegan", "vegan", CHAT),
    ("Rosa", "lives_in", "Leith", CHAT),
    ("Daniel", "owns:smoker", "a smoker", CHAT),
    ("user's girlfriend", "diet:gluten", "cannot eat gluten", "I'm tired and my girlfriend can't eat gluten."),
    ("user's husband", "likes:horror", "horror films", "not a fan of horror films tbh, my husband loves them though"),
    ("Biscuit", "dislikes:hoovers", "scared of hoovers", "i've got a dog called Biscuit and he's scared of hoovers"),
    ("Sami", "age", "6", "My wife Noor and I have two kids, Sami (6) and Layla (3)."),
    ("Dr. Achterberg", "relationship:deputy", "deputy Lucas", "Dr. Achterberg is away. Her deputy is Lucas."),
    ("Gareth Pugh", "works_as", "plumber", "Plumber: Gareth Pugh, 07700 900341"),
    ("Tom", "relationship:alice", "sister Alice", "Tom: my sister Alice is a vet in Hobart\nWei: oh nice!"),
    ("Xin", "lives_in", "Hobart", "Tom: Alice is a vet in Hobart\nWei: oh nice! my best friend Xin lives there"),
    ("Priya", "relationship:colin", "reports to Colin", "Met Priya. She is my manager and reports to Colin."),
    ("user's mom", "birthday", "September 9", "my mom's birthday is September 9"),
    ("Rex", "note:breed", "golden retriever", "Rex is our dog. Golden retriever, very calm."),
]  # fmt: skip

NOT_SAID = [
    ("user", "lives_in", "Porto", "I moved to Lisbon.", "name"),
    ("user", "age", "43", "I'm 42.", "number"),
    ("user", "age", "41", "I'm 42, not 41.", "number that is denied"),
    ("user", "allergic_to:walnuts", "severely allergic to walnuts", "I'm severely allergic to peanuts.", "word"),
    ("user", "note:rent", "rent of 1450 euros", "Rent is €1,400, in euros.", "sum"),
    ("user", "email", "anna@acme.example", "my mail is anna@globex.example", "address"),
    ("user", "allergic_to:nuts", "nuts", "I'm not allergic to nuts.", "denied"),
    ("user", "allergic_to:nuts", "not allergic to nuts", "I'm allergic to nuts.", "denies"),
    ("user", "habit:coffee", "drinks coffee", "I don't drink coffee.", "denied"),
    ("user", "works_at", "Acme", "I no longer work at Acme.", "ended"),
    ("user", "lives_in", "Cork", "I used to live in Cork.", "ended"),
    ("user", "likes:horror", "horror films", "not a fan of horror films", "disliked"),
    ("user", "dislikes:coriander", "coriander", "I love coriander.", "liked"),
    ("user", "diet:vegetarian", "vegetarian", "I'm not vegetarian.", "denied"),
    ("user", "allergic_to:drug", "drug", "No known drug allergies.", "denied"),
    ("user", "allergic_to:peanuts", "peanuts", "My sister is allergic to peanuts.", "sister's"),
    ("user", "works_at", "Globex", "I'm fine. My brother Tom works at Globex.", "brother's"),
    ("the employer", "policy", "ban on peanuts", PEANUTS, "invented subject"),
    ("Acme", "policy", "ban on peanuts", PEANUTS, "invented ban"),
    ("Acme", "allergic_to:peanuts", "peanuts", PEANUTS, "next sentence"),
    ("Acme", "allergic_to:peanuts", "peanuts", ACME, "next clause"),
    ("Acme", "allergic_to:peanuts", "peanuts", "I work at Acme and am allergic to peanuts.", "clause without subject"),
    ("Acme", "allergic_to:peanuts", "peanuts", "Works at Acme. Allergic to peanuts.", "notes"),
    ("Daniel", "diet:vegan", "vegan", CHAT, "other speaker"),
    ("Rosa", "owns:smoker", "a smoker", CHAT, "other speaker"),
    ("Freya", "health:asthma", "asthma", "User's kids: Freya, Magnus and Tove. Magnus has asthma.", "brother's"),
    ("Lagos", "works_as", "product designer", AMARA, "only mentioned"),
    ("Leith", "owns:smoker", "a smoker", CHAT, "only mentioned"),
    ("Tom", "works_as", "vet", "Tom: my sister Alice is a vet in Hobart\nWei: oh nice!", "sister's"),
    ("Tom", "lives_in", "Rome", "My brother lives in Rome.", "unnamed"),
    ("Christina", "lives_in", "Rome", "Christian lives in Rome.", "other name"),
    ("she", "lives_in", "Rome", "She lives in Rome.", "pronoun"),
    ("user", "likes:dog", "犬が大好き", "私は猫が好きです", "other animal"),
    ("user", "note", "Johnston", "I met Johnson.", "other name"),
]  # fmt: skip


def verdict(subject: str, predicate: str, content: str, text: str, valid_at: datetime | None = None) -> str | None:
    return objection(
        Claim(content=content, subject=subject, predicate=predicate, valid_at=valid_at), [EpisodeText(text, OBSERVED)]
    )


@pytest.mark.parametrize(("subject", "predicate", "content", "text"), SAID, ids=[f"{s}-{c}" for s, _, c, _ in SAID])
def test_what_the_episodes_say_stands(subject: str, predicate: str, content: str, text: str) -> None:
    """Other forms of a word or number do, and pronouns and labels say whose it is."""
    assert verdict(subject, predicate, content, text) is None


@pytest.mark.parametrize(
    ("subject", "predicate", "content", "text", "why"), NOT_SAID, ids=[f"{s}-{c}-{w}" for s, _, c, _, w in NOT_SAID]
)
def test_what_they_do_not_say_is_doubted(subject: str, predicate: str, content: str, text: str, why: str) -> None:
    """Invented, said of somebody else, or the opposite."""
    assert verdict(subject, predicate, content, text), why


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Always run the tests before committing.", "please always run the tests before you commit"),
        (DEPLOY, DEPLOY),
        ("Do not use emojis.", "I hate it when you use emojis"),
        ("Use metric units when the user asks for a recipe.", "When the user asks for a recipe, give metric units."),
        ("Don't shorten it to Thandi.", "My name's Thandiwe — please don't shorten it to Thandi."),
    ],
)
def test_a_rule_may_be_worded_as_an_instruction(content: str, text: str) -> None:
    """What tells something is in the episode, and what is forbidden there is forbidden."""
    assert objection(Claim(content=content, is_rule=True), [EpisodeText(text, OBSERVED)]) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Always deploy on Fridays.", DEPLOY),
        ("Never run the tests before committing.", "always run the tests before committing"),
        ("Always run the linter before committing to main.", "always run the tests"),
        ("Call the user before 10am.", "Please never call me before 10am"),
    ],
)
def test_a_rule_that_nobody_gave_is_doubted(content: str, text: str) -> None:
    """Also when it turns one that was given round."""
    assert objection(Claim(content=content, is_rule=True), [EpisodeText(text, OBSERVED)])


def test_words_may_come_from_several_episodes_for_the_user_alone() -> None:
    """Who else something is said of must be plain from one place."""
    told = [
        EpisodeText("I'm moving to Lisbon.", OBSERVED),
        EpisodeText("Anna called. We found a flat in Alfama.", OBSERVED),
    ]
    claim = Claim(content="moving to Lisbon, flat in Alfama", subject="user", predicate="plan")
    assert objection(claim, told) is None
    assert objection(Claim(content="Lisbon", subject="Anna", predicate="plan"), told)


@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("2026-03-05", "tomorrow i'm taking mum to the eye clinic"),
        ("2026-03-03", "Yesterday the user had an interview"),
        ("2026-03-04", "User ordered a replacement today."),
        ("2026-03-13", "flying next Friday"),
        ("2026-03-20", "I have a dentist appointment on March 20 at 2:30pm."),
        ("2026-03-20", "on the 20th"),
        ("2026-03-20", "due 2026-03-20"),
        ("2026-03-20", "due 20/3"),
        ("2026-07-07", "on leave 6-8 July"),
        ("2026-01-01", "moved in January"),
        ("2019-06-01", "graduated in 2019"),
        ("1988-11-14", "born on 14 November 1988"),
        ("2026-03-14", "my visa interview is in 10 days"),
        ("2026-02-18", "two weeks ago"),
        ("2026-05-03", "the third of May"),
        ("2026-10-01", "in the autumn"),
        ("2026-04-15", "some time next month"),
        ("2026-03-15", "we travelled between March and June"),
        ("2026-06-15", "we travelled between March and June"),
    ],
)
def test_a_day_that_can_be_told(day: str, text: str) -> None:
    """From a date, or from words of time and when they were said (on Wednesday 4 March 2026)."""
    assert supports_day(date.fromisoformat(day), text.casefold(), OBSERVED.date())


@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("2026-03-04", "I work at Acme."),
        ("2027-03-05", "tomorrow i'm taking mum to the eye clinic"),
        ("2026-03-07", "tomorrow"),
        ("2026-03-05", "yesterday"),
        ("2026-03-14", "flying next Friday"),
        ("2026-03-21", "I have a dentist appointment on March 20."),
        ("2026-04-20", "I have a dentist appointment on March 20."),
        ("2026-11-14", "born on 14 November 1988"),
        ("2018-06-01", "graduated in 2019"),
        ("2026-06-14", "in 10 days"),
        ("2026-03-18", "two weeks ago"),
        ("2026-05-01", "I may go there"),
        ("2026-05-01", "I may or may not go there, and may call"),
    ],
)
def test_a_day_that_cannot_be_told(day: str, text: str) -> None:
    """Nothing is dated with the present only because it was said then."""
    assert not supports_day(date.fromisoformat(day), text.casefold(), OBSERVED.date())


def test_a_day_may_be_written_out_in_the_content() -> None:
    """If it can be told at all."""
    text = "The interview is next Friday."
    friday = datetime(2026, 3, 13, tzinfo=UTC)
    assert verdict("user", "event", "interview on 13 March 2026", text, friday) is None
    assert verdict("user", "event", "interview on 13 March 2026", text, datetime(2026, 5, 13, tzinfo=UTC))


def test_correct_items_are_hardly_ever_refused() -> None:
    """Of what fits a label of the development episodes less than one in a hundred, and their key words stand too."""
    right = refused = 0
    for episode in labelled("development"):
        batch = make_batch(episode.content, observed_at=episode.observed_at)
        found = distil(episode.content, episode.observed_at)
        for label in episode.facts:
            for one in found:
                if one.kind == "fact" and fits_fact(one, label):
                    day = one.valid_at.isoformat() if one.valid_at else None
                    item = fact(one.content, one.subject, one.predicate, valid_at=day)
                    right += 1
                    refused += bool(proposed(batch, facts=[item]).refused)
            subjects = label["subject"] if isinstance(label["subject"], list) else [label["subject"]]
            keys = " ".join(label["keys"])
            # The key words alone say nothing of what is over or denied: either way of saying it may stand.
            for subject in subjects:
                items = [
                    fact(f"{lead}{keys}", subject, label["predicate"][0], valid_at=label.get("valid_at"))
                    for lead in ("", "no ")
                ]
                right += 1
                refused += len(proposed(batch, facts=items).refused) == len(items)
        for label in episode.rules:
            for one in found:
                if one.kind == "rule" and fits_rule(one, label):
                    right += 1
                    refused += bool(proposed(batch, rules=[rule(one.content)]).refused)
    assert right > 350
    assert refused / right < 0.01


@given(st.text(max_size=300), st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=30))
@example("N'T", "'s", "n't")
def test_any_text_can_be_read(text: str, content: str, subject: str) -> None:
    """Whatever it consists of; and the same gives the same answer."""
    claim = Claim(content=content, subject=subject, predicate="note", valid_at=OBSERVED)
    assert objection(claim, [EpisodeText(text, OBSERVED)]) == objection(claim, [EpisodeText(text, OBSERVED)])


@given(
    st.lists(
        st.sampled_from(["Anna", "Tom", "Rome", "tea", "likes", "hates", "green", "seven"]), min_size=1, max_size=6
    )
)
def test_an_episode_grounds_itself(said: list[str]) -> None:
    """Its own words, in a sentence that denies nothing, always stand."""
    text = f"User noted: {' '.join(said)}"
    assert verdict("user", "note", " ".join(said), text) is None


@pytest.mark.parametrize(
    "text",
    ["{" * 20_000, "no, " * 5_000, "and I " * 3_300, "a" * 20_000, "1." * 10_000, "may 1 " * 3_300, "'" * 20_000],
)
def test_hostile_text_is_read_in_time(text: str) -> None:
    """The longest episode of the oddest kind takes well under a second."""
    claim = Claim(content="Anna likes tea", subject="Anna", predicate="note", valid_at=OBSERVED)
    assert_quick(lambda: (sentences(text), objection(claim, [EpisodeText(text, OBSERVED)])), 2)


def test_refusals_of_doubted_items_say_why() -> None:
    """In words that a person can read."""
    [refused] = proposed(make_batch(PEANUTS), facts=[fact("walnuts", predicate="allergic_to")]).refused
    assert (refused.reason, refused.said) == (RefusalReason.UNGROUNDED, "The episodes do not say: walnuts.")
