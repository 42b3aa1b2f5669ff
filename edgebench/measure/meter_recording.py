"""Meters on their own: which can be read on a machine, and what one of them says over a while."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench import registry
from edgebench.errors import EdgeBenchError, StoredResultError, UnavailableError
from edgebench.fit.power_summary import UNITS, as_watts
from edgebench.link.agent_backend import open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.session_probes import BOARD, SessionProbes
from edgebench.registry import HOST
from edgebench.stats.power import window_power
from edgebench.store.file_writing import write_table
from edgebench.store.tables import probe_rows
from edgebench.vocabulary.probe import Channel, ProbeChunk, ProbeInfo
from edgebench.vocabulary.target import Target

CHECK_S = 1.5
"""For how long a check listens: two chunks of half a second come in it."""

LISTEN_S = 0.5


@dataclass(frozen=True)
class MeterState:
    """Whether a meter can be read; one that cannot has no `info`, and `reason` and `fix`."""

    meter: str
    info: ProbeInfo | None
    reason: str = ""
    fix: str = ""

    def as_error(self) -> EdgeBenchError:
        """The error of a command that needs it."""
        return UnavailableError(f"{self.meter} cannot be read", why=self.reason, fix=self.fix)


@dataclass(frozen=True)
class Recording:
    """What a meter said while it was listened to: its samples as they came, and whether it lasted."""

    state: MeterState
    chunks: tuple[ProbeChunk, ...]
    ended: str = ""  # why it gave no more before the time was over

    def rails(self) -> list[dict[str, Any]]:
        """The figures of each power or energy channel; each figure that is missing is None.

        `channel`, `total`, `mean_w`, `peak_w`, `energy_j`, `rate_hz` (stated), `effective_hz`,
        `longest_gap_s`, `samples`, and `reason`, why there is no mean.
        """
        info = self.state.info
        if info is None:
            return []
        return [_rail(info, channel, self.chunks) for channel in _power_channels(info)]

    @property
    def duration_s(self) -> float:
        """From the first sample to the last."""
        stamps = [stamp for chunk in self.chunks for stamp in chunk.stamps_ns[[0, -1]]]
        return float(max(stamps) - min(stamps)) / 1e9 if stamps else 0.0


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
        return [self._sampled(meter, 0.0, _unheard).state for meter in meters]

    def checks(self, meters: Sequence[str]) -> list[Recording]:
        """What each of these says over CHECK_S."""
        return [self._sampled(meter, CHECK_S, _unheard) for meter in meters]

    def record(self, meter: str, duration_s: float | None, show: Callable[[str, float], None]) -> Recording:
        """What a meter says over this time, or until Ctrl-C; `show` has a channel and its newest watts.

        An interruption ends the recording and is no error.
        """
        return self._sampled(meter, duration_s, show)

    def close(self) -> None:
        """End the agents."""
        for device in self._devices.values():
            device.close()

    def _sampled(self, meter: str, duration_s: float | None, show: Callable[[str, float], None]) -> Recording:
        place = HOST if registry.samples_on_host(meter) else BOARD
        probes = SessionProbes((meter,), worker=None)
        chunks: list[ProbeChunk] = []
        with self._device(place).sampling(probes, place) as listen:
            try:
                if duration_s != 0.0:
                    _listen(probes, listen, duration_s, chunks, show)
            except KeyboardInterrupt:
                pass  # the samples so far are the recording
        chunks += probes.drain()
        infos, reasons, _ = probes.facts()
        refusal = probes.refusals.get(meter)
        reason = refusal.reason if refusal else reasons.get(meter, "")
        fix = refusal.fix if refusal else "see `edgebench meters check`"
        state = MeterState(meter, infos[0] if infos else None, reason, fix)
        return Recording(state, tuple(chunks), reason if infos else "")

    def _device(self, place: str) -> AgentDevice:
        if place not in self._devices:
            there = self._target if place == BOARD else Target(name="", device="")
            self._devices[place] = AgentDevice(open_link(there), (), locks=False)
        return self._devices[place]


def write_recording(recording: Recording, path: Path) -> None:
    """Write the samples as a Parquet file with the columns of `probes`, in one step.

    StoredResultError where that cannot be done.
    """
    infos = [recording.state.info] if recording.state.info else []
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write_table(temporary, probe_rows(recording.chunks, infos), "probes")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoredResultError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="name another file with -o"
        ) from error


def board_meters() -> list[str]:
    """The kinds of meters that are installed."""
    return [kind for kind in registry.names("edgebench.probes") if not registry.is_monitor(kind)]


def _listen(
    probes: SessionProbes,
    listen: Callable[[float], None],
    duration_s: float | None,
    chunks: list[ProbeChunk],
    show: Callable[[str, float], None],
) -> None:
    end_s = None if duration_s is None else time.monotonic() + duration_s
    while not probes.facts()[1]:
        left_s = LISTEN_S if end_s is None else min(LISTEN_S, end_s - time.monotonic())
        if left_s <= 0:
            return
        listen(left_s)
        fresh = list(probes.drain())
        infos = probes.facts()[0]
        newest = newest_power(infos[0], chunks[-1:], fresh) if infos and fresh else None
        chunks += fresh
        if newest is not None:
            show(*newest)


def newest_power(
    info: ProbeInfo, earlier: Sequence[ProbeChunk], fresh: Sequence[ProbeChunk]
) -> tuple[str, float] | None:
    """The channel of a meter's headline and its mean power in W over the fresh chunks.

    None where they say nothing of it. A counter of energy is read from the earlier chunks on.
    """
    channels = _power_channels(info)
    headline = next((channel for channel in channels if channel.total), channels[0] if channels else None)
    if headline is None:
        return None
    t_ns, watts = _watts(headline, [*earlier, *fresh])
    newest = watts[(t_ns >= fresh[0].stamps_ns[0]) & np.isfinite(watts)]
    return (headline.name, float(newest.mean())) if len(newest) else None


def _power_channels(info: ProbeInfo) -> list[Channel]:
    return [channel for channel in info.channels if channel.quantity in UNITS]


def _watts(channel: Channel, chunks: Sequence[ProbeChunk]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] and power float64 [n] in W of a channel of power or energy; NaN for unknown units."""
    own = [chunk for chunk in chunks if channel.name in chunk.values]
    t_ns = np.concatenate([chunk.stamps_ns for chunk in own] or [np.zeros(0, np.int64)])
    values = np.concatenate([chunk.values[channel.name] for chunk in own] or [np.zeros(0)])
    scale = UNITS[channel.quantity].get(channel.unit, float("nan"))
    return as_watts(channel.quantity, t_ns, values * scale)


def _rail(info: ProbeInfo, channel: Channel, chunks: Sequence[ProbeChunk]) -> dict[str, Any]:
    t_ns, watts = _watts(channel, chunks)
    stamps = np.unique(t_ns[np.isfinite(watts)])
    names = ("mean_w", "peak_w", "energy_j", "effective_hz", "longest_gap_s")
    figures: Mapping[str, Any] = dict.fromkeys(names)
    reason = f"{len(stamps)} samples"
    if len(stamps) > 1:
        window = window_power(t_ns, watts, int(stamps[0]), int(stamps[-1]))
        reason = window.reason
        figures = {
            "mean_w": window.mean_w,
            "peak_w": window.peak_w,
            "energy_j": None if window.mean_w is None else window.mean_w * window.window_s,
            "effective_hz": window.effective_hz,
            "longest_gap_s": window.longest_gap_s,
        }
    return {
        "channel": channel.name,
        "total": channel.total,
        **figures,
        "rate_hz": info.rate_hz,
        "samples": len(stamps),
        "reason": reason,
    }


def _unheard(channel: str, watts: float) -> None:
    """Nobody watches."""
