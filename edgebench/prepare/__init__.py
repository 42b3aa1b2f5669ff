"""Variants, artifacts and how they are made."""
