"""Measure: drive the sessions of an experiment and hand each to the store."""
