"""Standard input that also ends on SIGINT and SIGTERM."""

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
    """Replace sys.stdin by a pipe that is fed from the real stdin and closed at its end, on SIGINT or on SIGTERM.

    A thread that is blocked in a read of the real stdin cannot be woken, so a signal alone would leave the process
    hanging until its client closes the pipe.
    """
    if sys.platform == "win32":
        # Pipes cannot be polled there. Ctrl-C ends the process, and a client closes the pipe.
        yield
        return
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
        pipe, sys.stdin = sys.stdin, real
        with suppress(OSError):
            pipe.close()
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
        return  # the server or the terminal is gone
    finally:
        os.close(target)


def send_library_logs_to_file() -> None:
    """Send the MCP library's logs to our log: by default it logs to the terminal."""
    library = logging.getLogger("fastmcp")
    library.handlers.clear()
    library.propagate = True
    library.setLevel(logging.WARNING)
