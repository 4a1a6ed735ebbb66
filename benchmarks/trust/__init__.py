"""Measurements of trust: poisoned texts and legitimate ones of the same form, and the OWASP benchmark."""
