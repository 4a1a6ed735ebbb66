"""The domains: loaded from the package and the settings, embedded once, cached on disk."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_butler.ai.batching import Vectors
from memory_butler.ai.domains import DomainModel, load_domains, phrases_of
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.resources import Resources
from memory_butler.settings.retrieval import DomainSettings


class CountingEmbedder(FakeEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        return await super().embed(texts)


def test_the_shipped_domains_are_complete() -> None:
    """Every kind of work has phrases on both sides but answer style, which applies to all; none is there twice."""
    domains = {domain.name: domain for domain in load_domains({})}
    assert {"code", "messages", "food", "health", "travel", "answer_style"} <= set(domains)
    for name, domain in domains.items():
        assert len(domain.memories) >= 15 and (len(domain.tasks) >= 15) == (name != "answer_style")
        assert len(set(domain.tasks)) == len(domain.tasks) and len(set(domain.memories)) == len(domain.memories)
        assert domain.words and domain.tags


def test_settings_extend_and_add_domains() -> None:
    added = {
        "food": DomainSettings(tasks=("ferment cabbage",), words=("Kimchi",)),
        "beekeeping": DomainSettings(tasks=("check the hives",), memories=("The queen is from 2024.",), tags=("Bees",)),
    }
    domains = {domain.name: domain for domain in load_domains(added)}
    assert "ferment cabbage" in domains["food"].tasks and "kimchi" in domains["food"].words
    assert len(domains["food"].tasks) > 15
    assert domains["beekeeping"].tags == {"bees"}


async def test_phrases_are_embedded_once_and_cached(tmp_path: Path) -> None:
    """A second model reads the file; a damaged or foreign file is replaced."""
    embedder, domains = CountingEmbedder(), load_domains({})
    model = DomainModel(embedder, domains, tmp_path)
    first = await model.task_profile("cook dinner")
    count = embedder.embedded
    assert count == len(set(phrases_of(domains)))
    again = DomainModel(embedder, domains, tmp_path)
    assert (await again.task_profile("cook dinner") == first).all()
    assert embedder.embedded == count
    (file,) = tmp_path.glob("domains-*.npy")
    for damage in (b"", b"nonsense", file.read_bytes()[:5000]):
        file.write_bytes(damage)
        assert (await DomainModel(embedder, domains, tmp_path).task_profile("cook dinner") == first).all()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


async def test_a_caller_that_gives_up_does_not_stop_the_loading(tmp_path: Path) -> None:
    """A call with a short deadline on a slow machine: the next one finds the work done."""
    embedder = CountingEmbedder()
    model = DomainModel(embedder, load_domains({}), tmp_path)
    first = asyncio.create_task(model.phrases())
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await model.start()
    assert embedder.embedded == len(set(phrases_of(load_domains({}))))
    await model.close()


async def test_a_failed_load_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = DomainModel(FakeEmbedder(), load_domains({}), tmp_path)

    async def fail() -> None:
        raise TargetUnavailable("no model")

    with monkeypatch.context() as patched:
        patched.setattr(model, "_load", fail)
        with pytest.raises(TargetUnavailable):
            await model.phrases()
    assert (await model.phrases()).domains
    await model.close()


def test_a_version_stands_for_the_data_and_the_model(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    plain = DomainModel(embedder, load_domains({}), tmp_path)
    more = DomainModel(embedder, load_domains({"food": DomainSettings(words=("kimchi",))}), tmp_path)
    assert plain.version == DomainModel(embedder, load_domains({}), tmp_path).version
    assert plain.version != more.version
    assert 0 <= plain.version < 2**31


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("refactor the login handler", "code"),
        ("what can I cook for six people tonight", "food"),
        ("my ear has been hurting since Monday", "health"),
        ("write back to her and say that we are sorry", "messages"),
        ("trains to Prague next weekend", "travel"),
        ("file the tax return", "money"),
        ("roll back the release", "deployment"),
    ],
)
async def test_the_kind_of_work_is_recognised(real_resources: Resources, prompt: str, expected: str) -> None:
    profile = await real_resources.domains.task_profile(prompt)
    assert real_resources.domains.names[int(profile.argmax())] == expected


async def test_every_sentence_of_a_task_counts(real_resources: Resources) -> None:
    names = real_resources.domains.names
    profile = await real_resources.domains.task_profile("Fix the broken unit test. Then book a flight to Madrid.")
    assert profile[names.index("code")] > 0.4 and profile[names.index("travel")] > 0.4
    assert (await real_resources.domains.task_profile("hello")).max() < 0.6
