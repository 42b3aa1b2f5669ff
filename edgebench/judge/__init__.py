"""Fit: a requirement profile against a result, with verdict, margin and reason."""
