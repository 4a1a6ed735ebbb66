"""Opening a store: what cannot work is said at once."""

from typing import Any

import pytest

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import InvalidInput
from memory_butler.policy.trust.redaction import GROUPS, KINDS
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import ScoreWeights, Settings


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


@pytest.mark.parametrize(
    ("given", "place", "meant"),
    [
        ({"redaction": {"actions": {"aws_keys": "refuse"}}}, "redaction", "aws_key"),
        ({"tenants": {"acme": {"redaction": {"actions": {"ibann": "keep"}}}}}, "tenants.acme.redaction", "iban"),
        ({"butlers": {"chef": {"redaction": {"actions": {"cards": "keep"}}}}}, "butlers.chef.redaction", "card"),
    ],
)
async def test_an_unknown_kind_of_secret_is_refused_when_the_store_opens(
    shared_resources: Resources, given: dict[str, Any], place: str, meant: str
) -> None:
    """A misspelled kind would silently be treated like any other."""
    settings = Settings(home=shared_resources.settings.home, **given)
    with pytest.raises(InvalidInput, match=rf"{place}\.actions names .* no kind of secret") as refused:
        async with open_resources(settings, embedder=FakeEmbedder()):
            pass
    assert f"Did you mean {meant}?" in refused.value.recovery


async def test_kinds_groups_and_own_patterns_are_known(shared_resources: Resources) -> None:
    """Every kind that a detector finds, each group, all, and the names of own patterns, also of another level."""
    actions = {**dict.fromkeys(KINDS, "redact"), **dict.fromkeys(GROUPS, "redact"), "all": "redact", "badge": "keep"}
    own = {"redaction": {"actions": {"badge": "refuse", "plate": "keep"}, "patterns": {"plate": "[A-Z]{2}-[0-9]{4}"}}}
    settings = Settings(
        home=shared_resources.settings.home,
        redaction={"actions": actions, "patterns": {"badge": "B-[0-9]{6}"}},
        butlers={"chef": own},
    )
    async with open_resources(settings, embedder=FakeEmbedder()):
        pass
