"""Replay: a stored result or a scenario, played through the real agent; nothing is measured."""
