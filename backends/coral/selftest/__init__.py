"""What a person with an Edge TPU runs to try it, and to write a small report of what came of it."""
