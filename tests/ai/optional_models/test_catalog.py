"""The catalog: every model can be fetched, found and used."""

import pytest

from memory_butler.ai.optional_models.catalog import DEEP_LOOK_MODEL, catalog, find_model, require_model
from memory_butler.errors import InvalidInput


def test_every_model_has_pinned_files() -> None:
    for model in catalog().values():
        assert "==" in model.package
        assert model.files
        assert all(len(file.sha256) == 64 for file in model.files.values())
        assert model.digest in {file.sha256 for file in model.files.values()}


def test_the_deep_look_is_a_cross_encoder_and_e5_is_multilingual() -> None:
    assert require_model(DEEP_LOOK_MODEL).kind == "cross-encoder"
    e5 = require_model("multilingual-e5-small")
    assert (e5.query_prefix, e5.passage_prefix, e5.calibration.is_multilingual) == ("query: ", "passage: ", True)


def test_names_are_found_in_any_case() -> None:
    assert find_model("MULTILINGUAL-E5-small") is require_model("multilingual-e5-small")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="no model 'gpt'") as problem:
        require_model("gpt")
    assert DEEP_LOOK_MODEL in problem.value.recovery
