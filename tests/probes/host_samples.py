"""What a host's meter samples, gathered for tests."""

import math
import time
from contextlib import contextmanager

import numpy as np

from edgebench.stats.power import window_power
from edgebench.stats.power_curve import power_curve

WAVE_W = (5.0, 2.0)
"""Mean and amplitude of the known waveform."""


def wave_w(at_ns, hz):
    """The waveform's power at a moment."""
    mean_w, amplitude_w = WAVE_W
    return mean_w + amplitude_w * math.sin(2 * math.pi * hz * at_ns / 1e9)


def energies_j(stamps, watts, parts_ns, hz):
    """Energy over the parts, each (start, end): by the samples, and by the waveform's integral."""
    sampled_j = wave_j = 0.0
    t_ns, sampled_w = np.array(stamps), np.array(watts)
    for start_ns, end_ns in parts_ns:
        within = (t_ns >= start_ns) & (t_ns <= end_ns)  # what lies beyond is another part
        window = window_power(power_curve(t_ns[within], sampled_w[within]), start_ns, end_ns)
        assert window.mean_w is not None, window.reason
        part_s = (end_ns - start_ns) / 1e9
        sampled_j += window.mean_w * part_s
        mean_w, amplitude_w = WAVE_W
        start_turn, end_turn = (2 * math.pi * hz * at_ns / 1e9 for at_ns in (start_ns, end_ns))
        wave_j += mean_w * part_s
        wave_j += amplitude_w / (2 * math.pi * hz) * (math.cos(start_turn) - math.cos(end_turn))
    return sampled_j, wave_j


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
