"""Sessions of ONNX Runtime with a bounded number of threads.

ONNX Runtime is imported by the first session, in the model's own thread: most commands need none.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@cache
def runtime_failures() -> tuple[type[BaseException], ...]:
    """Return ONNX Runtime's error classes, which have no common base class."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime  # noqa: PLC0415

    names = ("Fail", "RuntimeException", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented")
    return tuple(getattr(runtime, name) for name in names)


def open_session(graph: Path, threads: int) -> Any:
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    # Every failure is raised as well; the runtime's own log lines would appear on the stderr of a stdio server.
    options.log_severity_level = 4
    # Spinning threads would take the cores that the database needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def padded(rows: Sequence[Sequence[int]]) -> npt.NDArray[np.int32]:
    """Return rows of different lengths as one array, padded with zeros on the right."""
    array = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return array
