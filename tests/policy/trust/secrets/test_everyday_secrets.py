"""Codes of doors and passwords of networks that are given without the word for them."""

import pytest

from memory_butler.policy.trust.redaction import redact

SECRETS = {
    "pin for the drug safe is 1234 and wifi in the surgery is peatsmoke22": ("1234", "peatsmoke22"),
    "the gate is 2580": ("2580",),
    "the alarm code at the studio is 9917# and the gate is 2580": ("9917", "2580"),
    "the wifi is called Nest and the pass is tulips-in-june": ("tulips-in-june",),
    "pass is tulips-in-june": ("tulips-in-june",),
    "code de l'immeuble 38B47": ("38B47",),
    "Le nouveau code de l'immeuble c'est 38B47": ("38B47",),
    "wifi: heronlake99": ("heronlake99",),
    "guest wifi = BlueHeron!7": ("BlueHeron!7",),
    "WLAN in der Praxis ist torfrauch22": ("torfrauch22",),
    "El wifi es girasol88": ("girasol88",),
    "the front door is 5512 and the shed is 8841": ("5512", "8841"),
    "key safe is 0912 by the back door": ("0912",),
    "alarm is 7731, disarm within 30s": ("7731",),
    "Grandma's iPad unlocks with 512483, she keeps forgetting it.": ("512483",),
    "das Tablet wird entsperrt mit 4711": ("4711",),
    "The combination of the bike lock is 7782.": ("7782",),
    "Guest wifi: network Nordlicht, key moose-field-tea": ("moose-field-tea",),
}
LOOK_ALIKES = [
    "the wifi is down again",
    "the wifi is called Nest",
    "wifi is 5GHz only",
    "wifi is 802.11ac",
    "wifi is WPA2",
    "wifi is included, parking is 15 euros",
    "the wifi is on channel 11",
    "the gate is 2100 mm wide",
    "the gate is A24 at 10:15",
    "the door is 2020 vintage",
    "the door is RAL7016",
    "the shed is 1987",
    "the safe is 1200 euros",
    "the garage is 2500 a month",
    "alarm is 0630",
    "the mountain pass is closed until june",
    "the train pass is 49 euros",
    "my pass is valid until 2027",
    "the shop opens with 40 employees",
    "the festival opens with 2000 people on stage",
    "the wifi key fob is grey",
]


@pytest.mark.parametrize("text", SECRETS)
def test_everyday_secrets_are_redacted(text: str) -> None:
    left = redact(text).text
    assert not [value for value in SECRETS[text] if value in left], left
    assert left.count("[redacted: ") == len(SECRETS[text])


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alikes_stay(text: str) -> None:
    assert redact(text).text == text
