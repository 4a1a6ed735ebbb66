"""The built-in distiller in a process of its own, with a time limit.

A regular expression that meets an unlucky text holds Python's interpreter lock: a thread would stop the whole server.
The process starts with the first batch, ends when it is idle, and loads no model. A batch that exceeds its time is
refused as a whole; the retry policy then cuts it up until the episode is alone, and that episode fails.
"""

import asyncio
import atexit
import importlib
import json
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Any, Final

from memory_butler.ai.distillers.builtin import BuiltInDistiller
from memory_butler.errors import Unprocessable
from memory_butler.models import Batch, DistillerResult

IDLE_SECONDS: Final = 30.0
# Time for starting Python and compiling the grammar, on a busy machine.
START_SECONDS: Final = 60.0
# The time limit of an episode is for this many characters, the most that an episode has.
EPISODE_CHARACTERS: Final = 20_000
# The process ends itself after this multiple of the limit, if nobody is left to end it.
_OVERDUE: Final = 2
_LENGTH_BYTES: Final = 8
PROPOSE: Final = "memory_butler.ai.distillers.builtin:propose"
_MAIN: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from memory_butler.ai.distillers.extraction_process import main; main(sys.argv[2])"
)


class TooSlow(Unprocessable):
    """The text takes too long to read; a retry takes as long."""


class ProcessEnded(Exception):
    """The process ended without an answer."""


class ProcessDistiller(BuiltInDistiller):
    """The built-in distiller, whose grammar runs in the extraction process."""

    def __init__(self, seconds: float = 10.0, process: "ExtractionProcess | None" = None) -> None:
        super().__init__()
        self._seconds = seconds
        self._process = process or shared

    async def distil(self, batch: Batch) -> DistillerResult:
        call = Call(batch, self._seconds * _episodes_worth(batch))
        try:
            return DistillerResult(proposal=await asyncio.to_thread(self._process.propose, call))
        except asyncio.CancelledError:
            self._process.cancel(call)
            raise


class Call:
    """One batch for the process, and how long it may take."""

    def __init__(self, batch: Batch, seconds: float) -> None:
        self.batch = batch
        self.seconds = seconds
        self.is_cancelled = False
        self.is_late = False


class ExtractionProcess:
    """Runs `propose` in a child process, one batch at a time. Thread-safe; shared by all stores of a process."""

    def __init__(self, function: str = PROPOSE, idle_seconds: float = IDLE_SECONDS) -> None:
        self._function = function
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._current: Call | None = None
        self._idle: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running process; None while there is none."""
        process = self._process
        return process.pid if process else None

    @property
    def busy(self) -> bool:
        """True while it works on a batch."""
        return self._current is not None

    def propose(self, call: Call) -> Any:
        """Return the proposal for a batch. Raises TooSlow if it takes longer than its limit."""
        with self._lock:
            if self._idle:
                self._idle.cancel()
            try:
                return self._propose(call)
            finally:
                self._idle = threading.Timer(self._idle_seconds, self.end_if_idle)
                self._idle.daemon = True
                self._idle.start()

    def _propose(self, call: Call) -> Any:
        for _ in range(2):
            if call.is_cancelled:
                raise Unprocessable("The run was cancelled.")
            try:
                return self._ask(call)
            except (ProcessEnded, OSError):
                self._kill()
                if call.is_late:
                    raise TooSlow(
                        f"Reading {_described(call.batch)} took longer than {call.seconds:g} seconds and was stopped.",
                        recovery="Store the text in shorter episodes, or raise consolidation.extraction_seconds.",
                    ) from None
        raise Unprocessable(
            f"Reading {_described(call.batch)} ended the extraction process twice.",
            recovery="Store the text in shorter episodes.",
        )

    def _ask(self, call: Call) -> Any:
        process = self._started()
        assert process.stdin and process.stdout
        self._current = call
        late = threading.Timer(call.seconds, self._stop, (process, call))
        late.daemon = True
        late.start()
        try:
            _send(process.stdin, pickle.dumps((call.batch, call.seconds * _OVERDUE)))
            answer = json.loads(_receive(process.stdout))
        finally:
            late.cancel()
            self._current = None
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the running process, or start one and wait until its grammar is loaded."""
        if self._process is None or self._process.poll() is not None:
            self._kill()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, json.dumps(sys.path), self._function],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # A Ctrl-C in the terminal is for the parent, which ends this process itself.
                start_new_session=True,
            )
            assert self._process.stdout
            late = threading.Timer(START_SECONDS, self._process.kill)
            late.daemon = True
            late.start()
            try:
                _receive(self._process.stdout)
            finally:
                late.cancel()
        return self._process

    def _stop(self, process: subprocess.Popen[bytes], call: Call) -> None:
        call.is_late = True
        process.kill()

    def cancel(self, call: Call) -> None:
        """Stop working on a batch, so that its thread ends at once."""
        call.is_cancelled = True
        process = self._process
        if process and self._current is call:
            process.kill()

    def end_if_idle(self) -> None:
        """End the process unless it is working."""
        if self._lock.acquire(blocking=False):
            try:
                self._kill()
            finally:
                self._lock.release()

    def end(self) -> None:
        """End the process, whatever it does."""
        if current := self._current:
            self.cancel(current)
        with self._lock:
            if self._idle:
                self._idle.cancel()
            self._kill()

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()
        process.wait()


def _episodes_worth(batch: Batch) -> int:
    """Return how many episodes of full length the batch amounts to, at least one."""
    return 1 + sum(map(len, batch.texts.values())) // EPISODE_CHARACTERS


def _described(batch: Batch) -> str:
    count = len(batch.episodes)
    return "the episode" if count == 1 else f"{count} episodes"


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(_LENGTH_BYTES) + message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return the next message. Raises ProcessEnded if there is none."""
    head = pipe.read(_LENGTH_BYTES)
    size = int.from_bytes(head)
    message = pipe.read(size) if len(head) == _LENGTH_BYTES else b""
    if len(head) < _LENGTH_BYTES or len(message) < size:
        raise ProcessEnded
    return message


def main(function: str) -> None:
    """The extraction process: answers batches until its input ends."""
    module, _, name = function.partition(":")
    propose = getattr(importlib.import_module(module), name)
    # Compiles the grammar, so that the first batch has its whole time.
    importlib.import_module("memory_butler.english.extraction.episode")
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # Nothing but answers may reach the pipe.
    sys.stdout = sys.stderr
    with suppress(ProcessEnded, BrokenPipeError, KeyboardInterrupt):
        _send(target, b"")
        while True:
            batch, seconds = pickle.loads(_receive(source))
            _end_after(seconds)
            answer = json.dumps(propose(batch)).encode()
            _end_after(0)
            _send(target, answer)


def _end_after(seconds: float) -> None:
    """Let the system end this process after some time, also in the middle of a regular expression; 0: never."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


shared: Final = ExtractionProcess()
atexit.register(shared.end)
