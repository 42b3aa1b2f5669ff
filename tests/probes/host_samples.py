"""What a host's meter samples, gathered for tests."""

import math
import time
from contextlib import contextmanager


class Heard:
    """The samples so far: `stamps`, and `columns` by channel."""

    def __init__(self, probe):
        self.stamps: list[int] = []
        self.columns: dict[str, list[float]] = {channel["name"]: [] for channel in probe.info["channels"]}

    def take(self, chunk):
        stamps, values = chunk
        assert set(values) == set(self.columns)
        self.stamps += stamps
        for name, column in values.items():
            assert len(column) == len(stamps)
            self.columns[name] += column
        assert self.stamps == sorted(set(self.stamps))

    def gaps(self, name):
        return sum(math.isnan(value) for value in self.columns[name])

    def readings(self, name):
        return [value for value in self.columns[name] if not math.isnan(value)]


def sample_until(probe, enough, limit_s=60.0):
    """Samples until `enough(heard)` after a chunk, and those after the stop; fails past the limit."""
    heard = Heard(probe)
    end_s = time.monotonic() + limit_s
    probe.start()
    for chunk in probe:
        heard.take(chunk)
        assert time.monotonic() < end_s, heard.columns
        if enough(heard):
            probe.stop()
    return heard


@contextmanager
def closing(probe):
    """Close the probe's device, whatever becomes of the test."""
    try:
        yield probe
    finally:
        probe._close()
