"""Sentences with their speakers, verbatim."""

from memory_butler.languages.speech.utterances import ASSISTANT, SOMEBODY, USER, is_conversation, utterances
from memory_butler.languages.speech.vetoes import Veto, vetoes


def test_each_sentence_is_kept_as_it_was_written() -> None:
    """Punctuation and spelling stay; the place is that in the text."""
    text = "  - dont call me after 9!  The key is under the pot."
    found = utterances(text)
    assert [one.text for one in found] == ["dont call me after 9!", "The key is under the pot."]
    assert all(text[one.start :].startswith(one.text) for one in found)
    assert all(one.speaker == USER and not one.label for one in found)


def test_labels_say_who_speaks() -> None:
    """The user, the assistant and others; a name that is not the user's stays with the words."""
    found = utterances("user: I like tea.\nassistant: Noted.\nAnna: I'm celiac. No bread.")
    assert [one.speaker for one in found] == [USER, ASSISTANT, "Anna", "Anna"]
    assert [one.quoted for one in found] == ["I like tea.", "Noted.", "Anna: I'm celiac.", "Anna: No bread."]


def test_labels_in_other_languages_and_scripts() -> None:
    """Roles in German, Russian and Japanese, also with a full-width colon."""
    found = utterances(
        "Benutzer: Ich mag Tee.\nAssistent: Gut.\nпользователь: Я левша.\nアシスタント：はい、分かりました。"
    )
    assert [one.speaker for one in found] == [USER, ASSISTANT, USER, ASSISTANT]


def test_a_single_name_may_be_a_heading() -> None:
    """ "Plumber: 0171…" is a note of the user; two labelled lines are a conversation."""
    assert [one.label for one in utterances("Dentist: Dr. Lum, Mondays only")] == [""]
    assert [one.label for one in utterances("Anna: I'm celiac")] == ["Anna"]
    assert not is_conversation("Dentist: Dr. Lum, Mondays only")
    assert is_conversation("user: hello there")
    assert is_conversation("Anna: I'm late.\nBen: me too.")


def test_code_logs_and_served_text_are_left_out() -> None:
    text = "```\nI live in code.\n```\n2026-01-01 10:00 started\n> quoted line\n- Porto [fact:2k7qz]\nI live in Porto."
    assert [one.text for one in utterances(text)] == ["I live in Porto."]


def test_a_german_date_does_not_end_a_sentence() -> None:
    assert [one.text for one in utterances("Lieferung am 14. Mai um acht. Danach Urlaub.")] == [
        "Lieferung am 14. Mai um acht.",
        "Danach Urlaub.",
    ]


def test_questions_are_marked() -> None:
    assert [one.asks for one in utterances("Is it late? I am here. ¿Qué tal? 元気ですか？")] == [
        True,
        False,
        True,
        True,
    ]


def test_a_forwarded_mail_is_its_authors() -> None:
    """Headers and closings are no sentences. Without a usable name, the author is somebody else."""
    mail = "From: Jane Doe <jane@fern.example>\nSubject: Rent\n\nI pay on Friday.\nKind regards, Jane"
    assert [one.quoted for one in utterances(f"---- Forwarded message ----\n{mail}")] == ["Jane Doe: I pay on Friday."]
    (one,) = utterances("---- Forwarded message ----\nI pay on Friday.")
    assert (one.speaker, one.label) == (SOMEBODY, "")


def test_quoted_lines_are_kept_if_their_author_is_named() -> None:
    assert [one.quoted for one in utterances("Am 12.02.2026 schrieb Herr Maurer:\n> Ich komme am Montag.")] == [
        "Herr Maurer: Ich komme am Montag."
    ]
    assert utterances("> I live in Porto.") == []


def test_a_short_answer_is_quoted_with_its_question() -> None:
    """The assistant asked, the user answers with a word; a whole line is one answer."""
    said = utterances(
        "Assistant: Which size of boots do you need?\nUser: 6. wide fit\nAssistant: And for Callum?\nUser: 10"
    )
    assert [one.quoted for one in said if one.speaker == USER] == [
        "Which size of boots do you need? – 6. wide fit",
        "Which size of boots do you need? – 6. wide fit – And for Callum? – 10",
    ]


def test_people_answer_each_other() -> None:
    """In a transcript the label stays with the answer; who asked twice in a row has no answer yet."""
    said = utterances("[18:03] Gwen: is Bethan still veggie?\n[18:04] Dai: no she eats fish now")
    assert said[-1].quoted == "is Bethan still veggie? – Dai: no she eats fish now"
    said = utterances("Gwen: where is he?\nGwen: in Porto I guess\nDai: I'm at the bakery in Cork now")
    assert [one.question for one in said] == ["", "", ""]


def test_the_name_under_a_quoted_mail_is_its_author() -> None:
    """After "Cheers" or a dash, also where nobody said whose mail it is; the closing is no sentence of it."""
    said = utterances("Fwd from the timber merchant:\n> Hi Gwen,\n> the joists are late.\n> Cheers, Steff")
    assert [(one.speaker, one.quoted) for one in said][-1] == ("Steff", "Steff: the joists are late.")
    said = utterances("> Matthieu, I moved to Geneva in August. – Inès\ntodo answer ines")
    assert [one.speaker for one in said] == ["Inès", USER]
    said = utterances("From: office@school.example\nSubject: Trip\nPacked lunch needed. Regards, Carys Bevan")
    assert [one.quoted for one in said] == ["Carys Bevan: Packed lunch needed."]


def test_the_subject_of_a_forwarded_mail_is_no_sentence() -> None:
    said = utterances("Fwd: Régie Naef\nVotre loyer passera à 2140 francs.")
    assert [one.quoted for one in said] == ["Régie Naef: Votre loyer passera à 2140 francs."]
    said = utterances("Fwd: Re: rota\nHi all, I can't do Monday. Thanks, Tunde")
    assert [one.speaker for one in said] == ["Tunde"]


def test_an_item_without_a_name_is_not_the_words_of_the_one_before() -> None:
    said = utterances("Team meeting\n- Petra: I'm pregnant, due in June\n- next meeting on 7 December at 8:30")
    assert [one.speaker for one in said] == [USER, "Petra", USER]


def test_what_follows_a_quotation_is_the_writers() -> None:
    said = utterances('Agnes wrote: "I\'m vegetarian, order something without meat." team lunch is on Friday at 12')
    assert [(one.speaker, one.text) for one in said] == [
        ("Agnes", "I'm vegetarian, order something without meat."),
        (USER, "team lunch is on Friday at 12"),
    ]


def test_a_message_in_german_is_its_authors() -> None:
    (said,) = utterances("WhatsApp von Wendelin: Ich bin ab Montag im Urlaub.")
    assert (said.speaker, said.text) == ("Wendelin", "Ich bin ab Montag im Urlaub.")


def test_a_date_does_not_end_a_sentence_before_its_time() -> None:
    (said,) = utterances("Termin: Mittwoch 25.11. 14 Uhr bei ihr")
    assert said.text == "Termin: Mittwoch 25.11. 14 Uhr bei ihr"


def test_a_forwarded_message_is_whose_name_it_has() -> None:
    (said,) = utterances("Forwarded message from Ola:\n> I booked the cottage for the holidays")
    assert (said.speaker, said.text) == ("Ola", "I booked the cottage for the holidays")


def test_what_is_put_straight_is_quoted_with_what_was_thought() -> None:
    first, _, last = utterances(
        "user: I think postgres 16 is what we run\nassistant: It says 15.7.\nuser: ah then postgres is 15.7"
    )
    assert last.quoted == "I think postgres 16 is what we run – ah then postgres is 15.7"
    assert vetoes([first, last]) == [Veto.HYPOTHESIS, None]


def test_output_of_programs_is_left_out() -> None:
    log = "GET /orders/7 took 12 ms\nlevel=info msg=started\nsshd[411]: accepted\nFAILED tests/test_a.py\nWARN old node"
    assert utterances(log) == []
