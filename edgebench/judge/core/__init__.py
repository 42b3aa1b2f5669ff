"""Trials, their estimates and the metrics that declare them."""
