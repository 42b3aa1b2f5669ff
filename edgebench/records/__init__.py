"""The words of a measurement as plain data: what every room speaks of."""
