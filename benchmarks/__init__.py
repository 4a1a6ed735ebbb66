"""Measurements: how fast, and how well memories are found. See docs/reference/benchmarks.md."""
