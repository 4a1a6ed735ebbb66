"""Standard input as a server needs it: it also ends when a signal asks the process to stop."""

import asyncio
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK_BYTES = 65_536
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def input_that_signals_end() -> Iterator[None]:
    """Within, sys.stdin is a pipe fed from the real one, closed by its end or by SIGINT or SIGTERM.

    A thread that waits in a read of the real stdin cannot be woken, so a signal alone would leave the process
    hanging until its client closes the pipe. This way both ends are one and the same: the input is over.
    """
    read_end, write_end = os.pipe()
    stop_read, stop_write = os.pipe()
    loop = asyncio.get_running_loop()
    real = sys.stdin
    pump = threading.Thread(target=_pump, args=(real.fileno(), write_end, stop_read), name="stdin", daemon=True)
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, os.write, stop_write, b".")
    sys.stdin = os.fdopen(read_end, encoding="utf-8")
    pump.start()
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
        os.write(stop_write, b".")
        given, sys.stdin = sys.stdin, real
        with suppress(OSError):
            given.close()
        pump.join(timeout=1)
        os.close(stop_write)
        os.close(stop_read)


def _pump(source: int, target: int, stop: int) -> None:
    try:
        while True:
            ready, _, _ = select.select([source, stop], [], [])
            if stop in ready:
                return
            chunk = os.read(source, CHUNK_BYTES)
            if not chunk:
                return
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
    except OSError:
        return  # the server has gone, or the terminal has: there is nobody to feed
    finally:
        os.close(target)


def send_library_logs_to_file() -> None:
    """The MCP library logs to the terminal on its own account; let it use the log that everything else uses."""
    library = logging.getLogger("fastmcp")
    library.handlers.clear()
    library.propagate = True
    library.setLevel(logging.WARNING)
