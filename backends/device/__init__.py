"""What runs on the boards of several backends."""
