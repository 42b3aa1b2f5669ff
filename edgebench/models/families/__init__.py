"""The model families that are there by name, their weights and shipped files."""
