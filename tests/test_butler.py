"""Opening a store: what cannot work is said at once."""

import pytest

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.butler import Butler, open_butler
from memory_butler.errors import InvalidInput


async def test_an_unknown_text_search_configuration_is_refused_when_the_store_opens(shared_butler: Butler) -> None:
    """Otherwise every search and every write would fail, one by one."""
    settings = shared_butler.settings
    retrieval = settings.retrieval.model_copy(update={"text_search": "klingon"})
    with pytest.raises(InvalidInput, match="klingon"):
        async with open_butler(settings.model_copy(update={"retrieval": retrieval}), embedder=FakeEmbedder()):
            pass
