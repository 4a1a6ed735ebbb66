"""Vectors as pgvector reads them: binary, so that nothing is written out as text and nothing is registered."""

import struct
from collections.abc import Sequence

import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format


class VectorBytes(bytes):
    """A vector in the extension's wire format: the number of dimensions, a reserved number, then the values."""


class VectorDumper(Dumper):
    format = Format.BINARY
    oid = 0  # the cast in the statement names the type, wherever the extension lives

    def dump(self, obj: VectorBytes) -> Buffer:
        return bytes(obj)


psycopg.adapters.register_dumper(VectorBytes, VectorDumper)


def as_vector(values: Sequence[float]) -> VectorBytes:
    return VectorBytes(struct.pack(f"!hh{len(values)}f", len(values), 0, *values))
