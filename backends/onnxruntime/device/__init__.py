"""Code that runs on the board."""
