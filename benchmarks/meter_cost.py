"""What a meter at 20 samples a second costs of one core: its sampler, and with the agent and the host."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.row import Row
from edgebench.prepare.cache import Cache
from edgebench.records.target import Target
from edgebench.run.measuring.meter_recording import MeterBench

BAR_SHARE = 0.5
WINDOW_S = 30.0
SETTLED_S = 2.0
LOOK_S = 5.0

TEGRASTATS = """#!{python}
import sys, time
while True:
    print({line!r}, flush=True)
    time.sleep(int(sys.argv[2]) / 1000)
"""
LINE = (
    "RAM 2448/7620MB (lfb 27x4MB) SWAP 0/3810MB (cached 0MB) CPU [2%@1510,0%@1510,1%@729,0%@729] "
    "EMC_FREQ 0%@2133 GR3D_FREQ 0%@[305] cpu@48.5C gpu@47.1C VDD_IN 4953mW/4953mW "
    "VDD_CPU_GPU_CV 556mW/556mW VDD_SOC 1589mW/1589mW"
)


def rows(cache: Cache, pairs: int) -> list[Row]:
    """CPU time over the time that it ran, the sampler's and that of all, without what stands for a board."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "tegrastats"
        program.write_text(TEGRASTATS.format(python=sys.executable, line=LINE))
        program.chmod(0o755)
        use = _Use()
        bench = MeterBench(Target(name="here", device=""))
        try:
            recording = bench.record(f"tegrastats:{program}", WINDOW_S, use.look)
        finally:
            bench.close()
    assert not recording.ended, recording.ended
    rates_hz = [float(rail["effective_hz"] or 0.0) for rail in recording.rails()]
    details = {"by_process_s": use.used_s, "wall_s": use.lasted_s, "effective_hz": max(rates_hz)}
    sampler, every = use.used_s["probe"] / use.lasted_s, sum(use.used_s.values()) / use.lasted_s
    return [
        Row("a sampler at 20 Hz, share of a core", 100 * sampler, "%", BAR_SHARE, None, details),
        Row("with the agent's and the host's part", 100 * every, "%", None),
    ]


class _Use:
    """The CPU time that each process has used from SETTLED_S on, in s, and how long that is."""

    def __init__(self) -> None:
        self.used_s: dict[str, float] = {}
        self.lasted_s = 0.0
        self._begin_s = time.monotonic()
        self._from_s = 0.0
        self._processes: dict[str, psutil.Process] = {}
        self._before_s: dict[str, float] = {}

    def look(self, channel: str, watts: float) -> None:
        """Take the times, seldom: called with every sample that is shown."""
        now_s = time.monotonic()
        if not self._processes:
            if now_s - self._begin_s > SETTLED_S:
                self._processes = _readers()
                self._before_s = {name: _cpu_s(process) for name, process in self._processes.items()}
                self._from_s = now_s
        elif now_s - self._from_s > self.lasted_s + LOOK_S:
            self.used_s = {
                name: _cpu_s(process) - self._before_s[name] for name, process in self._processes.items()
            }
            self.lasted_s = now_s - self._from_s


def _readers() -> dict[str, psutil.Process]:
    """The host (this process), the agent and the probe, by these names."""
    below = psutil.Process().children(recursive=True)
    [probe] = [process for process in below if "probe" in process.cmdline()[:4]]
    agent = probe.parent()
    assert agent is not None and agent.pid != os.getpid()
    return {"host": psutil.Process(), "agent": agent, "probe": probe}


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
