"""Secrets that a sentence tells at some distance from their name."""

import pytest
from tests.support.growth import assert_linear

from memory_butler.policy.trust.redaction import redact

SECRETS = {
    "btw I changed the router pw again, now it's Badger-481": "Badger-481",
    "To get into the cellar, punch in 68291 and wait.": "68291",
    "The lockbox is by the gate, its code: 3149.": "3149",
    "Pour l'alarme de la cave, il faut taper 7951.": "7951",
    "Heslo na router je vlastovka981.": "vlastovka981",
    "Wifin salasana on mansikka481.": "mansikka481",
    "The kids' tablet opens with 5461.": "5461",
    "Root on the NAS is Bramble-7Gp0-412.": "Bramble-7Gp0-412",
    "el candado de la moto se abre con el 1641.": "1641",
    "Für den Safe im Keller gilt ab heute der Code 482913.": "482913",
    "tom: same mail as ever, Lampshade!48": "Lampshade!48",
    "Mi clave del banco es 640561.": "640561",
    "- name: ROOT_PW\n  value: D7mnKYE4WsCq9u": "D7mnKYE4WsCq9u",
    '{"name": "ADMIN_PASSWORD", "value": "K7whn6bP4j2o"}': "K7whn6bP4j2o",
    "ALTER USER 'bo' IDENTIFIED BY 'K7whn6bP4j2o'": "K7whn6bP4j2o",
    "echo 'bo:K7whn6bP4j2o' | sudo chpasswd": "K7whn6bP4j2o",
    "mc alias set home http://nas:9000 admin K7whn6bP4j2ozP9e": "K7whn6bP4j2ozP9e",
    'Client(auth=("bo", "C7EvaJ34K95N90"))': "C7EvaJ34K95N90",
    "influx auth list -t K7whn6bP4j2ozP9eK7whn6bP4j2ozP9e==": "K7whn6bP4j2ozP9eK7whn6bP4j2ozP9e",
    "ipmitool -H 10.0.0.9 -U root -P K7whn6bP4j power on": "K7whn6bP4j",
}
LOOK_ALIKES = [
    "import pwd  # noqa: PLC0415 (not on Windows)",
    "we pin to 20240115 builds",
    "the password for the server web01 is in the vault",
    "log in with user42, then open Settings",
    "Le code postal du garage est 75011.",
    "the gate code changes on 1 March 2026",
    "docker run -u node -p 8080:80 image",
    "docker run -u 1000:1000 -p 127.0.0.1:5432:5432 postgres:16",
    "ssh -i ~/.ssh/deploy_key root@10.0.0.4",
    "press 1234 people came to the fair by the gate in 2019",
    "the door was painted in 2019",
    "same mail as last year, room B2104!",
    "the alarm's battery lasts 18 months",
    "root on zfs needs kernel6.1",
    "- name: PASSWORD_FILE\n  value: /run/secrets/db",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_told_away_from_their_name_are_redacted(text: str) -> None:
    left = redact(text).text
    assert SECRETS[text] not in left
    assert "[redacted: " in left


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alikes_stay(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "pump", ["pw is ", "the gate door code ", "user a1!b", "-u a -p b1 ", "x-key-", "login a ", "'s "]
)
def test_time_is_linear_for_pumped_input(pump: str) -> None:
    whole = f"{pump * (20_000 // len(pump))}7"
    assert_linear(lambda size: redact(whole[-size:]), 2_000, 20_000)
