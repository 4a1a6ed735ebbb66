"""Opening a store: what cannot work is said at once."""

import pytest

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import InvalidInput
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import ScoreWeights


async def test_an_unknown_text_search_configuration_is_refused_when_the_store_opens(
    shared_resources: Resources,
) -> None:
    """Otherwise every search and every write would fail, one by one."""
    settings = shared_resources.settings
    retrieval = settings.retrieval.model_copy(update={"text_search": "klingon"})
    with pytest.raises(InvalidInput, match="klingon"):
        async with open_resources(settings.model_copy(update={"retrieval": retrieval}), embedder=FakeEmbedder()):
            pass


async def test_a_deprecated_setting_is_logged_when_the_store_opens(
    shared_resources: Resources, caplog: pytest.LogCaptureFixture
) -> None:
    """The old name works, and the log says which name to use."""
    weights = ScoreWeights.model_validate({"relevance": 0.4})
    retrieval = shared_resources.settings.retrieval.model_copy(update={"weights": weights})
    settings = shared_resources.settings.model_copy(update={"retrieval": retrieval})
    async with open_resources(settings, embedder=FakeEmbedder()):
        pass
    assert "rename it to retrieval.weights.fit" in caplog.text
