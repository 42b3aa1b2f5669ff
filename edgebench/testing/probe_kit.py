"""What the tests of one probe share: its module, and one run of it by the agent's own sampler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

from edgebench import registry
from edgebench.agent.frames import Decoder, ProtocolError
from edgebench.errors import UnavailableError
from edgebench.link.local import agent_file
from edgebench.link.placing import code_at
from edgebench.link.replies import ProbeReport, checked
from edgebench.records.session import ProbeChunk, ProbeInfo
from edgebench.testing.backend_kit import Kit
from edgebench.testing.problems import fail

OPEN_S = 60.0
POLL_S = 0.02


@dataclass
class ProbeRun:
    """One run: what the probe said, and between which moments of the monotonic clock, in ns."""

    began_ns: int
    info: ProbeInfo | None = None
    missing: ProbeReport | None = None
    failed: ProbeReport | None = None
    rejected: int = 0  # readings
    rejected_first: str = ""
    chunks: list[ProbeChunk] = field(default_factory=list)
    problem: str = ""
    ended: bool = False
    ended_ns: int = 0
    stderr: str = ""


class ProbeKit(Kit):
    """A probe under test."""

    @cached_property
    def place(self) -> tuple[str, str, ModuleType | None]:
        """Kind and address, and the module of a probe that is not registered yet."""
        probe = self.asked("probe")
        if probe is None:
            pytest.skip("no probe was named: --edgebench-probe KIND[:ADDRESS], or `probe` in the class")
        if isinstance(probe, ModuleType):
            return probe.__name__.rpartition(".")[2], "", probe
        kind, _, address = probe.partition(":")
        return kind, address, None

    @cached_property
    def module(self) -> ModuleType:
        """The device-side module; UsageError when nothing is registered under its kind."""
        kind, _, module = self.place
        return module or registry.probe_module(kind)

    @property
    def files(self) -> tuple[Path, ...]:
        """What travels to the board, its module or its package's __init__ first."""
        try:
            return registry.probe_files(self.module)
        except UnavailableError as error:
            fail(str(error), error.fix)

    @property
    def on_host(self) -> bool:
        """Whether it samples on the machine that EdgeBench runs on."""
        return getattr(self.module, "PLACE", None) == registry.HOST

    @property
    def name(self) -> str:
        """As `--meter` takes it."""
        return ":".join(self.place[:2]).rstrip(":")

    @cached_property
    def _run(self) -> ProbeRun:
        return self.run_at(self.place[1], self.contract.window_s)

    @property
    def live(self) -> ProbeRun:
        """One run at its address, stopped after the window; skips the test where the hardware is missing."""
        if self._run.missing is not None:
            self.missing(f"{self.name}: {self._run.missing.reason} ({self._run.missing.fix})")
        return self._run

    @property
    def info(self) -> ProbeInfo:
        """What it says of itself in that run; fails the test where it says nothing."""
        run = self.live
        if run.info is None:
            fail(f"it reported no info: {run.problem or run.stderr[-2000:]}", "set `info` in open_probe")
        return run.info

    def run_at(self, address: str, window_s: float) -> ProbeRun:
        """Open the probe at an address, let it sample for `window_s`, stop it, and collect what it said."""
        agent, _ = agent_file(self.cache)
        code = code_at(self.files, lambda path, sha256: str(path.resolve()))
        run = ProbeRun(time.monotonic_ns())
        with tempfile.TemporaryFile() as frames, tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(
                [sys.executable, str(agent), "probe", json.dumps(code), address],
                stdin=subprocess.DEVNULL,
                stdout=frames,
                stderr=complaints,
                start_new_session=True,
            )
            try:
                deadline = time.monotonic() + OPEN_S
                while (
                    process.poll() is None
                    and not os.fstat(frames.fileno()).st_size
                    and time.monotonic() < deadline
                ):
                    time.sleep(POLL_S)
                if process.poll() is None:
                    time.sleep(window_s)
                    process.send_signal(signal.SIGTERM)
                process.wait(self.contract.stop_s)
                run.ended = True
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            run.ended_ns = time.monotonic_ns()
            frames.seek(0)
            complaints.seek(0)
            run.stderr = complaints.read().decode("utf-8", "backslashreplace")[-8000:]
            self._take(run, frames.read(), f"{self.place[0]}:{address}")
        return run

    @staticmethod
    def _take(run: ProbeRun, data: bytes, name: str) -> None:
        try:
            for frame in Decoder().feed(data):
                report = checked(ProbeReport, {**frame.message, "probe": name})
                if report.kind == "info":
                    run.info = report.probe_info()
                elif report.kind == "chunk":
                    run.chunks.append(report.chunk(frame.payload))
                elif report.kind == "rejected":
                    run.rejected += report.count
                    run.rejected_first = run.rejected_first or "".join(report.first[:1])
                elif report.kind == "missing":
                    run.missing = report
                else:
                    run.failed = report
        except ProtocolError as error:
            run.problem = str(error)
