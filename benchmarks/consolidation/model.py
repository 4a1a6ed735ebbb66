"""Measure a language model as the distiller beside the built-in one: python -m benchmarks.consolidation.model MODEL.

MODEL is a GGUF file, which the package xllamacpp (pip install xllamacpp; no dependency of this project) serves on this
machine, or the base URL of a server with OpenAI's interface. The episodes are taken in turn from the development half.
The table is that of benchmarks.salience.capture; after it, how many items validation refused, by reason, and how many
golds are kept by notes alone.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.consolidation.merged import Kept, score_kept
from benchmarks.consolidation.scoring import ALL_HALVES, Labelled, labelled
from benchmarks.salience.capture import BY_HAND, noted, summary
from benchmarks.support.one_episode import batch_of
from memory_butler.ai.distillers.builtin import propose
from memory_butler.ai.distillers.model import ModelDistiller
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Item
from memory_butler.policy.consolidation.proposals import check
from memory_butler.settings.upkeep import ModelSettings

CONTEXT_TOKENS = 8192
START_SECONDS = 120
POLL_SECONDS = 0.5
# The server runs in a process of its own, so that its memory and threads end with it.
_SERVE = """
import sys, time, xllamacpp
given = xllamacpp.CommonParams()
given.model.path, given.n_ctx, given.n_parallel, given.port = sys.argv[1], int(sys.argv[2]), 1, int(sys.argv[3])
given.cpuparams.n_threads = int(sys.argv[4])
server = xllamacpp.Server(given)
print(server.listening_address, flush=True)
time.sleep(86400)
"""


@contextmanager
def served(model: str, port: int, threads: int) -> Iterator[str]:
    """The base URL of the model."""
    if model.startswith(("http://", "https://")):
        yield model
        return
    given = [sys.executable, "-c", _SERVE, model, str(CONTEXT_TOKENS), str(port), str(threads)]
    process = subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/v1"
        _wait(process, f"{url}/models")
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit("The model server ended. Is the package xllamacpp installed (pip install xllamacpp)?")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise SystemExit(f"The model server did not answer within {START_SECONDS} seconds.")


class Run:
    """What a distiller proposes for each episode, what validation refuses, and what is kept with notes."""

    def __init__(self) -> None:
        self.proposed = 0
        self.refused: Counter[str] = Counter()
        self.failed = 0
        self.without_notes: dict[str, list[Item]] = {}
        self.kept: dict[str, list[Item]] = {}

    async def read(self, embedder: Embedder, one: Labelled, proposal: object) -> None:
        batch = batch_of(one.content, one.observed_at, by_hand=one.source == BY_HAND)
        checked = check(proposal, batch)
        items = [item for _, item in checked.items]
        self.proposed += len(items) + len(checked.refused)
        self.refused.update(refused.reason.value for refused in checked.refused)
        self.without_notes[one.content] = items
        self.kept[one.content] = await noted(embedder, batch, items)

    def lines(self, name: str, episodes: Sequence[Labelled]) -> list[str]:
        bare = self._score(episodes, self.without_notes)
        merged = self._score(episodes, self.kept)
        refused = ", ".join(f"{count} {reason}" for reason, count in self.refused.most_common()) or "none"
        return [
            f"{name}: {summary(merged)}",
            f"  without notes: {summary(bare)}",
            f"  proposed {self.proposed}, refused {self.refused.total()} ({refused}), "
            f"{self.failed} episodes without a usable answer; notes caught {merged.kept - bare.kept} golds",
        ]

    @staticmethod
    def _score(episodes: Sequence[Labelled], found: dict[str, list[Item]]) -> Kept:
        return score_kept(episodes, lambda content, _: found[content])["all"]


async def measure(url: str, name: str, episodes: Sequence[Labelled]) -> None:
    distiller = ModelDistiller(ModelSettings(base_url=url, name=name, seconds=600, max_output_tokens=700, retries=0))
    model, built_in, tokens = Run(), Run(), 0
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder(cache=Path(folder))
        begun = time.monotonic()
        for number, one in enumerate(episodes, 1):
            batch = batch_of(one.content, one.observed_at, by_hand=one.source == BY_HAND)
            try:
                result = await distiller.distil(batch)
                proposal = result.proposal
                tokens += result.usage.output_tokens
            except MemoryButlerError as problem:
                model.failed += 1
                proposal = {"version": 1}
                print(f"  {one.id}: {problem}", file=sys.stderr)
            await model.read(embedder, one, proposal)
            await built_in.read(embedder, one, propose(batch))
            print(f"\r{number} of {len(episodes)}", end="", file=sys.stderr, flush=True)
        seconds = time.monotonic() - begun
        await embedder.close()
    print(f"\n{len(episodes)} episodes, {seconds / len(episodes):.1f} s and {tokens / len(episodes):.0f} tokens each")
    print(*model.lines(name, episodes), *built_in.lines("built-in", episodes), sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation.model", description=__doc__)
    parser.add_argument("model", help="a GGUF file, or the base URL of a server (http://127.0.0.1:11434/v1)")
    parser.add_argument("--name", default="model", help="name of the model at the server")
    parser.add_argument("--half", choices=[half for half in ALL_HALVES if half.endswith("development")], nargs="*")
    parser.add_argument("--episodes", type=int, default=40, help="number of episodes, evenly taken (default 40)")
    parser.add_argument("--port", type=int, default=18437, help="port of the server for a GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="threads of that server")
    given = parser.parse_args()
    halves = given.half or ["development", "messy_development"]
    found = [one for half in halves for one in labelled(half)]
    episodes = found[:: max(1, len(found) // given.episodes)][: given.episodes]
    with served(given.model, given.port, given.threads) as url:
        asyncio.run(measure(url, given.name, episodes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
