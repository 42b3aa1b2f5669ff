"""Meters on their own: which can be read on a machine, and what one of them says over a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgebench import registry
from edgebench.errors import EdgeBenchError, UnavailableError
from edgebench.link.agent_backend import open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.replies import ProbeAccess
from edgebench.link.session_probes import BOARD, SessionProbes
from edgebench.measure.recorded_figures import RecordedFigures
from edgebench.measure.recording_file import RecordingFile
from edgebench.measure.signals import held_interrupt
from edgebench.registry import HOST
from edgebench.vocabulary.probe import ProbeInfo
from edgebench.vocabulary.target import Target

CHECK_S = 1.5
"""For how long a check listens: two chunks of half a second come in it."""

LISTEN_S = 0.5


@dataclass(frozen=True)
class MeterState:
    """Whether a meter can be read; one that cannot has no `info`, and `reason`, `fix` and `step`, how far it
    came (see `edgebench.probes.basics`). `access` is of what it is read from.
    """

    meter: str
    info: ProbeInfo | None
    reason: str = ""
    fix: str = ""
    step: str = ""
    access: ProbeAccess = field(default_factory=ProbeAccess)

    def as_error(self) -> EdgeBenchError:
        """The error of a command that needs it."""
        return UnavailableError(f"{self.meter} cannot be read", why=self.reason, fix=self.fix)


@dataclass(frozen=True)
class Recording:
    """What a meter said while it was listened to: the figures of its samples, and whether it lasted."""

    state: MeterState
    figures: RecordedFigures
    ended: str = ""  # why it gave no more before the time was over
    outage: str = ""  # that it was lost for a while, and why

    def rails(self) -> list[dict[str, Any]]:
        """The figures of each power or energy channel, as `RecordedFigures.rails` has them."""
        return self.figures.rails(self.state.info) if self.state.info else []

    @property
    def duration_s(self) -> float:
        """From the first sample to the last."""
        return self.figures.duration_s

    def require_readings(self) -> ProbeInfo:
        """What the meter is; UnavailableError, with the reason, where it gave no reading."""
        info = self.state.info
        if info is None:
            raise self.state.as_error()
        if not self.figures.readings:
            why = self.ended or "no sample came"
            if info.rejected:
                first = f", the first was {info.rejected_first[0]!r}" if info.rejected_first else ""
                why = f"{info.rejected} readings were rejected{first}"
            fix = "see `edgebench meters check`, or record for longer"
            raise UnavailableError(f"{self.state.meter} gave no reading of power", why=why, fix=fix)
        return info


class MeterBench:
    """The meters of one machine, through an agent there and, for those that are plugged in here, one here.

    Args:
        target: the machine; its host and Python count.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._devices: dict[str, AgentDevice] = {}

    def states(self, meters: Sequence[str]) -> list[MeterState]:
        """Which of these can be read, each opened for a moment."""
        return [self.record(meter, 0.0, _unheard).state for meter in meters]

    def checks(self, meters: Sequence[str]) -> list[Recording]:
        """What each of these says over CHECK_S."""
        return [self.check(meter, CHECK_S) for meter in meters]

    def check(self, meter: str, duration_s: float) -> Recording:
        """What one of them says over that time."""
        return self.record(meter, duration_s, _unheard)

    def record(
        self,
        meter: str,
        duration_s: float | None,
        show: Callable[[str, float], None],
        file: RecordingFile | None = None,
    ) -> Recording:
        """What a meter says over this time, or until Ctrl-C, or until the disk is full.

        An interruption ends the recording and is no error.

        Args:
            meter: KIND[:ADDRESS].
            duration_s: None for no end.
            show: called with a channel and its newest watts.
            file: takes the samples as they come.
        """
        place = HOST if registry.samples_on_host(meter) else BOARD
        probes = SessionProbes((meter,), worker=None)
        samples = _Samples(probes, file)
        with self._device(place).sampling(probes, place) as listen:
            try:
                if duration_s != 0.0:
                    _listen(samples, listen, duration_s, show)
            except KeyboardInterrupt:
                pass  # the samples so far are the recording
        with held_interrupt():
            samples.take()
        infos, reasons, _ = probes.facts()
        refusal = probes.refusals.get(meter)
        reason = refusal.reason if refusal else reasons.get(meter, "")
        fix = refusal.fix if refusal else "see `edgebench meters check`"
        access = refusal.access if refusal else probes.accesses.get(meter, ProbeAccess())
        step = refusal.step if refusal else ""
        state = MeterState(meter, infos[0] if infos else None, reason, fix, step, access)
        outage = probes.outages.get(meter, "")
        return Recording(state, samples.figures, reason if infos else "", outage)

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
    return [kind for kind in registry.names("edgebench.probes") if not registry.is_monitor(kind)]


class _Samples:
    """What has come of a meter: in its figures, and in its file where there is one."""

    def __init__(self, probes: SessionProbes, file: RecordingFile | None) -> None:
        self._figures: RecordedFigures | None = None
        self._probes = probes
        self._file = file

    @property
    def figures(self) -> RecordedFigures:
        """Those of what has come so far; of no channel until the meter has said what it is."""
        if self._figures is None:
            infos = self._probes.facts()[0]
            if not infos:
                return RecordedFigures()
            self._figures = RecordedFigures(infos[0].channels)
        return self._figures

    @property
    def over(self) -> bool:
        """Whether nothing more comes, or can be kept."""
        return bool(self._probes.facts()[1]) or (self._file is not None and self._file.full)

    def take(self) -> tuple[str, float] | None:
        """Take in what has come since the last time; the headline's newest power in W, where it says some."""
        newest = None
        for chunk in self._probes.drain():
            if self._file is not None:
                self._file.write(chunk, self._probes.facts()[0][0])
            newest = self.figures.add(chunk) or newest
        return newest


def _listen(
    samples: _Samples,
    listen: Callable[[float], None],
    duration_s: float | None,
    show: Callable[[str, float], None],
) -> None:
    end_s = None if duration_s is None else time.monotonic() + duration_s
    while not samples.over:
        left_s = LISTEN_S if end_s is None else min(LISTEN_S, end_s - time.monotonic())
        if left_s <= 0:
            return
        listen(left_s)
        with held_interrupt():  # else a chunk may be taken in by half
            newest = samples.take()
        if newest is not None:
            show(*newest)


def _unheard(channel: str, watts: float) -> None:
    """Nobody watches."""
