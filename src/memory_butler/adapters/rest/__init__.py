"""The REST door: every tool as a route, and listings for people."""
