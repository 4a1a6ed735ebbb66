"""Hooks of Claude Code. They call a running server and never load the memory themselves."""
