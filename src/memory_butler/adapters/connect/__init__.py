"""Registering the server in the clients' own files: shown before it is done, and undone exactly."""
