"""Memories in many languages in one store: found by other forms of their words, and nothing for what was never said."""

from collections.abc import AsyncIterator

import pytest
from tests.support import household

from memory_butler.models import MemoryType, NewEpisode, NewFact, NewRule, Question
from memory_butler.operations.retrieval import explain, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

FACTS = {
    "en": "The spare fuses are in the blue tin above the stove.",
    "de": "Die Ersatzbirnen liegen im Küchenschrank neben der Brotdose.",
    "es": "Mi hermana pintó las ventanas del desván de color verde.",
    "fr": "Le plombier a réparé les robinets de la buanderie en mars.",
    "it": "Lo zio coltiva pomodori e zucchine dietro il capannone.",
    "pt": "Deixei os pincéis da pintura na oficina do senhor Baltazar.",
    "nl": "De fietspomp staat in het tuinhuis achter de regenton.",
    "pl": "Ogrodnik przycina jabłonie w ostatnią sobotę lutego.",
    "tr": "Bahçedeki hortumu kiler kapısının arkasına koydum.",
    "ru": "Бабушка хранит варенье в погребе за лестницей.",
    "ja": "古い写真は押し入れの箱にしまってある。",
    "zh": "爷爷的象棋放在书房的柜子里。",
    "ko": "겨울 장갑은 현관 서랍에 넣어 두었다.",
    "ar": "أصلح النجار الخزانة القديمة في غرفة الضيوف.",
    "hi": "पुराने सिक्के लकड़ी की संदूक में रखे हैं।",
}
ASKED = {
    "Where do we keep a spare fuse?": "en",
    "In welchem Schrank der Küche ist die Birne?": "de",
    "¿Quién pinta la ventana?": "es",
    "Quand est-ce que le robinet a été réparé ?": "fr",
    "Dove crescono il pomodoro e la zucchina?": "it",
    "Onde está o pincel do Baltazar?": "pt",
    "Waar is de pomp voor mijn fiets?": "nl",
    "Kiedy przyciąć jabłoń?": "pl",
    "Bahçe hortumları nerede?": "tr",
    "Что лежит в погребах?": "ru",
    "写真をしまったのはどこ？": "ja",
    "象棋在哪里？": "zh",
    "장갑이 어디에 있지?": "ko",
    "من أصلح خزانة الضيوف؟": "ar",
    "सिक्का किस संदूक में है?": "hi",
    "Who is Baltazar?": "pt",
}
NEVER_MENTIONED = [
    "Wie heißt unser Steuerberater?",
    "¿Cuál es mi grupo sanguíneo?",
    "Quelle est la pointure de mon fils ?",
    "Qual è il mio gusto di gelato preferito?",
    "Jaki jest numer mojego paszportu?",
    "Doğum günüm ne zaman?",
    "Какой у меня размер обуви?",
    "好きな映画は何ですか？",
    "我的血型是什么？",
    "내 여권 번호가 뭐야?",
    "ما هو رقم جواز سفري؟",
]


@pytest.fixture(scope="module")
async def polyglot(shared_real_resources: Resources) -> AsyncIterator[Resources]:
    """A butler with the real model that was told something in many languages; its tests only read."""
    resources = household.own_tenant(shared_real_resources)
    for language, content in FACTS.items():
        await remember.fact(resources, NewFact(subject="user", predicate=f"told:{language}", content=content))
    yield resources


async def ask(resources: Resources, query: str) -> list[str]:
    found = await search.search(resources, Question(query=query), bump=False)
    return [entry.hit.content for entry in found.results]


@pytest.mark.parametrize(("query", "language"), ASKED.items(), ids=ASKED.values())
async def test_another_form_of_a_word_finds_it(polyglot: Resources, query: str, language: str) -> None:
    assert (await ask(polyglot, query))[:1] == [FACTS[language]]


@pytest.mark.parametrize("query", NEVER_MENTIONED)
async def test_what_was_never_said_returns_nothing(polyglot: Resources, query: str) -> None:
    assert await ask(polyglot, query) == []


async def test_an_explanation_says_that_words_decided(resources: Resources) -> None:
    kept = await remember.fact(resources, NewFact(subject="user", predicate="attic", content=FACTS["de"]))
    asked = Question(query="In welchem Schrank der Küche ist die Birne?")
    told = await explain.explain(resources, asked, f"fact:{kept.ref}")
    assert told.returned
    assert told.second_look is not None
    assert told.second_look.method == "words"


async def test_rules_and_episodes_are_found_too(resources: Resources) -> None:
    """Also in a script whose words PostgreSQL does not know."""
    rule = await remember.rule(resources, NewRule(content="อย่าลืมปิดหน้าต่างก่อนออกจากบ้าน"))
    episode = await remember.episode(resources, NewEpisode(content="Heute war der Schornsteinfeger da.", butler="main"))
    found = await search.search(resources, Question(query="ปิดหน้าต่างเมื่อไหร่"), bump=False)
    assert [entry.hit.id for entry in found.results] == [rule.id]
    asked = Question(query="Wann kamen die Schornsteinfeger?", types=(MemoryType.EPISODE,))
    found = await search.search(resources, asked, bump=False)
    assert [entry.hit.id for entry in found.results] == [episode.id]
