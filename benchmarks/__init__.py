"""Measurements: how fast, and how well memories are found. See docs/benchmarks.md."""
