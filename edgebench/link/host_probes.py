"""Probes that sample on this machine during the sessions of a host: a USB meter, a meter on the network.

An agent here runs them in processes of their own, from the first session that asks for one until `close`.
Their stamps are of this machine's clock; `end_session` brings those of a session to its device's clock.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from edgebench.agent.clock import ENVIRONMENT as TEST_CLOCK
from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import EdgeBenchError
from edgebench.link.agent_device import SIGN_OF_LIFE_S
from edgebench.link.connection import Connection, LinkLost
from edgebench.link.host_lag import lag_of
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.placing import Placer
from edgebench.link.session_loop import Timeouts
from edgebench.link.session_probes import SessionProbes
from edgebench.prepare.cache import Cache
from edgebench.records.session import BurstTimes, MeterLag, ProbeChunk, ProbeInfo, probe_name
from edgebench.registry import HOST
from edgebench.stats.clock import ClockFit

# Samples on disk while they are taken: a file per probe, read back in their order. Memory holds one chunk.


_CHUNK = pa.schema(
    [
        ("channels", pa.list_(pa.string())),
        ("stamps_ns", pa.list_(pa.int64())),
        ("values", pa.list_(pa.float64())),  # of one channel after the other
    ]
)
"""Columns of a spooled file, an Arrow IPC stream with one row per chunk."""


class SampleSpool:
    """Chunks of some probes on disk.

    Args:
        folder: of the files; made with the first chunk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._writers: dict[str, pa.RecordBatchStreamWriter] = {}
        self._fault: OSError | None = None
        self._closed = False
        self._lock = threading.Lock()  # a thread may still add what comes while the session ends

    @property
    def probes(self) -> list[str]:
        """The probes that have given a chunk."""
        return list(self._files)

    def add(self, chunk: ProbeChunk) -> None:
        """Append a chunk to those of its probe. Never raises.

        If the disk refuses, this chunk and all that follow are lost, and `require_written` raises.
        """
        if not len(chunk.stamps_ns):
            return
        values = np.concatenate([np.asarray(column, np.float64) for column in chunk.values.values()])
        row = pa.record_batch(
            [
                pa.array([list(chunk.values)], _CHUNK.field("channels").type),
                pa.ListArray.from_arrays([0, len(chunk.stamps_ns)], pa.array(chunk.stamps_ns, pa.int64())),
                pa.ListArray.from_arrays([0, len(values)], pa.array(values)),
            ],
            schema=_CHUNK,
        )
        with self._lock:
            if self._fault is not None or self._closed:
                return
            try:
                if chunk.probe not in self._files:
                    self._add_file(chunk.probe)
                self._writers[chunk.probe].write_batch(row)
            except OSError as error:
                self._fault = error

    def require_written(self) -> None:
        """Raise OSError if a chunk could not be written."""
        if self._fault is not None:
            raise self._fault

    def chunks(self, probe: str) -> Iterator[ProbeChunk]:
        """Read the chunks of one probe that were added so far, in their order. Raises OSError."""
        self.require_written()
        if probe not in self._files:
            return
        with self._lock:
            self._files[probe].flush()
        with Path(self._files[probe].name).open("rb") as file, pa.ipc.open_stream(file) as rows:
            for row in rows:
                channels = row["channels"][0].as_py()
                values = row["values"].flatten().to_numpy().reshape(len(channels), -1)
                stamps_ns = row["stamps_ns"].flatten().to_numpy()
                yield ProbeChunk(probe, stamps_ns, dict(zip(channels, values, strict=True)))

    def close(self) -> None:
        """Remove the files, and take in nothing more; safe to call twice."""
        with self._lock:
            self._closed = True
            self._writers.clear()
            for file in self._files.values():
                with contextlib.suppress(OSError):  # what a full disk did not take is not wanted any more
                    file.close()
                Path(file.name).unlink(missing_ok=True)
            self._files.clear()

    def _add_file(self, probe: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / f"{len(self._files)}.arrow").open("xb")
        self._files[probe] = file
        self._writers[probe] = pa.ipc.new_stream(file, _CHUNK)


LAST_SAMPLES_S = 3.0
"""Seconds to wait for the samples up to a session's end: a chunk comes about every half second."""

AHEAD_NS = 1_000_000_000
"""Most lead of a stamp over the clock that it was read from: rounding is less."""

HEAR_EVERY_S = 0.25
"""A pass may take half an hour: what the probes send is read meanwhile, before their pipe is full."""

REFILL_S = 0.005
"""A pipe holds 64 KiB, a chunk of 100 kHz twelve times that: the agent has this long to send more of it."""


class DeviceTimeSamples:
    """A host probe's samples of one session, on the device's clock; read from the disk each time.

    Args:
        spool: what was sampled.
        probe: of it.
        fit: the session's, whose span is the session.
        lag_ns: by how much its stamps are late.
    """

    def __init__(self, spool: SampleSpool, probe: str, fit: ClockFit, lag_ns: int = 0) -> None:
        self._spool = spool
        self._probe = probe
        self._fit = fit
        self._lag_ns = lag_ns

    def __iter__(self) -> Iterator[ProbeChunk]:
        for chunk in self._spool.chunks(self._probe):
            if (within := _within(chunk, self._fit, self._lag_ns)) is not None:
                yield within


@dataclass(frozen=True)
class HostSamples:
    """Facts of the host's probes in one session, as its own probes have them, and chunks by probe."""

    probes: tuple[ProbeInfo, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    chunks: Mapping[str, Iterable[ProbeChunk]] = field(default_factory=dict)


class HostProbes:
    """The probes on this machine; nothing that they do or fail to do ends a session.

    One that cannot be opened, or has died, is tried again at the next session; one that takes long to open
    is left to it, and samples for the sessions that begin afterwards. A thread takes in what they send, from
    the first session with one until `close`.
    """

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts.from_environment()
        self._connection: Connection | None = None
        self._probes: dict[str, SessionProbes] = {}
        self._faults: dict[str, str] = {}  # by probe, why it is not heard any more
        self._latest: dict[str, ProbeChunk] = {}  # by probe: it may reach into the next session
        self._names: tuple[str, ...] = ()  # of the session in hand
        self._spool: SampleSpool | None = None  # likewise
        self._asked_s = 0.0
        self._lock = threading.RLock()  # held by whoever uses the connection, or what is known of the probes
        self._ending = threading.Event()
        self._hearing: threading.Thread | None = None

    def begin_session(self, names: Sequence[str], spool: SampleSpool | None = None) -> bool:
        """Have these probes, each `kind:address`, sample from now on; whether one of them is a meter.

        Args:
            names: of the probes.
            spool: takes what they sample, until `end_session`; None where they are not wanted.
        """
        with self._lock:
            self._poll()
            self._names = tuple(dict.fromkeys(names))
            self._spool = spool
            for name in self._names:
                if spool is not None and name in self._latest:
                    spool.add(self._latest[name])
            try:
                for name in self._names:
                    self._require(name)
            except (LinkLost, ProtocolError, EdgeBenchError, OSError) as error:
                self._fail(error)
            if self._names and self._hearing is None:
                self._hearing = threading.Thread(target=self._hear_until_closed, daemon=True)
                self._hearing.start()
            return any(self._probes[name].metering for name in self._names if name in self._probes)

    def state(self) -> HostSamples:
        """Return the session's probes and the reasons of those that are missing; without samples."""
        infos: list[ProbeInfo] = []
        reasons: dict[str, str] = {}
        with self._lock:
            for name in self._names:
                probe = self._probes.get(name)
                known, why, _ = probe.facts() if probe else ((), {}, {})
                infos += [replace(info, place=HOST) for info in known]
                reasons |= {**(probe.outages if probe else {}), **why}
                if name in self._faults:
                    reasons[name] = self._faults[name]
        return HostSamples(tuple(infos), reasons)

    def end_session(self, fit: ClockFit | None, bursts: BurstTimes | None = None) -> HostSamples:
        """Return the samples of the session, on the device's clock. Raises OSError if the disk refused them.

        Args:
            fit: the session's; its span is the session. None where the clocks were never matched: there is
                no place in the session for any sample then.
            bursts: the load bursts of the session, which tell how late each meter's stamps are.
        """
        lags: dict[str, MeterLag | None] = {}
        with self._lock:
            if fit is not None:
                self._wait_until(fit.to_ns)
                lags = self._lags(fit, bursts)
                late_ns = max((lag.applied_ns for lag in lags.values() if lag), default=0)
                if late_ns > 0:
                    self._wait_until(fit.to_ns + late_ns)
            state = self.state()
            names, spool = self._names, self._spool
            self._names, self._spool = (), None
        chunks: dict[str, Iterable[ProbeChunk]] = {}
        for name in names:
            if fit is None:
                why = f"{name}: its clock, this machine's, was not matched with the device's"
                state.reasons.setdefault(name, why)
                continue
            lag = lags.get(probe_name(name))
            lag_ns = lag.applied_ns if lag else 0
            samples = () if spool is None else DeviceTimeSamples(spool, name, fit, lag_ns)
            if not any(True for _ in samples):
                state.reasons.setdefault(name, f"{name}: none of its samples fell into the session")
            else:
                chunks[name] = samples
        bound_ns = None if fit is None else fit.bound_ns
        infos = tuple(
            replace(info, clock_bound_ns=bound_ns, lag=lags.get(info.name)) for info in state.probes
        )
        return HostSamples(infos, state.reasons, chunks)

    def close(self) -> None:
        """End the probes and their agent; safe to call twice."""
        self._ending.set()
        if self._hearing is not None:
            self._hearing.join()
            self._hearing = None
        self._ending.clear()
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(LinkLost, ProtocolError):
            if any(probe.running for probe in self._probes.values()):
                connection.request({"op": "probe_stop"}, self._timeouts.stop)
        connection.close()
        self._probes.clear()

    def _hear_until_closed(self) -> None:
        wait_s = HEAR_EVERY_S
        while not self._ending.wait(wait_s):
            with self._lock:
                wait_s = REFILL_S if self._poll() else HEAR_EVERY_S

    def _poll(self) -> int:
        """Take in what has been sampled; never waits. How many bytes there were."""
        if self._connection is None:
            return 0
        heard_bytes = 0
        try:
            heard_bytes = self._connection.poll()
            if time.monotonic() - self._asked_s > SIGN_OF_LIFE_S:
                self._asked_s = time.monotonic()
                self._connection.request({"op": "clock"}, self._timeouts.connect)
        except (LinkLost, ProtocolError) as error:
            self._fail(error)
        return heard_bytes

    def _require(self, name: str) -> None:
        """Start a probe that does not sample; its reason, or what it is, is known afterwards."""
        connection = self._alive()
        probe = self._probes.get(name)
        if probe is not None and name not in self._faults and probe.resume():
            return
        self._faults.pop(name, None)
        self._latest.pop(name, None)
        self._probes[name] = probe = SessionProbes((name,), workers=(), take=self._take)
        placer = Placer(connection, shares_files=True, timeout_s=self._timeouts.connect, name="this machine")
        probe.start(connection, placer, self._timeouts.probe, HOST)

    def _alive(self) -> Connection:
        if self._connection is None or not self._connection.alive:
            self._disconnect()
            self._faults.clear()
            agent, _ = agent_file(Cache())
            # A clock that a test moves is the device's, and never that of this machine.
            process = LocalLink(agent, without=(TEST_CLOCK,)).start()
            self._connection = Connection(process, self._hear, self._timeouts.connect)
            self._asked_s = time.monotonic()
        return self._connection

    def _hear(self, frame: Frame) -> None:
        name = str(frame.message.get("probe"))
        probe = self._probes.get(name)
        if frame.message.get("event") != "probe" or probe is None:
            return
        try:
            probe.hear(frame)
        except ProtocolError as error:
            self._faults.setdefault(name, f"{name}: what it sends cannot be understood: {error}")

    def _fail(self, error: Exception) -> None:
        """The agent is gone, or never came."""
        if self._connection is not None:
            self._connection.close()
        why = error.what if isinstance(error, EdgeBenchError) else f"the agent on this machine ended: {error}"
        for name in self._names:
            self._faults.setdefault(name, f"{name}: {why}")

    def _wait_until(self, host_ns: int) -> None:
        """Until every probe that samples has given what it saw up to then, for a few seconds at most."""
        self._poll()
        if self._connection is None or not self._connection.alive:
            return
        try:
            self._connection.listen_until(lambda: not self._behind(host_ns), LAST_SAMPLES_S)
        except (LinkLost, ProtocolError) as error:
            self._fail(error)

    def _behind(self, host_ns: int) -> bool:
        sampling = [name for name in self._names if name in self._probes and name not in self._faults]
        return any(
            self._probes[name].latest_ns < host_ns and not self._probes[name].facts()[1] for name in sampling
        )

    def _lags(self, fit: ClockFit, bursts: BurstTimes | None) -> dict[str, MeterLag | None]:
        """The lag of each of the session's probes, by its full name."""
        asked = {probe_name(name): name for name in self._names}
        return {
            info.name: lag_of(info, self._spool.chunks(asked[info.name]) if self._spool else (), fit, bursts)
            for info in self.state().probes
        }

    def _take(self, chunk: ProbeChunk) -> None:
        if int(chunk.stamps_ns.max()) > time.monotonic_ns() + AHEAD_NS:
            raise ProtocolError("stamps of a time to come, by this machine's monotonic clock")
        self._latest[chunk.probe] = chunk
        if self._spool is not None and chunk.probe in self._names:
            self._spool.add(chunk)


def _within(chunk: ProbeChunk, fit: ClockFit, lag_ns: int = 0) -> ProbeChunk | None:
    """The samples of a session and the one after it, on the device's clock; None without any."""
    stamps_ns = chunk.stamps_ns - lag_ns
    before = stamps_ns < fit.from_ns
    after = stamps_ns > fit.to_ns
    keep = ~before & ~after
    keep |= after & (np.cumsum(after) == 1) if keep.any() else False
    if not keep.any():
        return None
    stamps = fit.stamps_to_device(stamps_ns[keep])
    return ProbeChunk(chunk.probe, stamps, {name: values[keep] for name, values in chunk.values.items()})
