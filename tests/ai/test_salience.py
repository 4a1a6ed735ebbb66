"""The shipped salience model."""

from memory_butler.ai.onnx_graph import DIMENSIONS
from memory_butler.ai.salience import load_salience
from memory_butler.policy.consolidation.salience import Features


def test_the_model_fits_the_features_and_the_vectors() -> None:
    model = load_salience()
    assert model.features.shape == (len(Features._fields),)
    assert model.vector.shape == (DIMENSIONS,)
    assert model.offset == model.offset
