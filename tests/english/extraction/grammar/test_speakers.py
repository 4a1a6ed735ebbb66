"""Speakers: labels, reports and headers of mails."""

import pytest

from memory_butler.english.extraction.grammar.speakers import (
    ASSISTANT,
    SOMEBODY,
    USER,
    closes_mail,
    forwarded_from,
    is_forwarded,
    is_header,
    label_at,
    mail_author,
    quote_lead,
    reported,
    signature,
    speaker_of,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("User: I like tea", USER),
        ("Ich: Ich mag Tee", USER),
        ("Assistant: noted", ASSISTANT),
        ("Anna: I'm celiac", "Anna"),
        ("Plumber: 0171 555", None),
        ("Allergies: nuts", None),
    ],
)
def test_a_label_names_the_speaker_or_is_a_heading(line: str, expected: str | None) -> None:
    """A label that nobody knows before "I" is one of somebody else."""
    label = label_at(line)
    assert label is not None
    assert speaker_of(label, line[label.end :], conversation=False, assisted=False) == expected


def test_reports_name_whose_words_follow() -> None:
    assert reported("Tom wrote: I am late") == ("Tom", 11)
    assert reported("the page says: always pay") == (SOMEBODY, 15)
    assert reported("I had a coffee") is None


def test_mails_name_their_author() -> None:
    assert is_forwarded("---------- Forwarded message ---------")
    assert mail_author("From: Jane Doe <jane@fern.example>") == "Jane Doe"
    assert mail_author("From Porto to Lisbon") is None
    assert is_header("Subject: Policy")
    assert quote_lead("On Tue, 3 March 2026, Jane Doe wrote:") == "Jane Doe"


@pytest.mark.parametrize("line", ["Kind regards, Jane", "Viele Grüße", "Regards, HR", "Saludos", "Sent from my phone"])
def test_closings_of_letters(line: str) -> None:
    assert closes_mail(line)


@pytest.mark.parametrize("line", ["Thanks to Anna we have a key.", "The key is with Jane"])
def test_sentences_close_no_letter(line: str) -> None:
    assert not closes_mail(line)


def test_the_sender_of_a_forwarded_mail() -> None:
    """A single word after "Fwd:" is its subject."""
    assert forwarded_from("Fwd from Ann Lee:") == "Ann Lee"
    assert forwarded_from("FW: Régie Naef") == "Régie Naef"
    assert forwarded_from("Fwd: Re: rota") == SOMEBODY
    assert forwarded_from("we moved forward: all good") is None


def test_the_signature_of_a_letter() -> None:
    assert signature(["the joists are late", "Cheers, Steff"]) == "Steff"
    assert signature(["see you", "Kind regards,", "Jane Doe", "Sales"]) == "Jane Doe"
    assert signature(["Thursdays are out. – Inès"]) == "Inès"
    assert signature(["no name here, thanks"]) == ""
