"""Hooks of Claude Code. They call a server on this machine, and start one where none runs; they never load the memory
themselves."""
