"""The models of earlier embedding versions are opened once, looked for again, and closed when nobody needs them."""

from memory_butler.ai.earlier_models import IDLE_SECONDS, RETRY_SECONDS, EarlierModels
from memory_butler.ai.embedding import Embedder, FakeEmbedder


class Closing(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


class Shelf:
    """Models that are there or not, a count of how often they were looked for, and a clock."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], Closing] = {}
        self.looked = 0
        self.now = 0.0

    def open(self, name: str, digest: str) -> Embedder | None:
        self.looked += 1
        return self.there.get((name, digest))


async def test_the_current_model_is_never_opened_again() -> None:
    """Other passages of the same model are compared with its own vectors."""
    shelf, current = Shelf(), FakeEmbedder()
    models = EarlierModels(current, shelf.open)
    assert await models.find(current.version.name, current.version.digest) is current
    assert shelf.looked == 0


async def test_a_model_is_opened_once_and_a_missing_one_looked_for_again() -> None:
    """It may be fetched while the program runs."""
    shelf = Shelf()
    models = EarlierModels(FakeEmbedder(), shelf.open, lambda: shelf.now)
    assert [await models.find("old", "1") for _ in range(2)] == [None, None]
    assert shelf.looked == 1
    old = shelf.there["old", "1"] = Closing()
    assert await models.find("old", "1") is None
    shelf.now += RETRY_SECONDS
    assert [await models.find("old", "1") for _ in range(2)] == [old, old]
    assert shelf.looked == 2


async def test_a_model_that_no_search_needs_is_closed() -> None:
    """Not one in use; with the program, all of them."""
    shelf = Shelf()
    models = EarlierModels(FakeEmbedder(), shelf.open, lambda: shelf.now)
    for name in ("old", "older"):
        shelf.there[name, "1"] = Closing()
        await models.find(name, "1")
    shelf.now += IDLE_SECONDS
    await models.find("old", "1")
    await models.close_idle()
    assert [one.closed for one in shelf.there.values()] == [0, 1]
    await models.close()
    assert [one.closed for one in shelf.there.values()] == [1, 1]
