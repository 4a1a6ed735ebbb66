"""Which sequence classifiers can be read, and how: config.json says what the model is, the weights get BERT's names.

Whatever does not fit is refused with its name. A graph that is almost the model would give scores that are almost
right, and nobody would notice.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_butler.ai.onnx_graph import Activation, Architecture, Classifier, Tensors, read_tensors
from memory_butler.errors import InvalidInput

# A serialised graph has at most 2 GB; a little of it is not weights.
MAX_WEIGHTS_BYTES = (2 << 30) - (16 << 20)
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
RECOVERY = (
    "Choose a cross-encoder that is a sequence classifier of one of these kinds, with one or two labels and its "
    "weights as one model.safetensors: {kinds}."
)


@dataclass(frozen=True)
class Family:
    """One kind of classifier: its name in config.json, and where it differs from BERT."""

    architecture: str
    head: Activation
    renamed: tuple[tuple[str, str], ...]
    segments: bool = True
    token_types: bool = True
    optional_dense: bool = False
    positions_after_padding: bool = False
    hidden_size: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    inner_size: str = "intermediate_size"
    activation: str = "hidden_act"
    epsilon: str = "layer_norm_eps"


OWN_HEAD = (("classifier.dense.", "pooler.dense."), ("classifier.out_proj.", "classifier."))
ROBERTA = (("roberta.pooler.", "unused."), *OWN_HEAD, ("roberta.", ""))
DISTILBERT = (
    ("distilbert.", ""),
    ("pre_classifier.", "pooler.dense."),
    ("transformer.layer.", "encoder.layer."),
    ("attention.q_lin.", "attention.self.query."),
    ("attention.k_lin.", "attention.self.key."),
    ("attention.v_lin.", "attention.self.value."),
    ("attention.out_lin.", "attention.output.dense."),
    ("sa_layer_norm.", "attention.output.LayerNorm."),
    ("ffn.lin1.", "intermediate.dense."),
    ("ffn.lin2.", "output.dense."),
    ("output_layer_norm.", "output.LayerNorm."),
)
# Checkpoints that came from TensorFlow.
OLD_NAMES = ((".gamma", ".weight"), (".beta", ".bias"))


def _like_roberta(architecture: str) -> Family:
    return Family(architecture, "tanh", ROBERTA, segments=False, positions_after_padding=True)


FAMILIES = {
    "bert": Family("BertForSequenceClassification", "tanh", (("bert.", ""),), optional_dense=True),
    "electra": Family("ElectraForSequenceClassification", "gelu", (*OWN_HEAD, ("electra.", ""))),
    "roberta": _like_roberta("RobertaForSequenceClassification"),
    "xlm-roberta": _like_roberta("XLMRobertaForSequenceClassification"),
    "camembert": _like_roberta("CamembertForSequenceClassification"),
    "distilbert": Family(
        "DistilBertForSequenceClassification",
        "relu",
        DISTILBERT,
        segments=False,
        token_types=False,
        hidden_size="dim",
        layers="n_layers",
        heads="n_heads",
        inner_size="hidden_dim",
        activation="activation",
    ),
}


@dataclass(frozen=True)
class ReadClassifier:
    """A model ready to become a graph; `positions` is how many tokens it can look at."""

    model: Architecture
    tensors: Tensors
    positions: int


def read_classifier(config: bytes, safetensors: bytes, where: str) -> ReadClassifier:
    """The classifier that these two files describe. `where` is what messages call it."""
    described = _parsed(config, where)
    family = _family(described, where)
    try:
        stored = read_tensors(safetensors)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as fault:
        raise _refused(f"{where}: model.safetensors cannot be read ({fault})") from fault
    tensors = _canonical(stored, family)
    if "classifier.weight" not in tensors:
        raise _refused(f"{where} has no weights for labels, so it is not a sequence classifier")
    labels = int(tensors["classifier.weight"].shape[0]) if tensors["classifier.weight"].shape else 0
    if labels not in (1, 2):
        raise _refused(f"{where} tells {labels} labels apart; a cross-encoder has one or two")
    if family.positions_after_padding:
        # The first positions belong to padding: a text's begin after them.
        first = _number({"pad_token_id": 1, **described}, "pad_token_id", where, least=0) + 1
        table = tensors.get("embeddings.position_embeddings.weight")
        if table is not None:
            tensors["embeddings.position_embeddings.weight"] = table[first:]
    dense = "pooler.dense.weight" in tensors or not family.optional_dense
    model = Architecture(
        layers=_number(described, family.layers, where),
        heads=_number(described, family.heads, where),
        dimensions=_number(described, family.hidden_size, where),
        epsilon=_epsilon(described, family, where),
        activation=_activation(described, family, where),
        segments=family.segments and len(tensors.get("embeddings.token_type_embeddings.weight", ())) > 1,
        classifier=Classifier(labels, family.head if dense else None),
    )
    if model.dimensions % model.heads:
        raise _refused(f"{where}: {model.heads} heads cannot share {model.dimensions} numbers evenly")
    shapes = _shapes(tensors, model, family, _number(described, family.inner_size, where))
    _require_shapes(tensors, dict(shapes), where)
    return ReadClassifier(model, tensors, len(tensors["embeddings.position_embeddings.weight"]))


def _parsed(config: bytes, where: str) -> dict[str, Any]:
    try:
        described = json.loads(config)
    except ValueError as fault:
        raise _refused(f"{where}: config.json cannot be read ({fault})") from fault
    if not isinstance(described, dict):
        raise _refused(f"{where}: config.json does not describe a model")
    return described


def _family(described: dict[str, Any], where: str) -> Family:
    kind = described.get("model_type")
    named = described.get("architectures") or [None]
    architecture = named[0] if isinstance(named, list) else named
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise _refused(f"{where} is of a kind that is not supported: {architecture or 'unnamed'} (model_type {kind!r})")
    if architecture != family.architecture:
        raise _refused(f"{where} is a {architecture or 'model without a name'}, not a {family.architecture}")
    if described.get("auto_map"):
        raise _refused(f"{where} needs program code of its own, which is never run")
    if described.get("is_decoder"):
        raise _refused(f"{where} is a {architecture} used as a decoder, which is not supported")
    if (how := described.get("position_embedding_type", "absolute")) != "absolute":
        raise _refused(f"{where} has {how} positions, which are not supported")
    return family


def _activation(described: dict[str, Any], family: Family, where: str) -> Activation:
    name = described.get(family.activation, "gelu")
    if name not in ACTIVATIONS:
        raise _refused(f"{where} uses the activation {name!r}, which is not supported")
    return ACTIVATIONS[name]


def _epsilon(described: dict[str, Any], family: Family, where: str) -> float:
    value = described.get(family.epsilon, 1e-12)
    if not isinstance(value, float | int) or not 0 <= value < 1:
        raise _refused(f"{where}: config.json has no usable {family.epsilon} ({value!r})")
    return float(value)


def _number(described: dict[str, Any], key: str, where: str, *, least: int = 1) -> int:
    value = described.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _refused(f"{where}: config.json has no usable {key} ({value!r})")
    return value


def _canonical(stored: Tensors, family: Family) -> Tensors:
    """The weights under the names that BERT gives them, in float32."""
    tensors: Tensors = {}
    for stored_name, value in stored.items():
        name = stored_name
        for old, new in (*family.renamed, *OLD_NAMES):
            name = name.replace(old, new)
        if np.issubdtype(value.dtype, np.floating):
            tensors[name] = value.astype("<f4", copy=False)
    return tensors


def _require_shapes(tensors: Tensors, shapes: dict[str, tuple[int, ...]], where: str) -> None:
    total = 0
    for name, shape in shapes.items():
        found = tensors.get(name)
        if found is None:
            raise _refused(f"{where}: model.safetensors has no {name} in a kind of number that can be used")
        if len(found.shape) != len(shape) or any(
            want not in (0, got) for want, got in zip(shape, found.shape, strict=True)
        ):
            said = "×".join(str(size or "any") for size in shape)
            raise _refused(f"{where}: {name} has the shape {'×'.join(map(str, found.shape))}, not {said}")
        total += found.nbytes
    if total > MAX_WEIGHTS_BYTES:
        raise _refused(f"{where} is too large: {total / 2**30:.1f} GB of weights, at most 2 can be used")


def _shapes(tensors: Tensors, model: Architecture, family: Family, inner: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every tensor the graph is built from, with its shape; 0 stands for any size."""
    width = model.dimensions
    words = tensors.get("embeddings.word_embeddings.weight")
    embedded = words.shape[-1] if words is not None and "embeddings_project.weight" in tensors else width
    for table in ("word", "position", *(("token_type",) if family.token_types else ())):
        yield f"embeddings.{table}_embeddings.weight", (0, embedded)
    yield from (("embeddings.LayerNorm.weight", (embedded,)), ("embeddings.LayerNorm.bias", (embedded,)))
    dense = {"embeddings_project": (width, embedded)} if "embeddings_project.weight" in tensors else {}
    norms = []
    for layer in range(model.layers):
        prefix = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense[f"{prefix}attention.{part}"] = (width, width)
        dense[f"{prefix}intermediate.dense"] = (inner, width)
        dense[f"{prefix}output.dense"] = (width, inner)
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
    assert model.classifier is not None
    if model.classifier.activation is not None:
        dense["pooler.dense"] = (width, width)
    dense["classifier"] = (model.classifier.labels, width)
    for name, shape in dense.items():
        yield from ((f"{name}.weight", shape), (f"{name}.bias", shape[:1]))
    for name in norms:
        yield from ((f"{name}.weight", (width,)), (f"{name}.bias", (width,)))


def _refused(reason: str) -> InvalidInput:
    kinds = ", ".join(family.architecture for family in FAMILIES.values())
    return InvalidInput(f"{reason}.", recovery=RECOVERY.format(kinds=kinds))
