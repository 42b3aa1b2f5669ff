"""Probes that sample on this machine beside the sessions of a lane: a USB meter, a meter on the network.

An agent here runs them in processes of their own, from the first session that asks for one until `close`.
Their stamps are of this machine's clock; `end_session` brings those of a session to its device's clock.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edgebench.agent.clock import ENVIRONMENT as TEST_CLOCK
from edgebench.agent.frames import Frame, ProtocolError
from edgebench.cache.objects import Cache
from edgebench.errors import EdgeBenchError
from edgebench.link.agent_device import SIGN_OF_LIFE_S
from edgebench.link.connection import Connection, LinkLost
from edgebench.link.local import LocalLink
from edgebench.link.placing import Placer
from edgebench.link.session_probes import SessionProbes
from edgebench.link.timeouts import Timeouts
from edgebench.link.zipapp import agent_file
from edgebench.registry import HOST
from edgebench.stats.clock import ClockFit
from edgebench.vocabulary.probe import ProbeChunk, ProbeInfo

LAST_SAMPLES_S = 3.0
"""How long the samples up to a session's end are waited for: a chunk comes about every half second."""

AHEAD_NS = 1_000_000_000
"""How far a stamp may lie ahead of the clock that it was read from: rounding is less."""


@dataclass(frozen=True)
class HostSamples:
    """What the host's probes gave to one session: as its own probes' facts are, and the chunks."""

    probes: tuple[ProbeInfo, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    chunks: list[ProbeChunk] = field(default_factory=list)


class HostProbes:
    """The probes on this machine; nothing that they do or fail to do ends a session.

    One that cannot be opened, or has died, is tried again at the next session; one that takes long to open
    is left to it, and samples for the sessions that begin afterwards.
    """

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts.from_environment()
        self._connection: Connection | None = None
        self._probes: dict[str, SessionProbes] = {}
        self._faults: dict[str, str] = {}  # by probe, why it is not heard any more
        self._later: dict[str, list[ProbeChunk]] = {}  # what reaches beyond the last session's end
        self._names: tuple[str, ...] = ()  # of the session in hand
        self._asked_s = 0.0

    def begin_session(self, names: Sequence[str]) -> bool:
        """Have these probes, each `kind:address`, sample from now on; whether one of them is a meter."""
        self._names = tuple(dict.fromkeys(names))
        self.poll()
        try:
            for name in self._names:
                self._require(name)
        except (LinkLost, ProtocolError, EdgeBenchError, OSError) as error:
            self._fail(error)
        return any(self._probes[name].metering for name in self._names if name in self._probes)

    def poll(self) -> None:
        """Take in what has been sampled; never waits."""
        if self._connection is None:
            return
        try:
            self._connection.poll()
            if time.monotonic() - self._asked_s > SIGN_OF_LIFE_S:
                self._asked_s = time.monotonic()
                self._connection.request({"op": "clock"}, self._timeouts.connect)
        except (LinkLost, ProtocolError) as error:
            self._fail(error)
        for name, probe in self._probes.items():
            if name not in self._names:
                self._later[name] = list(probe.drain())[-1:]

    def state(self) -> HostSamples:
        """What the session's probes are, and why others are not; without samples."""
        infos: list[ProbeInfo] = []
        reasons: dict[str, str] = {}
        for name in self._names:
            probe = self._probes.get(name)
            known, why, _ = probe.facts() if probe else ((), {}, {})
            infos += [replace(info, place=HOST) for info in known]
            reasons |= why
            if name in self._faults:
                reasons[name] = self._faults[name]
        return HostSamples(tuple(infos), reasons)

    def end_session(self, fit: ClockFit | None) -> HostSamples:
        """What was sampled while the session ran, on the device's clock.

        Args:
            fit: the session's; its span is the session. None where the clocks were never matched: there is
                no place in the session for any sample then.
        """
        if fit is not None:
            self._wait_until(fit.to_ns)
        state = self.state()
        chunks: list[ProbeChunk] = []
        for name in self._names:
            sampled = self._sampled(name)
            if fit is None:
                state.reasons.setdefault(
                    name,
                    f"{name}: its clock, this machine's, was not matched with the device's",
                )
                continue
            inside = [part for chunk in sampled if (part := _within(chunk, fit)) is not None]
            self._later[name] = [chunk for chunk in sampled if chunk.stamps_ns[-1] > fit.to_ns]
            if not inside:
                state.reasons.setdefault(name, f"{name}: none of its samples fell into the session")
            chunks += inside
        bound_ns = None if fit is None else fit.bound_ns
        self._names = ()
        return HostSamples(
            tuple(replace(info, clock_bound_ns=bound_ns) for info in state.probes), state.reasons, chunks
        )

    def close(self) -> None:
        """End the probes and their agent; safe to call twice."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(LinkLost, ProtocolError):
            if any(probe.running for probe in self._probes.values()):
                connection.request({"op": "probe_stop"}, self._timeouts.stop)
        connection.close()
        self._probes.clear()

    def _require(self, name: str) -> None:
        """Start a probe that does not sample; its reason, or what it is, is known afterwards."""
        connection = self._alive()
        probe = self._probes.get(name)
        if probe is not None and name not in self._faults and probe.resume():
            return
        self._faults.pop(name, None)
        self._later.pop(name, None)
        self._probes[name] = probe = SessionProbes((name,), worker=None)
        placer = Placer(connection, shares_files=True, timeout_s=self._timeouts.connect, name="this machine")
        probe.start(connection, placer, self._timeouts.probe, HOST)

    def _alive(self) -> Connection:
        if self._connection is None or not self._connection.alive:
            self.close()
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
            if probe.latest_ns > time.monotonic_ns() + AHEAD_NS:
                raise ProtocolError("stamps of a time to come, by this machine's monotonic clock")
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
        self.poll()
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

    def _sampled(self, name: str) -> list[ProbeChunk]:
        probe = self._probes.get(name)
        return [*self._later.pop(name, ()), *(probe.drain() if probe else ())]


def _within(chunk: ProbeChunk, fit: ClockFit) -> ProbeChunk | None:
    """The samples of a session and the one after it, on the device's clock; None where there are none."""
    before = chunk.stamps_ns < fit.from_ns
    after = chunk.stamps_ns > fit.to_ns
    keep = ~before & ~after
    keep |= after & (np.cumsum(after) == 1) if keep.any() else False
    if not keep.any():
        return None
    stamps = fit.stamps_to_device(chunk.stamps_ns[keep])
    return ProbeChunk(chunk.probe, stamps, {name: values[keep] for name, values in chunk.values.items()})
