"""Meters that are plugged into the machine that EdgeBench runs on, and what they share."""
