"""Models: duration and batch size of each run, texts that wait, requests to language models."""

from typing import Final

from prometheus_client import Gauge, Histogram

from memory_butler.metrics.registry import REGISTRY

SECONDS: Final = Histogram(
    "memory_butler_model_seconds",
    "Duration of one run of a local model.",
    ["model"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5),
    registry=REGISTRY,
)
TEXTS: Final = Histogram(
    "memory_butler_model_batch_texts",
    "Texts in one run of a local model.",
    ["model"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
    registry=REGISTRY,
)
WAITING: Final = Gauge(
    "memory_butler_model_waiting_texts",
    "Texts that wait for a local model.",
    ["model"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
DISTILLER_SECONDS: Final = Histogram(
    "memory_butler_distiller_seconds",
    "Duration of one request to a distiller, by its kind.",
    ["distiller"],
    buckets=(0.01, 0.05, 0.25, 1, 5, 15, 60, 180),
    registry=REGISTRY,
)
