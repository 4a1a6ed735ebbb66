"""What Claude Code asks for at certain moments of a session. Nothing here loads the memory itself: it asks a server."""
