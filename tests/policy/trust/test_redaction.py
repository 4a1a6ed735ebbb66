"""Redaction finds secrets of many kinds, leaves look-alikes alone, and takes linear time."""

import re
from collections import Counter

import pytest
from benchmarks.trust.generated import case
from benchmarks.trust.redaction import leaks, lookalike_cases, second_lookalikes, second_secrets, secret_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import assert_linear, assert_quick

from memory_butler.policy.trust.redaction import (
    Action,
    RedactionPolicy,
    group_of,
    has_secret,
    redact,
    redact_identifier,
    redact_token,
    redact_values,
)

SECRETS = [
    "The password is hunter2",
    "my password for the wifi is blue-horse-12",
    "DB_PASSWORD=s3cr3t",
    "PIN: 4711",
    "The door code is 8899",
    "the verification code was 123456",
    "use sk-proj-abcdefghijklmnop123456 there",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "token mbt_0123456789abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Authorization: Bearer abcdefghijklmnop",
    "postgresql://anna:geheim@db.example.org/app",
    "card 4111 1111 1111 1111",
    "Please set the root password to Zebra77-Quokka.",
    "I changed the database password to correct-horse",
    "The password for staging will be quokka",
    "The secret for the webhook is Zebra77-Quokka",
    "our client secret is 77zebra",
    "The token is zebra77quokka",
    "Use the password hunter2",
    "Always run PGPASSWORD=Zebra77Quokka psql before you deploy.",
    "SSHPASS=quokka sshpass -e ssh prod",
    "curl -u admin:quokka https://example.org",
    "mysql -uroot -pquokka shop",
    "docker login -u ci -p quokka registry.example.org",
    "gh auth login --token quokka",
    "The admin password has been changed to quokka",
    "the password will now be quokka",
    "the password for staging was reset to quokka",
    "MYSQL_PWD=quokka mysql shop",
    "`--password 'quokka'`",
    "my pin code 4711",
    "Das Passwort ist Zebra",
    "Das Kennwort für den Router lautet zebra",
    "le mot de passe est quokka",
    "la contraseña es quokka",
    "a senha é quokka",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
]
HARMLESS = [
    "I forgot my password again.",
    "The password is stored in the vault.",
    "The token is expired.",
    "Passwords are not to be shared.",
    "Fixed in commit 0123456789abcdef0123456789abcdef01234567.",
    "The id is 01932f6e-8c1b-7a52-9c55-0f4d8b1f2a3c.",
    "See src/memory_butler/policy/session_episode.py and MyComponentWithAVeryLongName.",
    "Call me on +351 912 345 678.",
    "We met on 2026-03-01 at 09:30.",
    "The secret of a good bread is time.",
    "https://example.org/path?page=2",
    "Her pin cushion is red.",
    "Reset the password to log in again.",
    "The password reset takes 10 minutes.",
    "The token bucket is full.",
    "The secret is to start early.",
    "docker run -u 1000:1000 image",
    "cp -p a b, then mkdir -p src/policy",
    "The login page takes -p as a prefix in our notation",
    "Das Passwort ist falsch.",
    "Pin the version to 2.4.1 in the lock file.",
    "Rotate the tokens every month.",
    "Always pin numpy==1.26.4 in constraints.txt.",
    "Pin actions/checkout@v4 by its hash.",
    "We pin python3.11 here.",
    "set the session token lifetime to 15 minutes",
    "We switched password hashing to bcrypt.",
    "Passwords must be unique.",
    "A password must be 12 characters long.",
    "The password should be rotated.",
    "The password has been changed to match the policy.",
    "docker run --user app:app image",
    "Use the --token flag.",
    "BYPASS=1 COMPASS_HOME=/opt TESTS_PASSED=12 make",
    "run mysql, then mkdir -p data",
    "The password policy asks for 12 characters.",
]
# Pieces of the patterns: repeated, they make a backtracking matcher slow. A tilde stands for a line break.
_WORDS = """
a 1 - A1 _ = : / . , ; ' ` ( [ { < $ @ # ab- 1- 12 1234 1234- 4111. DE12 A1B2 eyJ- eyJa. -eyJ ghp_
gh AKIA sk- xoxb- xoxb-1- ://a: ://a:b @: key- -u $6$ $2a$ password= password: token= secret: pass: --auth= ac0
pin: パスワードは 密码 пароль é ß İ ４ cookie: a=b; -----BEGIN WIFI: WIFI:;P: {sha} -p --password= login/ SG.
M. 1// A2- 0x hooks.slack.com/ otpauth: 756. 1.1. DB_PASSWORD= DB_PASSWORD_ <password>
host:5432:a:b: [redacted:
"""
_PHRASES = """
word |my |password |password is |password for |the password of |password: a |token |secret is |
pin code |code for the |code for the a b |mysql -u |docker login |login a / |login: a|login is |
bearer |basic a|Authorization: Bearer |cookie: |cookie: a=1234567a; |security question |answer: |
-----BEGIN RSA PRIVATE KEY-----~|-----BEGIN PRIVATE KEY----- -----END|abandon |abandon~|1. abandon |
openssl -k |openssl a |echo aaaaaa1 |echo a1 > |htpasswd -b a b |smbclient -u a%|jdbc:oracle:thin:a/b|
hasło do a |lösenord |combination of the a |unlocks the a |unlocks with |wifi key |
ssn |ssn 1|passport number |4111 1111 |1234567890~1234567890|aaaaaaaaaa~|recovery codes: a1b2 |
a1b2, |set the password |changed |use a as the |use aaaa1 as the password |net use /user:a |
authorization: a |String::from("|code van het a |set the safe to |code de la a |api key a1b2c3d4-|auth a1b2c3d4_|
</key> |pin карты |password -- |password: >-~|a1b2c3d4e5f6 ~> |zip -p a |seed phrase: abandon |a.b:5432:a:b:c~|
[redacted: password]|
"""
PUMPS = [*_WORDS.split(), " ", "\n", "\t", "\u200b", *(one for one in _PHRASES.replace("\n", "").split("|") if one)]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_found(text: str) -> None:
    """Passwords, keys, tokens, cards and addresses with a password in them, alone and in a sentence."""
    assert has_secret(text) and has_secret(f"By the way, {text}")


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_kept(text: str) -> None:
    """Sentences about secrets, commits, ids, paths, phone numbers and dates stay as they are."""
    assert redact(text).text == text


@pytest.mark.parametrize("held_out", [False, True])
def test_the_labelled_set_is_redacted(held_out: bool) -> None:
    """At least 95 % of the secrets of each half are removed, and at most 1 % of the look-alikes are touched."""
    secrets = [one for _, one in secret_cases() if one.held_out is held_out]
    removed = [one for one in secrets if not leaks(one, redact(one.text).text)]
    assert len(secrets) > 100 and len(removed) >= 0.95 * len(secrets)
    others = [one for _, one in lookalike_cases() if one.held_out is held_out]
    touched = [one.text for one in others if redact(one.text).text != one.text]
    assert len(others) > 100 and len(touched) <= 0.01 * len(others), touched


def test_the_second_set_is_redacted() -> None:
    """The set that was written without a look at the detectors; with other values, too."""
    for salt in ("", "other values"):
        secrets = [one for _, one in second_secrets(salt)]
        missed = [one.text for one in secrets if leaks(one, redact(one.text).text)]
        assert len(secrets) >= 120 and len(missed) <= 0.05 * len(secrets), missed
    others = [one.text for _, one in second_lookalikes()]
    touched = [text for text in others if redact(text).text != text]
    assert len(others) >= 120 and len(touched) <= 0.01 * len(others), touched


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hasło do panelu to Borsuk!4018.", "Hasło do panelu to [redacted: password]."),
        ("Het wachtwoord van de kluis is Tulp!553.", "Het wachtwoord van de kluis is [redacted: password]."),
        ("Mon code PIN est le 4959.", "Mon code PIN est le [redacted: pin]."),
        ("NHS number 468 576 7330 for the GP", "NHS number [redacted: uk_nino] for the GP"),
        ("my SIN is 520 627 175 for payroll", "my SIN is [redacted: ca_sin] for payroll"),
        ("openssl enc -aes-256-cbc -k F7HrZmym -in a", "openssl enc -aes-256-cbc -k [redacted: password] -in a"),
        ("echo Gl0cke97turm > /run/secrets/db", "echo [redacted: password] > /run/secrets/db"),
        (
            "jdbc:oracle:thin:scott/t1gerPaw@//db:1521/ORCL",
            "jdbc:oracle:thin:scott/[redacted: password]@//db:1521/ORCL",
        ),
        ("mitt lösenord är Fjäll2029x", "mitt lösenord är [redacted: password]"),
        (
            "abandon ability able about above absent absorb abstract absurd abuse access accident We keep it safe.",
            "[redacted: seed_phrase] We keep it safe.",
        ),
        ("La contraseña es la misma.", "La contraseña es la misma."),
        ("we pin to 20240115 builds", "we pin to 20240115 builds"),
        ("echo done > token.txt", "echo done > token.txt"),
        ("mosquitto_sub -h broker -p 1883", "mosquitto_sub -h broker -p 1883"),
        ("52 base58 letters: KC7ALJ3itoTksWjmteCjeiBX4zYa55TSUkmddDCtwWpz5jH97xYbQ", None),
    ],
)
def test_forms_that_a_second_look_found(text: str, expected: str | None) -> None:
    """Prose of further languages, numbers that run into words, command lines; what only looks like one stays."""
    assert redact(text).text == (text if expected is None else expected)


def test_markers_name_the_kind_and_counts_have_no_values() -> None:
    """A secret becomes a typed marker; the result counts by kind."""
    key = case("aws", "AK|IA{A16}").text
    found = redact(f"Use {key} and {key}; my PIN is 4711.")
    assert found.text == "Use [redacted: aws_key] and [redacted: aws_key]; my PIN is [redacted: pin]."
    assert found.counts == {"aws_key": 2, "pin": 1}


def test_a_private_key_goes_as_a_whole() -> None:
    """A key over several lines is replaced with its frame, also when its end is missing."""
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n"
    assert (
        redact(f"before\n{block}-----END RSA PRIVATE KEY-----\nafter").text == "before\n[redacted: private_key]\nafter"
    )
    assert redact(f"before\n{block}").text.rstrip() == "before\n[redacted: private_key]"


def test_hidden_characters_and_wide_digits_hide_nothing() -> None:
    """Zero-width characters inside a token and full-width digits do not keep a secret from being found."""
    key = case("aws", "AK|IA{A16}").text
    hidden = "\u200b".join(key)
    assert redact(f"key {hidden} there").text == "key [redacted: aws_key] there"
    assert redact("card ４１１１ １１１１ １１１１ １１１１").text == "card [redacted: card_number]"


def test_the_policy_decides_by_kind_group_pattern_and_allow_list() -> None:
    """Kinds can be kept, refused or quarantined; own patterns and allowed values are honoured."""
    iban = case("iban", "{iban}").text
    policy = RedactionPolicy(
        actions={"bank_account": Action.KEEP, "pin": Action.REFUSE, "badge": Action.QUARANTINE},
        patterns=(("badge", re.compile(r"B-\d{4}")),),
        allow=("hunter2", "demo-*"),
    )
    found = redact(f"{iban}, PIN 4711, badge B-1234, password: hunter2, password: demo-77", policy)
    assert found.text == f"{iban}, PIN [redacted: pin], badge [redacted: badge], password: hunter2, password: demo-77"
    assert (found.refused, found.quarantined) == (("pin",), ("badge",))
    assert [group_of(kind) for kind in ("iban", "card_number", "us_ssn", "jwt")] == [
        "bank_account",
        "card",
        "national_id",
        "credential",
    ]


def test_nested_values_are_redacted_by_their_keys() -> None:
    """The key of a value is its context, at any depth, also for numbers."""
    counts: Counter[str] = Counter()
    given_value = {"db": {"password": "hunter22", "port": 5432, "pins": [1]}, "pin": 4711, "n": 3, "on": True}
    assert redact_values(given_value, RedactionPolicy(), counts) == {
        "db": {"password": "[redacted: password]", "port": 5432, "pins": [1]},
        "pin": "[redacted: pin]",
        "n": 3,
        "on": True,
    }
    assert counts == {"password": 1, "pin": 1}


def test_ids_lose_only_certain_secrets() -> None:
    """Random characters are usual in ids; a token of a vendor is not."""
    token = case("github", "gh|p_{x36}").text
    assert redact_token("req-9f8a7b6c5d4e3f2a1b0c").text == "req-9f8a7b6c5d4e3f2a1b0c"
    assert redact_token(f"session-{token}").text == "session-[redacted: github_token]"
    assert redact_identifier("req-9f8a7b6c5d4e3f2a1b0c").text == "req-9f8a7b6c5d4e3f2a1b0c"
    assert redact_identifier("the gate is 2580").text == "the gate is [redacted: access_code]"
    assert redact_identifier("DB_PASSWORD=s3cr3t").text == "DB_PASSWORD=[redacted: password]"


_PIECES = st.sampled_from([one.text for _, one in [*secret_cases(), *lookalike_cases()]])


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("the newsletter key is {}, see the job", "b801146a6ff5f1915077f13cc13c9491"),
        ("SPARK_KEY {}", "98accc282d8143a6a6517679a341b3fd922e912a"),
        ("post_item: {} # access_token", "0f313b131a8c94fdfb108e48f844860e"),
        ("Authorization: GenieKey {}", "47721d52-f45d-c2ef-6e30-b9f46ff2c0bd"),
        ("pays with live_{}", "F7QzPOTntNbOnxQ4O96aaWAnGbNS9o"),
        ("password: >-\n  {}", "H7rDi8sh4nn1EQ9m"),
        ('{{\\"client_secret\\": \\"{}\\"}}', "E7ySyyDwxHwauc4fVQHwXS4Hrd9A"),
        ("<key>ApiSecret</key>\n<string>{}</string>", "H7xGi42FN3OEU41rjRP6OdGS9d"),
        ('SECRET = b"{}"', "P7d4DxTxzkki4YlcPGFY919i"),
        ('let api_key = String::from("{}");', "Y76by3ERKo4I32I34l2Vz4XYOMAPn59y"),
        ("API KEY ==> {}", "N7qUb7XAS7SQLnf54QqkT1fNI6HasQ91"),
        ("The cabin door opens with {}.", "2976#"),
        ("His locker code? {}.", "1480"),
        ("I set the safe to {}.", "12-34-56"),
        ("De code van het slot is {}.", "4711"),
        ("Пин-код карты {}.", "6045"),
        ("Mijn wachtwoord is nu {}.", "Egel7471"),
    ],
)
def test_a_secret_is_known_by_what_is_said_around_it(text: str, secret: str) -> None:
    assert secret not in redact(text.format(secret)).text


@pytest.mark.parametrize("gap", ["\n", "  \n> ", "\\\n", "`\n`", "<br>\n", "\n- ", "**\n**", "\r\n    "])
def test_a_token_over_two_lines_of_markdown(gap: str) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    found = redact(f"> the token is {token[:20]}{gap}{token[20:]} for now")
    assert token[:20] not in found.text
    assert token[20:] not in found.text
    assert found.text.endswith(" for now")


@pytest.mark.parametrize(
    "text",
    [
        "api key check failed at commit 98accc282d8143a6a6517679a341b3fd922e912a",
        "the key is in the folder with id 01932f6e-8c1b-7a52-9c55-0f4d8b1f2a3c",
        "-----BEGIN PUBLIC KEY-----\nMIIBI7HCGjyG29grROTu1qIB1Z66hQZ2fp4DZfBM\n-----END PUBLIC KEY-----",
        "パスワードは毎月変更してください。",
        "Le code postal de Lyon est 69001.",
        "set the alarm to 0630",
    ],
)
def test_random_characters_that_are_no_secret_stay(text: str) -> None:
    assert redact(text).text == text


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=30)), min_size=1, max_size=4), st.sampled_from(["\n", " ", ". "]))
def test_redaction_is_idempotent(pieces: list[str], glue: str) -> None:
    """A redacted text is not changed by a second redaction."""
    once = redact(glue.join(pieces)).text
    assert redact(once).text == once


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 10_000))
def test_a_planted_token_never_stays(before: str, after: str, seed: int) -> None:
    """Whatever stands around it, a token of a vendor is removed."""
    token = case("github", "gh|p_{x36}" + " " * (seed % 7)).text.strip()
    assert token not in redact(f"{before} {token} {after}").text


@pytest.mark.parametrize("pump", PUMPS)
def test_time_is_linear_for_pumped_input(pump: str) -> None:
    """Time grows with the length, up to the longest text that can be stored."""
    whole = pump.replace("~", "\n") * 20_000
    assert_linear(lambda size: redact(whole[:size]), 2_000, 20_000)
    assert_quick(lambda: redact(whole[:20_000]), 0.4)


def test_words_may_follow_a_key_without_its_last_line() -> None:
    """The lines of the key go, the sentence stays."""
    key = case("pem", "{pem}").text
    found = redact(f"-----BEGIN EC PRIVATE KEY-----\n{key} We always test first.").text
    assert found == "[redacted: private_key] We always test first."
