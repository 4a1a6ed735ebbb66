"""The vectors are those of the original model, whatever else is going on around them."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import pytest_asyncio

from memory_butler.ai import batching
from memory_butler.ai.batching import BatchingThread, Vectors
from memory_butler.ai.embedding import FakeEmbedder, OnnxEmbedder
from memory_butler.ai.onnx_graph import build_graph, cached_graph, graph_name, read_tensors
from memory_butler.ai.weights import MODEL_FILE, resolve_weights
from memory_butler.errors import InternalError, InvalidInput, OverloadRejected, TargetUnavailable

REFERENCE = json.loads((Path(__file__).parent / "reference_vectors.json").read_text())
TEXTS = [
    "The user prefers tea over coffee in the morning.",
    "Der Zug nach München fährt um acht Uhr ab.",
    "会議は来週の火曜日に延期されました。",
    "Deploy failed 🚀🔥 on node-7: exit code 137",
    "def add(a, b):\n    return a + b",
    "?",
    "   ",
    "Melanie: Hey Caroline! I'm swamped with the kids & work.",
    "".join(f"Line {n}: the archive holds item {n * 37 % 101}. " for n in range(60)),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest_asyncio.fixture(scope="module")
async def embedder(cache: Path) -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(cache=cache, hub_url=None)
    await embedder.start()
    yield embedder
    await embedder.close()


class SlowModel:
    """A model of one dimension: a text's vector is its length. It waits for leave before it runs."""

    dimensions = 1
    failures: tuple[type[BaseException], ...] = (ZeroDivisionError,)

    def __init__(self) -> None:
        self.may_run = threading.Event()
        self.running = threading.Event()
        self.runs: list[list[int]] = []

    async def at_work(self) -> None:
        """Until the thread has taken up its first texts."""
        assert await asyncio.to_thread(self.running.wait, 10)

    def tokenize(self, text: str) -> list[int]:
        if "\ud800" in text:
            raise TypeError
        return [1] * len(text)

    def run(self, rows: Sequence[list[int]]) -> Vectors:
        self.running.set()
        assert self.may_run.wait(10)
        self.runs.append([len(row) for row in rows])
        if any(len(row) == 13 for row in rows):
            raise ZeroDivisionError("thirteen")
        return np.array([[len(row)] for row in rows], np.float32)


async def test_vectors_in_float32_are_those_of_the_original_library(cache: Path) -> None:
    exact = OnnxEmbedder(cache=cache, hub_url=None, precision="float32")
    vectors = await exact.embed(TEXTS)
    await exact.close()
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    for index, expected in REFERENCE["full_vectors"].items():
        reference = np.array(expected)
        assert vectors[int(index)] @ reference / np.linalg.norm(reference) >= 0.9999
    np.testing.assert_allclose(vectors[:, :12], REFERENCE["first_components"], atol=2e-5)
    np.testing.assert_allclose(vectors @ vectors.T, REFERENCE["dot_products"], atol=2e-5)


async def test_vectors_in_int8_are_close_to_those_of_the_original_library(embedder: OnnxEmbedder) -> None:
    """And so are their products, by which memories are found."""
    vectors = await embedder.embed(TEXTS)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() <= 1e-6
    for index, expected in REFERENCE["full_vectors"].items():
        reference = np.array(expected)
        assert vectors[int(index)] @ reference / np.linalg.norm(reference) >= 0.99
    np.testing.assert_allclose(vectors @ vectors.T, REFERENCE["dot_products"], atol=0.03)


def test_embedders_of_different_precision_are_different_versions(tmp_path: Path) -> None:
    both = [OnnxEmbedder(cache=tmp_path, hub_url=None, precision=one).version for one in ("int8", "float32")]
    assert both[0] != both[1]


async def test_a_vector_does_not_depend_on_its_neighbours(embedder: OnnxEmbedder) -> None:
    mixed = [text * times for times in (1, 3, 7) for text in TEXTS]
    together = await embedder.embed(mixed)
    backwards = (await embedder.embed(mixed[::-1]))[::-1]
    concurrent = await asyncio.gather(*(embedder.embed([text]) for text in mixed))
    for row, text in enumerate(mixed):
        alone = (await embedder.embed([text]))[0]
        for other in (together[row], backwards[row], concurrent[row][0], await embedder.embed_query(text)):
            assert np.abs(other - alone).max() <= 1e-6


async def test_another_process_makes_the_same_vectors(embedder: OnnxEmbedder, cache: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path; from memory_butler.ai.embedding import OnnxEmbedder\n"
        "embedder = OnnxEmbedder(cache=Path(sys.argv[1]), hub_url=None)\n"
        "sys.stdout.buffer.write(asyncio.run(embedder.embed(['Hello there.'])).tobytes())"
    )
    output = await asyncio.to_thread(subprocess.check_output, [sys.executable, "-c", script, str(cache)])
    np.testing.assert_array_equal(np.frombuffer(output, np.float32), (await embedder.embed(["Hello there."]))[0])


async def test_text_beyond_256_tokens_is_cut_off(embedder: OnnxEmbedder) -> None:
    start = "word " * 254
    vectors = await embedder.embed([start, start + "completely different ending", start * 1000])
    assert np.abs(vectors - vectors[0]).max() <= 1e-6


async def test_no_texts_make_no_vectors(embedder: OnnxEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


async def test_a_bad_text_fails_only_its_own_request(embedder: OnnxEmbedder) -> None:
    good, bad, empty = await asyncio.gather(
        embedder.embed(["fine"]), embedder.embed(["fine", "lone \ud800"]), embedder.embed([""]), return_exceptions=True
    )
    assert isinstance(bad, InvalidInput)
    assert "Text 1" in bad.message
    assert not isinstance(good, BaseException)
    assert not isinstance(empty, BaseException)
    assert np.linalg.norm(empty[0]) == pytest.approx(1)


async def test_repeated_queries_come_from_the_cache_and_cannot_be_changed(cache: Path) -> None:
    embedder = OnnxEmbedder(cache=cache, hub_url=None, cached_queries=2)
    first = await embedder.embed_query("one")
    assert await embedder.embed_query("one") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    await embedder.embed_query("two")
    await embedder.embed_query("three")
    assert await embedder.embed_query("one") is not first
    await embedder.close()


async def test_several_event_loops_share_one_embedder(embedder: OnnxEmbedder) -> None:
    here = await embedder.embed(["shared"])
    there = await asyncio.to_thread(lambda: asyncio.run(embedder.embed(["shared"])))
    np.testing.assert_array_equal(here, there)


async def test_closing_twice_is_fine_and_closed_means_unavailable(cache: Path) -> None:
    embedder = OnnxEmbedder(cache=cache, hub_url=None)
    await embedder.close()
    await embedder.close()
    with pytest.raises(TargetUnavailable, match="closed"):
        await embedder.embed_query("late")


async def test_a_missing_model_is_reported_to_every_caller_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MODEL_PACKAGE", "READY_PACKAGE"):
        monkeypatch.setattr(f"memory_butler.ai.weights.{name}", "no_such_package_here")
    embedder = OnnxEmbedder(cache=tmp_path, hub_url=None)
    for _ in range(2):
        with pytest.raises(TargetUnavailable, match="not found"):
            await embedder.start()
    monkeypatch.undo()
    assert (await embedder.embed(["back"])).shape == (1, 384)
    await embedder.close()


async def test_a_damaged_graph_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_butler.ai.weights.READY_PACKAGE", "no_such_package_here")
    (tmp_path / graph_name("int8")).write_bytes(b"not a graph")
    embedder = OnnxEmbedder(cache=tmp_path, hub_url=None)
    assert (await embedder.embed_query("hello")).shape == (384,)
    await embedder.close()


def test_the_graph_is_built_once_the_same_every_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    content = resolve_weights(None, tmp_path, hub_url=None, precision="float32").read(MODEL_FILE)
    (tmp_path / "minilm-of-an-earlier-version-g1.onnx").touch()
    reads: list[int] = []

    def read() -> bytes:
        reads.append(1)
        return content

    threads = [threading.Thread(target=cached_graph, args=(tmp_path, "int8", read)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    built = len(reads)
    graph = cached_graph(tmp_path, "int8", read)
    assert len(reads) == built
    assert [file.name for file in tmp_path.iterdir()] == [graph.name]
    assert graph.read_bytes() == build_graph(read_tensors(content), precision="int8")


async def test_a_query_goes_ahead_of_a_bulk_load() -> None:
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    bulk = asyncio.create_task(thread.vectors(["x" * 100] * 500, urgent=False))
    await model.at_work()
    query = asyncio.create_task(thread.vectors(["q"], urgent=True))
    await asyncio.sleep(0)  # the task has put its texts in the queue
    model.may_run.set()
    await asyncio.gather(bulk, query)
    assert [1] in model.runs[:2]
    await thread.close()


async def test_a_small_request_does_not_wait_for_a_large_one() -> None:
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    bulk = asyncio.create_task(thread.vectors(["x" * 100] * 1000, urgent=False))
    await model.at_work()
    small = asyncio.create_task(thread.vectors(["yyyy"], urgent=False))
    await asyncio.sleep(0)  # the task has put its texts in the queue
    model.may_run.set()
    assert (await small).tolist() == [[4.0]]
    assert any(4 in run for run in model.runs[: 2 * batching.WINDOW_TEXTS])
    await bulk
    await thread.close()


async def test_requests_that_wait_together_run_together_in_bounded_slices() -> None:
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    lengths = [5, 200, 6, 300, 5, 60, 61, 62, 63]
    first = asyncio.create_task(thread.vectors(["first"], urgent=True))
    await model.at_work()
    rest = [asyncio.create_task(thread.vectors(["x" * length], urgent=False)) for length in lengths]
    await asyncio.sleep(0)  # the task has put its texts in the queue
    model.may_run.set()
    assert [(await task).item() for task in rest] == lengths
    assert sorted(length for run in model.runs for length in run) == sorted([*lengths, 5])
    assert all(len(run) == 1 or len(run) * max(run) <= batching.SLICE_TOKENS for run in model.runs)
    assert len(model.runs) < len(lengths)
    await first
    await thread.close()


async def test_giving_up_waiting_harms_nobody_and_saves_the_work() -> None:
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    given_up = asyncio.create_task(thread.vectors(["x" * 200] * 1000, urgent=False))
    await model.at_work()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    model.may_run.set()
    assert (await thread.vectors(["abc"], urgent=False)).tolist() == [[3.0]]
    assert len(model.runs) < batching.WINDOW_TEXTS
    await thread.close()


async def test_a_failing_model_fails_those_it_worked_for_and_goes_on() -> None:
    model = SlowModel()
    model.may_run.set()
    thread = BatchingThread(lambda: model)
    with pytest.raises(InternalError, match="thirteen"):
        await thread.vectors(["x" * 13], urgent=False)
    assert (await thread.vectors(["ok"], urgent=False)).tolist() == [[2.0]]
    await thread.close()


async def test_several_threads_work_side_by_side() -> None:
    """Two queries that wait together are two threads' work, and neither waits for the other."""
    model = SlowModel()
    thread = BatchingThread(lambda: model, threads=2)
    both = threading.Barrier(2)
    model.may_run.set()
    alone = model.run

    def run(rows: Sequence[list[int]]) -> Vectors:
        both.wait(10)
        return alone(rows)

    model.run = run  # type: ignore[method-assign]
    found = await asyncio.gather(*(thread.vectors(["x" * length], urgent=True) for length in (3, 4)))
    assert [one.item() for one in found] == [3, 4]
    assert (await thread.vectors(["x" * 5, "x" * 5], urgent=False)).tolist() == [[5], [5]]
    await thread.close()


async def test_many_threads_answer_everybody_once() -> None:
    """Whichever thread has the last row of a request, it is answered with its own rows in their order."""
    model = SlowModel()
    model.may_run.set()
    thread = BatchingThread(lambda: model, threads=4)
    wanted = [[1 + (first * 7 + place) % 12 for place in range(first % 9)] for first in range(300)]
    asked = (
        thread.vectors(["x" * length for length in lengths], urgent=bool(number % 3))
        for number, lengths in enumerate(wanted)
        if lengths or number % 3
    )
    found = [rows.ravel().tolist() for rows in await asyncio.gather(*asked)]
    assert found == [lengths for number, lengths in enumerate(wanted) if lengths or number % 3]
    await thread.close()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("urgent", [True, False])
@pytest.mark.parametrize("where", ["tokenize", "run"])
async def test_a_fault_nobody_expected_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, where: str, urgent: bool, threads: int
) -> None:
    """The threads end with it, those they worked for are told, and the next request starts others."""
    model = SlowModel()
    model.may_run.set()
    thread = BatchingThread(lambda: model, threads=threads)

    def fault(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with monkeypatch.context() as broken:
        broken.setattr(model, where, fault)
        with pytest.raises(InternalError, match="stopped unexpectedly"):
            await asyncio.wait_for(thread.vectors(["text"], urgent=urgent), 10)
    assert (await asyncio.wait_for(thread.vectors(["ok"], urgent=urgent), 10)).tolist() == [[2.0]]
    await thread.close()


async def test_closing_fails_what_still_waits() -> None:
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    waiting = [asyncio.create_task(thread.vectors(["x" * 200] * 10, urgent=urgent)) for urgent in (False, False, True)]
    await model.at_work()
    closing = asyncio.create_task(thread.close())
    await asyncio.sleep(0)  # the task has put its texts in the queue
    model.may_run.set()
    await closing
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert any(isinstance(result, TargetUnavailable) for result in results)
    assert all(isinstance(result, TargetUnavailable | np.ndarray) for result in results)


async def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "MAX_WAITING_TEXTS", 3)
    model = SlowModel()
    thread = BatchingThread(lambda: model)
    first = asyncio.create_task(thread.vectors(["a", "b"], urgent=False))
    await model.at_work()
    with pytest.raises(OverloadRejected):
        await thread.vectors(["c", "d"], urgent=False)
    model.may_run.set()
    await first
    assert (await thread.vectors(["c", "d", "e"], urgent=False)).shape == (3, 1)
    await thread.close()


async def test_the_fake_is_repeatable_and_shared_words_make_texts_similar() -> None:
    fake = FakeEmbedder()
    cat, pet, car, empty, symbols = await fake.embed(["the cat sat", "a cat sat down", "fast car", "", "?!"])
    assert cat @ pet > 0.5 > abs(cat @ car) + 0.2
    np.testing.assert_array_equal(cat, await fake.embed_query("The CAT sat"))
    for vector in (cat, pet, car, empty, symbols):
        assert np.linalg.norm(vector) == pytest.approx(1)
    with pytest.raises(InvalidInput):
        await fake.embed(["\ud800"])
