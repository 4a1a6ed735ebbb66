"""Loads the fitted salience model."""

import tomllib
from functools import cache
from importlib.resources import files

import numpy as np

from memory_butler.policy.consolidation.salience import Features, SalienceModel

DATA = "salience.toml"


@cache
def load_salience() -> SalienceModel:
    """The model of the package: `python -m benchmarks.salience --fit` writes it."""
    data = tomllib.loads(files(__package__).joinpath(DATA).read_text(encoding="utf-8"))
    weights = data["features"]
    return SalienceModel(
        features=np.array([weights[name] for name in Features._fields], np.float32),
        vector=np.array(data["vector"], np.float32),
        offset=data["offset"],
    )
