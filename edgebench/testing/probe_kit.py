"""What the tests of one probe share: its module, and one run of it by the agent's own sampler."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

from edgebench import registry
from edgebench.agent.frames import READ_BYTES, Decoder, Frame, ProtocolError
from edgebench.errors import UnavailableError
from edgebench.link.local import agent_file
from edgebench.link.placing import code_at
from edgebench.link.replies import ProbeReport, checked
from edgebench.prepare.cache import Cache
from edgebench.records.session import ProbeChunk, ProbeInfo
from edgebench.testing.backend_kit import ProbeSubject
from edgebench.testing.problems import fail

OPEN_S = 60.0


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


class ProbeKit:
    """A probe under test.

    Args:
        subject: what is tried, and how.
        cache: where the agent is kept.
    """

    def __init__(self, subject: ProbeSubject, cache: Cache) -> None:
        self.subject = subject
        self._cache = cache

    @cached_property
    def module(self) -> ModuleType:
        """The device-side module; UsageError when nothing is registered under its kind."""
        return self.subject.module or registry.probe_module(self.subject.kind)

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
        return f"{self.subject.kind}:{self.subject.address}".rstrip(":")

    @cached_property
    def run(self) -> ProbeRun:
        """One run at its address, stopped after the window."""
        return self.run_at(self.subject.address, self.subject.window_s)

    @property
    def live(self) -> ProbeRun:
        """That run; skips the test, with the reason, where there is no such hardware."""
        run = self.run
        if run.missing is not None:
            why = f"{self.name}: {run.missing.reason} ({run.missing.fix})"
            if self.subject.require_device:
                pytest.fail(f"not there, and --edgebench-require-device asks for it: {why}", pytrace=False)
            pytest.skip(why)
        return run

    def run_at(self, address: str, window_s: float) -> ProbeRun:
        """Open the probe at an address, let it sample for `window_s`, stop it, and collect what it said."""
        agent, _ = agent_file(self._cache)
        code = code_at(self.files, lambda path, sha256: str(path.resolve()))
        began_ns = time.monotonic_ns()
        process = subprocess.Popen(
            [sys.executable, str(agent), "probe", json.dumps(code), address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        run = ProbeRun(began_ns)
        with process:
            try:
                hearing = _Hearing(process, run, f"{self.subject.kind}:{address}")
                hearing.until(lambda: run.info is not None or run.missing is not None, OPEN_S)
                if run.info is not None:
                    hearing.until(lambda: False, window_s)
                    process.send_signal(signal.SIGTERM)
                hearing.until(lambda: hearing.over, self.subject.stop_s)
                run.ended = hearing.over
            finally:
                if process.poll() is None and not run.ended:
                    os.killpg(process.pid, signal.SIGKILL)
                run.ended_ns = time.monotonic_ns()
        return run


class _Hearing:
    """Frames and stderr of a sampler, until its pipes are closed."""

    def __init__(self, process: subprocess.Popen[bytes], run: ProbeRun, name: str) -> None:
        assert process.stdout and process.stderr
        self._run = run
        self._name = name
        self._decoder = Decoder()
        self._stdout = process.stdout.fileno()
        self._selector = selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            self._selector.register(pipe.fileno(), selectors.EVENT_READ)

    @property
    def over(self) -> bool:
        return not self._selector.get_map()

    def until(self, settled: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not settled() and not self.over and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                data = os.read(key.fd, READ_BYTES)
                if not data:
                    self._selector.unregister(key.fd)
                elif key.fd == self._stdout:
                    self._frames(data)
                else:
                    self._run.stderr = (self._run.stderr + data.decode("utf-8", "backslashreplace"))[-8000:]

    def _frames(self, data: bytes) -> None:
        try:
            for frame in self._decoder.feed(data):
                self._take(frame)
        except ProtocolError as error:
            self._run.problem = self._run.problem or str(error)
            self._selector.unregister(self._stdout)

    def _take(self, frame: Frame) -> None:
        report = checked(ProbeReport, {**frame.message, "probe": self._name})
        if report.kind == "info":
            self._run.info = report.probe_info()
        elif report.kind == "chunk":
            self._run.chunks.append(report.chunk(frame.payload))
        elif report.kind == "missing":
            self._run.missing = report
        elif report.kind == "rejected":
            self._run.rejected += report.count
            self._run.rejected_first = self._run.rejected_first or "".join(report.first[:1])
        else:
            self._run.failed = report
