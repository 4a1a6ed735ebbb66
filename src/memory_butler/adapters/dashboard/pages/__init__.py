"""The pages, a module each: they register themselves when they are loaded."""
