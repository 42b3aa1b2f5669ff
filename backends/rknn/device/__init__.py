"""What runs on the board."""
