"""How a graph is run: one session of ONNX Runtime with a bounded number of threads."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state

# ONNX Runtime's errors have no base class of their own.
RUNTIME_FAILURES: tuple[type[BaseException], ...] = tuple(
    getattr(onnxruntime_pybind11_state, name)
    for name in ("Fail", "RuntimeException", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented")
)


def open_session(graph: Callable[[], Path], threads: int) -> Any:
    """A session for the graph's file, which `graph` finds or builds."""
    try:
        return _open(graph(), threads)
    except RUNTIME_FAILURES:
        # A cached graph that the disk has damaged: build it again, once.
        graph().unlink(missing_ok=True)
        return _open(graph(), threads)


def _open(graph: Path, threads: int) -> Any:
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
