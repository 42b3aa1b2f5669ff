"""Meters on their own: which can be read on a machine, and what one of them says over a while."""

from __future__ import annotations

import fcntl
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench import registry
from edgebench.errors import UnavailableError
from edgebench.interruption import held_interrupt
from edgebench.link.agent_backend import open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.replies import ProbeAccess
from edgebench.link.session_probes import BOARD, SessionProbes
from edgebench.records.session import Channel, ProbeChunk, ProbeInfo, headline_channels
from edgebench.records.target import Target
from edgebench.registry import HOST
from edgebench.results.meters import UNITS, as_watts
from edgebench.results.tables import ProbeTableWriter
from edgebench.results.writing import as_stored_result_error
from edgebench.stats.power import GAP_PERIODS, GAP_SHARE, PowerTotals, not_connected_reason

# The figures of one meter's channels, from its samples as they come: memory holds none but the last ones.


class RecordedFigures:
    """Those of each power or energy channel of a meter.

    Args:
        channels: of the meter.

    Attributes:
        readings: how many numbers its channels of power and energy gave.
        duration_s: from the first sample to the last, whatever they are of.
    """

    def __init__(self, channels: Iterable[Channel] = ()) -> None:
        self._rails = [_Rail(channel) for channel in channels if channel.quantity in UNITS]
        headline = headline_channels(rail.channel for rail in self._rails)
        self._headline = next((rail for rail in self._rails if rail.channel in headline), None)
        self._span_ns: tuple[int, int] | None = None

    @property
    def readings(self) -> int:
        """Number of readings of all its rails."""
        return sum(rail.readings for rail in self._rails)

    @property
    def duration_s(self) -> float:
        """0 for no sample."""
        return 0.0 if self._span_ns is None else (self._span_ns[1] - self._span_ns[0]) / 1e9

    def add(self, chunk: ProbeChunk) -> tuple[str, float] | None:
        """Take in a chunk; the channel of the meter's headline and its mean power in W over the chunk.

        None where the chunk says nothing of it. A counter of energy is read from the chunk before on.
        """
        if not len(chunk.stamps_ns):
            return None
        first_ns, last_ns = int(chunk.stamps_ns.min()), int(chunk.stamps_ns.max())
        if self._span_ns is not None:
            first_ns, last_ns = min(first_ns, self._span_ns[0]), max(last_ns, self._span_ns[1])
        self._span_ns = first_ns, last_ns
        newest = None
        for rail in self._rails:
            if rail.channel.name in chunk.values:
                watts = rail.add(chunk.stamps_ns, chunk.values[rail.channel.name])
                if rail is self._headline and len(watts):
                    newest = rail.channel.name, float(watts.mean())
        return newest

    def rails(self, info: ProbeInfo) -> list[dict[str, Any]]:
        """The figures of each; a missing figure has the value None.

        `channel`, `total`, `mean_w`, `peak_w`, `energy_j`, `rate_hz` (stated), `effective_hz`,
        `longest_gap_s`, `samples`, `read_s` (from the first reading to the last, without the longest hole
        where that leaves no mean), and `reason`, why there is no mean.
        """
        return [rail.figures(info.rate_hz) for rail in self._rails]

    def headline(self, info: ProbeInfo) -> dict[str, Any] | None:
        """The figures of the main rail, as `rails` has them; None without one."""
        return None if self._headline is None else self._headline.figures(info.rate_hz)


class _Rail:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.readings = 0
        self._totals = PowerTotals()
        self._scale = UNITS[channel.quantity].get(channel.unit, float("nan"))
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] = np.empty(0, np.int64), np.empty(0)

    def add(self, t_ns: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take in readings; the finite power in W that they say."""
        finite = np.isfinite(values)
        self.readings += int(finite.sum())
        if self.channel.quantity == "energy":
            # Power is what a counter counted since its last reading.
            t_ns, values = np.append(self._last[0], t_ns[finite]), np.append(self._last[1], values[finite])
            self._last = t_ns[-1:], values[-1:]
        t_ns, watts = as_watts(self.channel.quantity, t_ns, values * self._scale)
        self._totals.add(t_ns, watts)
        return watts[np.isfinite(watts)]

    def figures(self, rate_hz: float) -> dict[str, Any]:
        window = self._totals.window()
        if self.channel.total and (window.mean_w, window.peak_w) == (0.0, 0.0):
            reason = not_connected_reason(np.zeros(window.samples))
            window = replace(window, mean_w=None, peak_w=None, reason=reason) if reason else window
        return {
            "channel": self.channel.name,
            "total": self.channel.total,
            "mean_w": window.mean_w,
            "peak_w": window.peak_w,
            "energy_j": None if window.mean_w is None else window.mean_w * window.window_s,
            "effective_hz": window.effective_hz,
            "longest_gap_s": window.longest_gap_s,
            "rate_hz": rate_hz,
            "samples": window.samples,
            "read_s": window.window_s - (window.longest_gap_s or 0.0 if window.reason else 0.0),
            "reason": window.reason,
        }


# The file of a recording, Parquet or CSV: written as the samples come, at its place when it is whole.


PROBE_KEY = "edgebench.probe"
"""Key in the file's metadata: what the probe said of itself, as JSON with the fields of ProbeInfo."""


class RecordingFile:
    """One that is being written; what is not kept by the end of the context is removed.

    What a process that was killed has left of the same recording is removed by the next one.

    Args:
        path: where it will be; StoredResultError where that cannot be, here and in `keep`. One that ends in
            .csv becomes a table that the meter `csv:` plays: `t_ns`, and for each channel a column such as
            `VDD_IN_W`, empty where it has no reading.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f"{_temporary_prefix(path)}{secrets.token_hex(4)}")
        self._fault: OSError | None = None
        with as_stored_result_error(self._path, "{} cannot be written", "name another file with -o"):
            _remove_leftovers(path)
            self._table = ProbeTableWriter(self._temporary)
            self._being_written = _held(self._temporary)

    @property
    def full(self) -> bool:
        """Return True if the disk refused a sample: it and all after it are lost, and `keep` says so."""
        return self._fault is not None

    def write(self, chunk: ProbeChunk, info: ProbeInfo) -> None:
        """Append a chunk of the probe."""
        if self._fault is None:
            try:
                self._table.write(chunk, [info])
            except OSError as error:
                self._fault = error

    def keep(self, info: ProbeInfo) -> None:
        """Put the file at its place, in one step; its metadata say what its samples are of."""
        with as_stored_result_error(self._path, "{} cannot be written", "name another file with -o"):
            if self._fault is not None:
                raise self._fault
            self._table.close({PROBE_KEY: json.dumps(asdict(info))})
            if self._path.suffix.lower() == ".csv":
                _convert_to_csv(self._temporary)
            self._temporary.replace(self._path)

    def __enter__(self) -> RecordingFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._table.__exit__(None, None, None)
        self._temporary.unlink(missing_ok=True)
        self._being_written.close()


def _convert_to_csv(path: Path) -> None:
    """Replace the Parquet table by CSV, one row for each time."""
    rows = pd.read_parquet(path, columns=["channel", "unit", "t_ns", "value"])
    rows["column"] = rows["channel"].astype(str) + "_" + rows["unit"].astype(str)
    rows = rows.drop_duplicates(["t_ns", "column"], keep="last")  # a meter may read twice at one time
    wide = rows.pivot(index="t_ns", columns="column", values="value")
    with path.open("w", encoding="utf-8") as file:
        wide.to_csv(file)
        file.flush()
        os.fsync(file.fileno())


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.writing-"


def _held(path: Path) -> BinaryIO:
    """The file with a lock by which others see that it is being written, until it is closed."""
    file = path.open("rb")
    with suppress(OSError):  # some network file systems have none
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return file


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of this recording that no process writes any more."""
    with os.scandir(path.parent) as entries:
        leftovers = [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(_temporary_prefix(path)) and entry.is_file(follow_symlinks=False)
        ]
    for leftover in leftovers:
        with suppress(OSError), leftover.open("rb") as file:  # one that is written, or another user's, stays
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()


CHECK_S = 1.5
"""For how long a check listens: two chunks of half a second come in it."""

LISTEN_S = 0.5


@dataclass(frozen=True)
class Recording:
    """Readings of a meter in the recorded time, if any, or the reason that it cannot be read.

    Attributes:
        meter: `kind:address`.
        info: what it says of itself; None where it cannot be read.
        figures: of its samples.
        reason, fix, step: why it cannot be read, the fix, and how far it came (`edgebench.probes.basics`).
        access: of what it is read from.
        ended: why it gave no more before the time was over.
        outage: that it was lost for a while, and why.
        recorded_s: for how long.
    """

    meter: str
    info: ProbeInfo | None
    figures: RecordedFigures
    reason: str = ""
    fix: str = ""
    step: str = ""
    access: ProbeAccess = field(default_factory=ProbeAccess)
    ended: str = ""
    outage: str = ""
    recorded_s: float = 0.0

    def rails(self) -> list[dict[str, Any]]:
        """The figures of each power or energy channel, as `RecordedFigures.rails` has them.

        `reason` tells as well which part of the recorded time has no readings, and so no energy, and why.
        """
        rails = self.figures.rails(self.info) if self.info else []
        for rail in rails:
            without_s = self.recorded_s - rail["read_s"]
            slack_s = max(LISTEN_S, GAP_PERIODS / rail["rate_hz"], GAP_SHARE * self.recorded_s)
            if without_s > slack_s:
                lack = (
                    f"there is no energy of {without_s:.3g} s of the {self.recorded_s:.3g} s recorded: no "
                    "reading came then"
                )
                causes = (self.ended, self.outage)
                rail["reason"] = "; ".join(filter(None, (rail["reason"], lack, *causes)))
        return rails

    def require_readings(self) -> ProbeInfo:
        """Describe the meter; UnavailableError, with the reason, where it gave no reading."""
        info = self.info
        if info is None:
            raise UnavailableError(f"{self.meter} cannot be read", why=self.reason, fix=self.fix)
        if not self.figures.readings:
            why = self.ended or "no sample came"
            if info.rejected:
                first = f", the first was {info.rejected_first[0]!r}" if info.rejected_first else ""
                why = f"{info.rejected} readings were rejected{first}"
            fix = "see its wiring and address, or `edgebench meters record` it for longer"
            raise UnavailableError(f"{self.meter} gave no reading of power", why=why, fix=fix)
        return info


class MeterBench:
    """The meters of one machine, through an agent there and, for those that are plugged in here, one here.

    Args:
        target: the machine; its host and Python count.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._devices: dict[str, AgentDevice] = {}

    def record(
        self,
        meter: str,
        duration_s: float | None,
        show: Callable[[str, float], None] = lambda channel, watts: None,
        file: RecordingFile | None = None,
    ) -> Recording:
        """Record a meter for this time, or until Ctrl-C, or until the disk is full.

        An interruption ends the recording and is no error.

        Args:
            meter: KIND[:ADDRESS].
            duration_s: None for no end.
            show: called with a channel and its newest watts.
            file: takes the samples as they come.
        """
        place = HOST if registry.samples_on_host(meter) else BOARD
        probes = SessionProbes((meter,), workers=())
        figures: RecordedFigures | None = None  # until the meter has said what it is

        def take() -> tuple[str, float] | None:
            """Take in what has come; the headline's newest power in W, where it says some."""
            nonlocal figures
            newest = None
            for chunk in probes.drain():
                [info] = probes.facts()[0]
                figures = figures or RecordedFigures(info.channels)
                if file is not None:
                    file.write(chunk, info)
                newest = figures.add(chunk) or newest
            return newest

        recorded_s = 0.0
        with self._device(place).sampling(probes, place) as listen:
            began_s = time.monotonic()
            end_s = math.inf if duration_s is None else began_s + duration_s
            try:
                while not probes.facts()[1] and not (file is not None and file.full):
                    left_s = min(LISTEN_S, end_s - time.monotonic())
                    if left_s <= 0:
                        break
                    listen(left_s)
                    with held_interrupt():  # else a chunk may be taken in by half
                        newest = take()
                    if newest is not None:
                        show(*newest)
            except KeyboardInterrupt:
                pass  # the samples so far are the recording
            recorded_s = time.monotonic() - began_s
        with held_interrupt():
            take()
        infos, reasons, _ = probes.facts()
        reason, refusal = reasons.get(meter, ""), probes.refusals.get(meter)
        read = {
            "reason": refusal.reason if refusal else reason,
            "fix": refusal.fix if refusal else "see `edgebench meters check`",
            "step": refusal.step if refusal else "",
        }
        return Recording(
            meter,
            infos[0] if infos else None,
            figures or RecordedFigures(infos[0].channels if infos else ()),
            **read,
            access=refusal.access if refusal else probes.accesses.get(meter, ProbeAccess()),
            ended=read["reason"] if infos else "",
            outage=probes.outages.get(meter, ""),
            recorded_s=recorded_s,
        )

    def close(self) -> None:
        """End the agents."""
        for device in self._devices.values():
            device.close()

    def _device(self, place: str) -> AgentDevice:
        if place not in self._devices:
            there = self._target if place == BOARD else Target(name="", device="")
            self._devices[place] = AgentDevice(open_link(there), (), locks=False)
        return self._devices[place]


def board_meters() -> list[str]:
    """The kinds of meters that are installed."""
    return [kind for kind in registry.loadable("edgebench.probes") if not registry.is_monitor(kind)]
