"""Probes: what is sampled beside a session. A meter is a probe with a power channel."""
