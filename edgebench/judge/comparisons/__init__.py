"""Comparisons of results: pairs of trials, their differences, and their history."""
