"""Tiny sequence classifiers, the same everywhere: weights from a seed, a vocabulary of letters and a few words."""

import hashlib
import json
import string
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

Weights = dict[str, npt.NDArray[np.float32]]

WORDS = ["tea", "coffee", "the", "user", "likes", "in", "morning", "what", "does", "drink", "train", "at", "eight", "?"]
WIDTH, INNER, LAYERS, HEADS, POSITIONS = 32, 48, 2, 4, 64
KINDS = {
    "bert": "Bert",
    "electra": "Electra",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
}
LIKE_ROBERTA = ("roberta", "xlm-roberta", "camembert")
DISTILBERT_NAMES = {
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}


def tokenizer(kind: str = "bert") -> Tokenizer:
    roberta = kind in LIKE_ROBERTA
    special = ["<s>", "<pad>", "</s>", "<unk>"] if roberta else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = list(string.ascii_lowercase)
    vocabulary = [*special, *WORDS, *letters, *(f"##{letter}" for letter in letters), *string.digits]
    ids = {token: number for number, token in enumerate(vocabulary)}
    made = Tokenizer(WordPiece(ids, unk_token=special[3] if roberta else special[1]))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    made.add_special_tokens(special)
    first, last = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
    made.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}" if roberta else f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, ids[first]), (last, ids[last])],
    )
    # As published files often do; a reader that heeds it would cut too early and pad too much.
    made.enable_truncation(16)
    made.enable_padding(length=16)
    return made


def config(kind: str = "bert", labels: int = 1, **changed: Any) -> dict[str, Any]:
    described = {
        "model_type": kind,
        "architectures": [f"{KINDS[kind]}ForSequenceClassification"],
        "id2label": {str(label): f"LABEL_{label}" for label in range(labels)},
        "vocab_size": 100,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": 1 if kind in LIKE_ROBERTA else 0,
    }
    if kind == "distilbert":
        described |= {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER, "activation": "gelu"}
    else:
        described |= {
            "hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "intermediate_size": INNER,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-5 if kind in LIKE_ROBERTA else 1e-12,
            "type_vocab_size": 1 if kind in LIKE_ROBERTA else 2,
        }
    if kind == "electra":
        described["embedding_size"] = 24
    return described | changed


def weights(kind: str = "bert", labels: int = 1) -> Weights:
    """Every tensor from a seed of its own: large enough that different texts get clearly different scores."""
    base = {"xlm-roberta": "roberta", "camembert": "roberta"}.get(kind, kind)
    embedded = 24 if kind == "electra" else WIDTH
    shapes: dict[str, tuple[int, ...]] = {
        f"{base}.embeddings.word_embeddings.weight": (100, embedded),
        f"{base}.embeddings.position_embeddings.weight": (POSITIONS, embedded),
        f"{base}.embeddings.LayerNorm.weight": (embedded,),
        f"{base}.embeddings.LayerNorm.bias": (embedded,),
    }
    if kind != "distilbert":
        types = 1 if kind in LIKE_ROBERTA else 2
        shapes[f"{base}.embeddings.token_type_embeddings.weight"] = (types, embedded)
    dense = {f"{base}.embeddings_project": (WIDTH, embedded)} if kind == "electra" else {}
    layer = "transformer.layer" if kind == "distilbert" else "encoder.layer"
    for number in range(LAYERS):
        for part, other in DISTILBERT_NAMES.items():
            name = f"{base}.{layer}.{number}.{other if kind == 'distilbert' else part}"
            if part.endswith("LayerNorm"):
                shapes |= {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
            else:
                sizes = {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
                dense[name] = sizes.get(part, (WIDTH, WIDTH))
    head = {"bert": ("bert.pooler.dense", "classifier"), "distilbert": ("pre_classifier", "classifier")}
    first, last = head.get(kind, ("classifier.dense", "classifier.out_proj"))
    dense |= {first: (WIDTH, WIDTH), last: (labels, WIDTH)}
    for name, shape in dense.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: _numbers(name, shape) for name, shape in shapes.items()}


def _numbers(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    numbers = np.random.default_rng(seed).standard_normal(shape) * 0.25
    return (numbers + ("LayerNorm.weight" in name or "layer_norm.weight" in name)).astype(np.float32)


def safetensors(tensors: dict[str, npt.NDArray[Any]]) -> bytes:
    kinds = {"float64": "F64", "float32": "F32", "float16": "F16", "uint16": "BF16", "int8": "I8", "int64": "I64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in tensors.items():
        entry = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape)}
        header[name] = entry | {"data_offsets": [len(body), len(body) + value.nbytes]}
        body += value.tobytes()
    described = json.dumps(header).encode()
    return struct.pack("<Q", len(described)) + described + body


def write(folder: Path, kind: str = "bert", labels: int = 1, **changed: Any) -> Path:
    """A folder with the three files of a classifier; `changed` goes into its config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(kind, labels, **changed)))
    (folder / "model.safetensors").write_bytes(safetensors(weights(kind, labels)))
    tokenizer(kind).save(str(folder / "tokenizer.json"))
    return folder
