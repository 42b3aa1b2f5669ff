"""Contract of every probe: its module, what it states of itself, and its samples.

It is run as on a board: by the agent's sampler, in a process of its own.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from edgebench import registry
from edgebench.agent.frames import Decoder, ProtocolError
from edgebench.errors import UnavailableError
from edgebench.link.local import agent_file
from edgebench.link.placing import code_at
from edgebench.link.replies import ProbeReport, checked
from edgebench.records.session import ProbeChunk, ProbeInfo
from edgebench.testing.checks import FIX, Kit, Rows, check, fail, is_stated
from edgebench.testing.device_code import foreign_imports, python_3_6_problems

OPEN_S = 60.0
POLL_S = 0.02
SCOPES = ("chip", "module", "board", "usb", "wall")
LEAST_OF_RATE = 0.5
"""The share of its stated rate that a probe has to keep: a busy machine explains what is between."""
MOST_HZ = 1e5
LEAST_SAMPLES = 4
"""If the stated rate gives as many in the window and fewer than two came, it does not keep its rate."""
UNITS = {"power": "W", "energy": "J"}


@dataclass
class ProbeRun:
    """One run: its moments on the monotonic clock in ns, the last report of each kind, and the chunks."""

    began_ns: int
    reports: dict[str, ProbeReport] = field(default_factory=dict)
    chunks: list[ProbeChunk] = field(default_factory=list)
    problem: str = ""
    ended: bool = False
    ended_ns: int = 0
    stderr: str = ""

    def take(self, data: bytes, probe: str) -> None:
        """Decode what the probe's process wrote to descriptor 1."""
        try:
            for frame in Decoder().feed(data):
                report = checked(ProbeReport, {**frame.message, "probe": probe})
                self.reports[report.kind] = report
                if report.kind == "chunk":
                    self.chunks.append(report.chunk(frame.payload))
        except ProtocolError as error:
            self.problem = str(error)


class ProbeKit(Kit):
    """A probe under test."""

    @cached_property
    def place(self) -> tuple[str, str, ModuleType]:
        """Kind, address and device-side module; UsageError when nothing is registered under the kind."""
        probe = self.asked("probe")
        if probe is None:
            pytest.skip("no probe was named: --edgebench-probe KIND[:ADDRESS], or `probe` in the class")
        if isinstance(probe, ModuleType):
            return probe.__name__.rpartition(".")[2], "", probe
        kind, _, address = probe.partition(":")
        return kind, address, registry.probe_module(kind)

    @property
    def module(self) -> ModuleType:
        """The device-side module."""
        return self.place[2]

    @property
    def name(self) -> str:
        """Name that `--meter` takes."""
        return ":".join(self.place[:2]).rstrip(":")

    def stated(self, name: str, default: Any = None) -> Any:
        """A constant of the module."""
        return getattr(self.module, name, default)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that travel to the board, its module or its package's __init__ first."""
        try:
            return registry.probe_files(self.module)
        except UnavailableError as error:
            fail(f"{error}{FIX}{error.fix}")

    @property
    def on_host(self) -> bool:
        """Return True if it samples on the machine that EdgeBench runs on."""
        return bool(self.stated("PLACE") == registry.HOST)

    @cached_property
    def _run(self) -> ProbeRun:
        return self.run_at(self.place[1], self.contract.window_s)

    @property
    def live(self) -> ProbeRun:
        """One run at its address, stopped after the window; skips the test where the hardware is missing."""
        if absent := self._run.reports.get("missing"):
            self.missing(f"{self.name}: {absent.reason} ({absent.fix})")
        return self._run

    @property
    def info(self) -> ProbeInfo:
        """Properties that it states of itself in that run; fails the test where it states nothing."""
        run = self.live
        if "info" not in run.reports:
            fail(f"it reported no info: {run.problem or run.stderr}; fix: set `info` in open_probe")
        return run.reports["info"].probe_info()

    def run_at(self, address: str, window_s: float) -> ProbeRun:
        """Open the probe at an address, let it sample for `window_s`, stop it, and collect its reports."""
        agent, _ = agent_file(self.cache)
        code = code_at(self.files, lambda path, sha256: str(path.resolve()))
        command = [sys.executable, str(agent), "probe", json.dumps(code), address]
        run = ProbeRun(time.monotonic_ns())
        with tempfile.TemporaryFile() as frames, tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=frames, stderr=stderr, start_new_session=True
            )
            deadline = time.monotonic() + OPEN_S
            try:
                while process.poll() is None and not os.fstat(frames.fileno()).st_size:
                    if time.monotonic() > deadline:
                        break
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
            stderr.seek(0)
            run.stderr = stderr.read().decode("utf-8", "backslashreplace")[-2000:]
            run.take(frames.read(), f"{self.place[0]}:{address}")
        return run


class ProbeContract:
    """Derive from it, name the probe, and pytest tries it against the contract.

    Attributes:
        probe: `KIND` or `KIND:ADDRESS`, or a module that is not registered yet.
        missing_address: an address at which there is nothing.
        window_s: for how long it samples; two samples or more have to fall into it.
        stop_s: after how long a probe that was stopped counts as hung; the agent waits three seconds, and a
            machine under load is given more.
        skips: tests that are left out, each with the reason that is shown.
    """

    kit_type: ClassVar[Any] = ProbeKit
    probe: ClassVar[str | ModuleType | None] = None
    missing_address: ClassVar[str] = "/no/such/place/of/edgebench"
    window_s: ClassVar[float] = 1.0
    stop_s: ClassVar[float] = 20.0
    skips: ClassVar[Mapping[str, str]] = {}

    @check()
    def test_it_is_a_probe_module(self, kit: ProbeKit) -> Rows:
        """PLACE, open_probe(address), RATE_HZ of a meter, MONITOR where it never has a power channel."""
        place, monitor, rate_hz = (
            kit.stated("PLACE"),
            kit.stated("MONITOR", False),
            kit.stated("RATE_HZ", "missing"),
        )
        return [
            place in ("board", "host")
            or f'PLACE is {place!r}; fix: write "board", or "host" where it is plugged into the host',
            isinstance(monitor, bool) or f"MONITOR is {monitor!r}; fix: write True, or leave it out",
            (monitor or rate_hz is None or (isinstance(rate_hz, int | float) and 0 < rate_hz <= MOST_HZ))
            or f"RATE_HZ is {rate_hz!r}; fix: write the intended rate; None where the address decides",
            _takes_one(kit.stated("open_probe"))
            or "there is no open_probe(address); fix: define it in the module",
            is_stated(kit.module.__doc__)
            or "the module has no docstring; fix: `edgebench devices` shows its first line",
        ]

    @check()
    def test_it_is_python_3_6(self, kit: ProbeKit) -> Rows:
        """The boards' Pythons are old; the summary names the judges."""
        if kit.on_host:
            pytest.skip("it samples on the host, with this Python")
        return python_3_6_problems(kit.files, kit.note, "write it in the syntax of Python 3.6")

    @check()
    def test_it_imports_the_standard_library_alone(self, kit: ProbeKit) -> Iterator[str]:
        """A board receives its files alone; a probe of the host imports others inside open_probe."""
        outside = kit.on_host
        fix = "import it inside open_probe" if outside else "do without it: a board has nothing but Python"
        for file in kit.files:
            for foreign in foreign_imports(file, set(), kit.files, within_functions=not outside):
                yield f"{foreign}{FIX}{fix}"

    @check()
    def test_hardware_that_is_missing_is_said(self, kit: ProbeKit) -> Rows:
        """open_probe raises with `reason` and `fix`, and both reach the record."""
        address = self.missing_address
        run = kit.run_at(address, 0.0)
        if (absent := run.reports.get("missing")) is None:
            fail(
                f"there is nothing at {address!r}, and open_probe opened it {run.problem}; fix: raise an "
                "exception with the attributes reason and fix, or name another `missing_address`"
            )
        return [
            is_stated(absent.reason) or "open_probe failed without a reason; fix: give it as `reason`",
            is_stated(absent.fix)
            or f"open_probe failed without a fix: {absent.reason}; fix: raise an exception with `fix`",
        ]

    @check()
    def test_what_it_says_of_itself(self, kit: ProbeKit) -> Iterator[object]:
        """Kind, rate, scope and channels with their units; a meter has power in W or energy in J."""
        info, rate_hz, monitor = kit.info, kit.stated("RATE_HZ"), bool(kit.stated("MONITOR", False))
        names = [channel.name for channel in info.channels]
        totals = [channel.quantity for channel in info.channels if channel.total]
        yield from (
            0 < info.rate_hz <= MOST_HZ
            or f"rate_hz is {info.rate_hz}; fix: state the intended samples a second",
            rate_hz in (None, info.rate_hz)
            or f"RATE_HZ is {rate_hz!r} and rate_hz is {info.rate_hz!r}; fix: write one number",
            is_stated(info.resolution) or "the resolution is empty; fix: state the smallest step of a value",
            len(set(names)) == len(names) or f"two channels share a name: {names}; fix: use different names",
            len(totals) == len(set(totals))
            or f"several channels of one quantity are total: {totals}; fix: mark the sum of the others",
            *(
                is_stated(reason) or f"{name} is absent without a reason; fix: give it"
                for name, reason in info.absent.items()
            ),
        )
        if monitor:
            yield (
                (not info.is_meter and info.scope == "")
                or "MONITOR is True, and it has a power or energy channel or a scope; fix: leave MONITOR out"
            )
        else:
            yield info.is_meter or "no channel is power or energy; fix: write MONITOR = True for such a probe"
            yield info.scope in SCOPES or f"the scope is {info.scope!r}; fix: use one of {', '.join(SCOPES)}"
        for channel in info.channels:
            unit = UNITS.get(channel.quantity, channel.unit)
            yield from (
                all(map(is_stated, (channel.name, channel.quantity, channel.unit)))
                or f"a channel without name, quantity or unit: {channel}; fix: give all three",
                unit == channel.unit
                or f"{channel.name} is {channel.quantity} in {channel.unit}; fix: convert it to {unit}",
                (channel.range is None or channel.range[0] < channel.range[1])
                or f"{channel.name} has the range {channel.range}; fix: give [lowest, highest]",
            )

    @check()
    def test_samples(self, kit: ProbeKit) -> Iterator[object]:
        """Stamps rise and are of the monotonic clock; one value a channel and stamp."""
        run, stated_hz = kit.live, kit.info.rate_hz
        stamps = np.concatenate([chunk.stamps_ns for chunk in run.chunks] or [np.zeros(0, np.int64)])
        rate_hz = _rate_hz(stamps)
        seen = "no two samples" if rate_hz is None else f"{rate_hz:.1f} samples a second"
        kit.note(f"{kit.name}: {seen}, {stated_hz:g} are stated")
        failed, rejected = run.reports.get("failed"), run.reports.get("rejected")
        if rejected:
            kit.note(f"{kit.name}: readings were rejected, the last ones begin with {rejected.first[:1]}")
        if rate_hz is None and stated_hz * self.window_s >= LEAST_SAMPLES:
            rate_hz = len(stamps) / self.window_s
        yield from (
            not run.problem or f"it sent no frames: {run.problem}; fix: write nothing to descriptor 1",
            failed is None
            or f"it failed while it sampled: {failed.reason}; fix: give a value that is not a number",
            len(stamps) > 0 or "it gave no sample; fix: give one after stop() at the latest",
            # Peaks are judged by the stated rate: they are less well known where it is not kept.
            (rate_hz is None or rate_hz >= LEAST_OF_RATE * stated_hz)
            or f"{rate_hz or 0.0:.3g} samples a second came and {stated_hz:g} are stated"
            "; fix: state the rate that it keeps as rate_hz, or sample as often",
            (np.diff(stamps) > 0).all() or "its stamps do not rise; fix: take each stamp after its sample",
            ((stamps >= run.began_ns) & (stamps <= run.ended_ns)).all()
            or "its stamps are not of the monotonic clock: they are outside the run"
            "; fix: take time.monotonic() * 1e9 (Python 3.6 has no monotonic_ns), never time.time()",
        )
        names = {channel.name for channel in kit.info.channels}
        for chunk in run.chunks:
            yield (
                set(chunk.values) == names
                or f"a chunk has the channels {sorted(chunk.values)}, info has {sorted(names)}"
                "; fix: give every channel of info in every chunk"
            )
            for name, values in chunk.values.items():
                yield (
                    not np.isinf(values).any() or f"{name} is infinite; fix: give NaN where it cannot be read"
                )

    @check()
    def test_it_ends_when_it_is_told(self, kit: ProbeKit) -> Rows:
        """stop() ends the iteration soon, from a signal handler too."""
        return [
            kit.live.ended
            or f"it still ran {self.stop_s:g} s after stop(); fix: let stop() set a flag that every round of "
            "the loop reads, and sleep briefly: the agent kills a probe that stays, and loses its samples"
        ]


def _rate_hz(stamps_ns: NDArray[np.int64]) -> float | None:
    """Samples a second from the first to the last; None below two, or where the stamps do not rise."""
    span_ns = int(stamps_ns[-1] - stamps_ns[0]) if len(stamps_ns) else 0
    return (len(stamps_ns) - 1) * 1e9 / span_ns if span_ns > 0 else None


def _takes_one(opens: Any) -> bool:
    try:
        inspect.signature(opens).bind("address")
    except TypeError:
        return False
    return True
