"""Verdicts: estimates against limits, decisions between trials, stopping, and next steps."""
