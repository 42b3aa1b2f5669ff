"""What a person with a Jetson runs to try it, and to write a small report of what came of it."""
