"""What travels to the board."""
