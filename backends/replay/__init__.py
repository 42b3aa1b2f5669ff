"""Replay: a scenario, played through the real agent; nothing is measured."""
