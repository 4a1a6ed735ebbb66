"""The Python facade: a memory in three lines, in process or remote."""
