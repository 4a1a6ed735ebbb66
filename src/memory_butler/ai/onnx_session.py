"""How a graph is run: one session of ONNX Runtime with a bounded number of threads.

The runtime itself is loaded by the first session, in the thread of its model: most commands open none.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@cache
def runtime_failures() -> tuple[type[BaseException], ...]:
    """ONNX Runtime's errors, which have no base class of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime  # noqa: PLC0415

    names = ("Fail", "RuntimeException", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented")
    return tuple(getattr(runtime, name) for name in names)


def open_session(graph: Callable[[], Path], threads: int) -> Any:
    """A session for the graph's file, which `graph` finds or builds."""
    try:
        return _open(graph(), threads)
    except runtime_failures():
        # A cached graph that the disk has damaged: build it again, once.
        graph().unlink(missing_ok=True)
        return _open(graph(), threads)


def _open(graph: Path, threads: int) -> Any:
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    # Spinning threads would burn the cores that the database needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def padded(rows: Sequence[Sequence[int]]) -> npt.NDArray[np.int32]:
    """Rows of different length as one array, filled up on the right."""
    array = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return array
