"""Vectors in pgvector's binary format, which needs no conversion to text and no type registration."""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format


class VectorBytes(bytes):
    """A vector in the extension's wire format: the number of dimensions, a reserved number, then the values."""


class VectorDumper(Dumper):
    format = Format.BINARY
    oid = 0  # the cast in the statement names the type, whatever schema the extension is in

    def dump(self, obj: VectorBytes) -> Buffer:
        return bytes(obj)


class NumbersBytes(bytes):
    """An array of `real` in the server's wire format."""


psycopg.adapters.register_dumper(VectorBytes, VectorDumper)
psycopg.adapters.register_dumper(NumbersBytes, VectorDumper)


# Head of a vector: the number of dimensions, and a reserved number.
_HEAD = struct.Struct("!hh")


def as_vector(values: Sequence[float]) -> VectorBytes:
    return VectorBytes(struct.pack(f"!hh{len(values)}f", len(values), 0, *values))


# Head of an array: one dimension, no nulls, element type `real`, length, lower bound 1.
_ONE_DIMENSION, _COMPLETE, _REAL, _FIRST = 1, 0, 700, 1
_ELEMENT = np.dtype([("bytes", ">i4"), ("value", ">f4")])


def as_numbers(vectors: Sequence[Sequence[float]]) -> NumbersBytes:
    """Return the vectors concatenated into one array."""
    values = np.asarray(vectors, np.float32).ravel()
    elements = np.empty(len(values), _ELEMENT)
    elements["bytes"], elements["value"] = 4, values
    head = struct.pack("!iiiii", _ONE_DIMENSION, _COMPLETE, _REAL, len(values), _FIRST)
    return NumbersBytes(head + elements.tobytes())


def from_vectors(values: Sequence[bytes]) -> npt.NDArray[np.float64]:
    """Return vectors of one length as rows. The driver passes on the extension's wire format."""
    if not values:
        return np.empty((0, 0))
    dimensions, _ = _HEAD.unpack_from(values[0])
    body = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), _HEAD.size + 4 * dimensions)[:, _HEAD.size :]
    return body.copy().view(">f4").astype(np.float64)
