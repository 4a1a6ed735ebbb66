"""How well episodes become facts and rules: labelled episodes, scoring, and the measurement."""
