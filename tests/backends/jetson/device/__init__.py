"""What tests have a board do: Python 3.6 syntax."""
