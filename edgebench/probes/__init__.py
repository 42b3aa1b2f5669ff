"""Probes: what is sampled during a session. A meter is a probe with a power channel."""
