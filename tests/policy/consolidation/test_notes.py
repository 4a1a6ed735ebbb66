"""Notes: which sentences are kept in the person's own words, and with what."""

from datetime import UTC, datetime

from benchmarks.support.one_episode import batch_of

from memory_butler.models import Item, ItemKind, Permanence
from memory_butler.policy.consolidation.notes import VITAL_IMPORTANCE, NoteRules, candidates, chosen, corrects

NOW = datetime(2026, 5, 1, tzinfo=UTC)
RULES = NoteRules(hand_from=0.45, session_from=0.75, chat_from=0.75, sure_from=0.7, chat_most=6)


def kept(text: str, *probabilities: float) -> list[Item]:
    found = candidates(batch_of(text, NOW), [])
    assert len(found) == len(probabilities)
    return chosen(list(zip(found, probabilities, strict=True)), RULES)


def test_short_sentences_stay_with_the_one_they_belong_to() -> None:
    """A fragment or a likely sentence next to a kept one is kept with it, verbatim."""
    (note,) = kept("Lena is five months pregnant. no lifting.", 0.9, 0.1)
    assert note.content == "Lena is five months pregnant. no lifting."
    assert note.subject == "Lena"
    (note,) = kept("The gig at Le Molotov is off. So the 5th is free for us.", 0.8, 0.4)
    assert note.content.endswith("So the 5th is free for us.")


def test_unlikely_sentences_and_other_lines_are_not_joined() -> None:
    (note,) = kept("The bins go out on Wednesday. It was a nice evening for all.", 0.9, 0.1)
    assert note.content == "The bins go out on Wednesday."
    (note,) = kept("The bins go out on Wednesday.\nno lifting.", 0.9, 0.1)
    assert note.content == "The bins go out on Wednesday."


def test_a_greeting_is_no_part_of_a_note() -> None:
    (note,) = kept("The bins go out on Wednesday. Good morning!", 0.9)
    assert note.content == "The bins go out on Wednesday."


def test_health_and_diet_are_important() -> None:
    (note,) = kept("no fish for Milo, he is allergic", 0.76)
    assert (note.importance, note.permanence) == (VITAL_IMPORTANCE, Permanence.STANDARD)


def test_a_correction_needs_less() -> None:
    assert corrects("changed my mind: aisle seat, my knee")
    assert corrects("no wait, it's Marek who approves that")
    assert kept("changed my mind: aisle seat, my knee", 0.5)
    assert not kept("an aisle seat because of my knee", 0.5)


def test_she_is_the_person_of_the_sentence_before() -> None:
    first, second = kept("Nora hates cheese in the evening. She leaves for Ghent in June.", 0.9, 0.9)
    assert (first.subject, second.subject) == ("Nora", "Nora")


def test_a_short_answer_is_a_note_with_its_question() -> None:
    """The person that the answer or the question names is its subject."""
    (note,) = kept("Assistant: Which size does Callum wear?\nUser: 10", 0.9)
    assert (note.subject, note.content) == ("Callum", "Which size does Callum wear? – 10")


def test_he_is_the_only_person_named_before() -> None:
    """Also if that sentence is not kept itself."""
    (note,) = kept("User: write a toast for Dai's birthday. he is obsessed with Swansea City", 0.9)
    assert (note.subject, note.content) == ("Dai", "he is obsessed with Swansea City")


def left_out(text: str, content: str) -> bool:
    """Whether a note is a candidate beside a fact with this content."""
    batch = batch_of(text, NOW)
    told = Item(
        kind=ItemKind.FACT, evidence=(batch.episodes[0].id,), subject="Ida", predicate="plan:x", content=content
    )
    return bool(candidates(batch, [told]))


def test_what_a_fact_does_not_say_is_kept_too() -> None:
    """A second statement in the first person, or a number."""
    assert not left_out("Ida is flying in on the 22nd", "flying in on 22 May")
    assert left_out("Ida is flying in on the 22nd, I pick her up", "flying in on 22 May")
    assert left_out("Ida is flying in with the BA75 at 6:40", "flying in with the BA")


def test_health_in_a_conversation_needs_less() -> None:
    (note,) = kept("User: my brother has coeliac disease\nAssistant: Noted.", 0.5)
    assert note.importance == VITAL_IMPORTANCE
    assert kept("User: my brother has a blue bicycle\nAssistant: Noted.", 0.5) == []


def test_the_short_items_of_a_list_are_one_note_with_their_heading() -> None:
    (note,) = kept("shopping list:\n- oat milk\n- nappies size 5\n- [x] candles", 0.1, 0.4, 0.9, 0.2)
    assert note.content == "shopping list: oat milk, nappies size 5, [x] candles"


def test_a_heading_or_what_is_ticked_off_is_no_note_alone() -> None:
    assert kept("What we agreed with the bank today:", 0.9) == []
    assert kept("- [x] pay Lars for the garden fence", 0.9) == []


def test_a_pronoun_in_a_conversation_keeps_the_sentence_before() -> None:
    (note,) = kept("Mum: Aunt Bev has been to the doctor. She is in ward 12 now.\nMe: ok", 0.1, 0.9)
    assert note.content == "Mum: Aunt Bev has been to the doctor. She is in ward 12 now."


def test_a_quoted_mail_is_by_whom_the_line_before_or_the_signature_names() -> None:
    (note,) = kept("FYI from our accountant:\n> the VAT return is due on 7 May and I am away.\n> Best, Noor", 0.9)
    assert (note.subject, note.content) == ("Noor", "Noor: the VAT return is due on 7 May and I am away.")


def test_a_sentence_without_a_subject_stays_with_the_one_before() -> None:
    """Alone, it would be about the user."""
    (note,) = kept("macsen = coeliac. NOT just intolerant, the school needs the letter again", 0.9, 0.9)
    assert note.content == "macsen = coeliac. NOT just intolerant, the school needs the letter again"


def test_a_standing_request_in_a_chat_needs_less() -> None:
    """Its permanence is that of a sure note, so that briefings tell it."""
    chat = "User: Bitte immer kurz und ohne Floskeln schreiben.\nAssistant: Gut."
    (note,) = kept(chat, 0.5)
    assert (note.content, note.permanence) == ("Bitte immer kurz und ohne Floskeln schreiben.", Permanence.STANDARD)
    assert not kept("User: Der Zug kommt immer so spät an.\nAssistant: Gut.", 0.5)


def test_what_is_added_to_a_standing_request_stands_too() -> None:
    chat = "User: réponds-moi toujours en français\nAssistant: D'accord.\nUser: et pas d'emojis"
    assert [note.content for note in kept(chat, 0.9, 0.15)] == ["réponds-moi toujours en français", "et pas d'emojis"]
    assert not kept("User: j'aime le thé vert\nAssistant: D'accord.\nUser: et pas de sucre dedans", 0.1, 0.15)


def test_a_named_result_needs_less() -> None:
    (note,) = kept("Session with Piotr on the worker. Decision: at most five minutes of backoff.", 0.1, 0.5)
    assert note.content.startswith("Session with Piotr on the worker. Decision:")
    (note,) = kept("Left open: the bench for a cold cache.", 0.4)
    assert (note.content, note.permanence) == ("Left open: the bench for a cold cache.", Permanence.STANDARD)
    assert not kept("The bench for a cold cache was fun.", 0.4)
