"""Profiles of tasks and memories: loads the domains, embeds their phrases once, and caches the vectors on disk."""

import asyncio
import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np

from memory_butler.ai.batching import Vectors
from memory_butler.ai.embedding import Embedder
from memory_butler.ai.weights import READY_PACKAGE, package_folder
from memory_butler.english.text.sentences import sentence_spans
from memory_butler.policy.briefing.domains import Domain, DomainPhrases, Profile

DATA = "domains.toml"
# The vectors of these phrases in the package of the model, so that a new store embeds none.
SHIPPED_VECTORS = "phrases.npz"
DIGEST_BYTES = 12
# Of a long prompt its first sentences say what is wanted.
MAX_SENTENCES = 4
MIN_SENTENCE_CHARACTERS = 8


class DomainText(Protocol):
    """A domain that the settings add or extend."""

    @property
    def tasks(self) -> Sequence[str]: ...
    @property
    def memories(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def verbs(self) -> Sequence[str]: ...
    @property
    def tags(self) -> Sequence[str]: ...


def load_domains(added: Mapping[str, DomainText]) -> tuple[Domain, ...]:
    """The domains of the package, extended and followed by those of the settings."""
    shipped = tomllib.loads(files(__package__).joinpath(DATA).read_text(encoding="utf-8"))
    domains = {
        name: Domain(
            name=name,
            tasks=tuple(data["tasks"]),
            memories=tuple(data["memories"]),
            words=frozenset(data["words"].split()),
            verbs=frozenset(data["verbs"].split()),
            tags=frozenset(data["tags"].split()),
            is_software=data.get("is_software", False),
            implies=data.get("implies", {}),
        )
        for name, data in shipped.items()
    }
    for name, own in added.items():
        known = domains.get(name, Domain(name=name))
        domains[name] = replace(
            known,
            tasks=(*known.tasks, *own.tasks),
            memories=(*known.memories, *own.memories),
            words=known.words.union(word.casefold() for word in own.words),
            verbs=known.verbs.union(verb.casefold() for verb in own.verbs),
            tags=known.tags.union(tag.casefold() for tag in own.tags),
        )
    return tuple(domains.values())


def phrases_of(domains: Sequence[Domain]) -> list[str]:
    """All phrases, in the order in which their vectors are kept."""
    return [phrase for domain in domains for phrase in (*domain.tasks, *domain.memories)]


def phrase_digest(phrase: str) -> bytes:
    return hashlib.sha256(phrase.encode()).digest()[:DIGEST_BYTES]


def shipped_vectors(version: str, folder: Path | None = None) -> dict[bytes, Vectors]:
    """The vectors that the package of the model has for this version of the model, by digest of the phrase."""
    folder = folder or package_folder(READY_PACKAGE)
    try:
        with np.load((folder or Path()) / SHIPPED_VECTORS, allow_pickle=False) as data:
            if folder is None or str(data["version"]) != version:
                return {}
            return dict(zip(map(bytes, data["digests"]), data["vectors"].astype(np.float32), strict=True))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}


class DomainModel:
    """Computes profiles. The phrases are embedded at first use, which takes less than a second."""

    def __init__(self, embedder: Embedder, domains: tuple[Domain, ...], cache: Path) -> None:
        self._embedder = embedder
        self._domains = domains
        self._cache = cache
        self._loading: asyncio.Task[DomainPhrases] | None = None

    @cached_property
    def _digest(self) -> str:
        embedding = self._embedder.version
        return self._digest_under(embedding.name, embedding.digest)

    def _digest_under(self, model: str, digest: str) -> str:
        data = [[d.name, d.tasks, d.memories, sorted(d.words), sorted(d.verbs), sorted(d.tags)] for d in self._domains]
        return hashlib.sha256(json.dumps([model, digest, data]).encode()).hexdigest()

    @cached_property
    def version(self) -> int:
        """Identity of the domains and the model. Profiles of different domains cannot be compared."""
        return int(self._digest[:7], 16)

    def version_under(self, model: str, digest: str) -> int:
        """The same with another embedding model. Its profiles are on the same scale."""
        return int(self._digest_under(model, digest)[:7], 16)

    @property
    def names(self) -> list[str]:
        return [domain.name for domain in self._domains]

    @property
    def unknown_task(self) -> Profile:
        """The profile of a task whose kind of work cannot be told."""
        return np.zeros(len(self._domains), np.float32)

    async def task_profile(self, prompt: str) -> Profile:
        phrases = await self.phrases()
        spans = (prompt[start:end].strip() for start, end in sentence_spans(prompt))
        parts = [part for part in spans if len(part) >= MIN_SENTENCE_CHARACTERS]
        texts = [prompt, *parts[:MAX_SENTENCES]] if len(parts) > 1 else [prompt]
        vectors = await asyncio.gather(*(self._embedder.embed_query(text) for text in texts))
        return phrases.task_profile(np.asarray(vectors), prompt)

    async def start(self) -> None:
        """Load the phrases before the first call needs them."""
        await self.phrases()

    async def close(self) -> None:
        if self._loading is not None and not self._loading.done():
            self._loading.cancel()

    async def phrases(self) -> DomainPhrases:
        """The domains with their vectors. A caller that gives up does not stop the loading."""
        if self._loading is None or (self._loading.done() and _failed(self._loading)):
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> DomainPhrases:
        vectors = await self._vectors(phrases_of(self._domains))
        tasks, memories, at = [], [], 0
        for domain in self._domains:
            tasks.append(vectors[at : at + len(domain.tasks)])
            at += len(domain.tasks)
            memories.append(vectors[at : at + len(domain.memories)])
            at += len(domain.memories)
        calibration = self._embedder.version.calibration
        return DomainPhrases(self._domains, tuple(tasks), tuple(memories), calibration)

    async def _vectors(self, texts: list[str]) -> Vectors:
        """Shipped with the model, or cached, or embedded now: only the phrases of one's own are, as a rule."""
        shipped = await asyncio.to_thread(shipped_vectors, self._embedder.version.digest)
        own = [text for text in dict.fromkeys(texts) if phrase_digest(text) not in shipped]
        if own:
            vectors = await asyncio.to_thread(self._read, own)
            if vectors is None:
                # Rounded as on disk, so that every process computes the same profiles.
                vectors = (await self._embedder.embed(own)).astype(np.float16).astype(np.float32)
                await asyncio.to_thread(self._write, own, vectors)
            shipped.update(zip(map(phrase_digest, own), vectors, strict=True))
        return np.array([shipped[phrase_digest(text)] for text in texts], np.float32)

    def _file(self, texts: list[str]) -> Path:
        digest = hashlib.sha256("\0".join([self._digest, *texts]).encode()).hexdigest()
        return self._cache / f"domains-{digest[:16]}.npy"

    def _read(self, texts: list[str]) -> Vectors | None:
        """The cached vectors, unless there are none or the file is damaged."""
        try:
            vectors: Vectors = np.load(self._file(texts), allow_pickle=False).astype(np.float32)
        except (OSError, ValueError, EOFError):
            return None
        return vectors if vectors.shape == (len(texts), self._embedder.version.dimensions) else None

    def _write(self, texts: list[str], vectors: Vectors) -> None:
        """Several processes may write at the same time: each moves a complete file into place."""
        handle, name = tempfile.mkstemp(dir=self._cache, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            np.save(file, vectors.astype(np.float16))
        Path(name).replace(self._file(texts))


def _failed(task: "asyncio.Task[DomainPhrases]") -> bool:
    return task.cancelled() or task.exception() is not None
