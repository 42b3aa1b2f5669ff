"""Probes that one agent runs: started, heard, and stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgebench import registry
from edgebench.agent.frames import Frame, ProtocolError
from edgebench.agent.sampler import MAX_VERBATIM
from edgebench.link.connection import Connection
from edgebench.link.placing import Placer
from edgebench.link.replies import ProbeAccess, ProbeReport, checked
from edgebench.records.session import ProbeChunk, ProbeInfo, TakeSamples
from edgebench.suggest import printable

NOT_ASKED = "no meter"
BOARD = "board"


class SessionProbes:
    """Probes of one session; one that is not opened, or ends, leaves its reason, not a failure.

    Args:
        meters: each `kind:address`.
        monitors: likewise; no figure depends on them, so their reasons are kept apart.
        workers: those whose processes a monitor watches.
        preferred: further meters, each `kind:address`, the first that can be read is used.
        take: called with each chunk as it comes; without it they are kept until `drain`.
    """

    def __init__(
        self,
        meters: Sequence[str],
        monitors: Sequence[str] = (),
        workers: Sequence[int] = (0,),
        *,
        preferred: Sequence[str] = (),
        take: TakeSamples | None = None,
    ) -> None:
        self._take = take
        self._workers = list(workers)
        self._preferred = tuple(dict.fromkeys(name for name in preferred if name not in meters))
        self._monitors = tuple(dict.fromkeys(monitor for monitor in monitors if monitor not in meters))
        self._meters = tuple(dict.fromkeys(meters))
        self._all = (*self._meters, *self._monitors)
        self._infos: dict[str, ProbeInfo] = {}
        self.accesses: dict[str, ProbeAccess] = {}
        self._reasons: dict[str, str] = {} if self._meters or self._preferred else {"": NOT_ASKED}
        self._chunks: deque[ProbeChunk] = deque()
        self.refusals: dict[str, ProbeReport] = {}
        self._lost: dict[str, str] = {}  # those that look for their device now, and why it was lost
        self.outages: dict[str, str] = {}
        self._started: set[str] = set()
        self._late: set[str] = set()  # their processes run, and sent nothing in time
        self.running = False
        self.latest_ns = 0  # the latest stamp that has arrived

    @property
    def metering(self) -> bool:
        """True while a probe with power or energy is open."""
        return self.running and any(info.is_meter for info in self._infos.values())

    def start(self, connection: Connection, placer: Placer, timeout_s: float, place: str = BOARD) -> None:
        """Start every probe of that place and wait until each has said what it is, or why it is not.

        Where this is cut short, `stop` ends those that were started before.
        """
        for meter in self._all:
            self._start_one(meter, connection, placer, timeout_s, place)
        self._await_reports(connection, timeout_s)
        for meter in self._preferred:
            self._start_one(meter, connection, placer, timeout_s, place)
            self._await_reports(connection, timeout_s)
            if meter in self._started and meter not in self._reasons:
                self._pass_over_the_better(meter)
                break

    def _start_one(
        self, meter: str, connection: Connection, placer: Placer, timeout_s: float, place: str
    ) -> None:
        kind, _, address = meter.partition(":")
        module = registry.probe_module(kind)
        if getattr(module, "PLACE", None) != place:
            self._reasons[meter] = f"{kind} does not sample on the {place}"
            return
        code = placer.place_code(registry.probe_files(module))
        message = {"op": "probe_start", "name": meter, "code": code, "address": address}
        self.running = True
        reply = connection.request({**message, "workers": self._workers}, timeout_s).message
        if "error" in reply:
            self._reasons[meter] = f"{meter}: the agent could not start it: {reply['error']}"
            return
        self._started.add(meter)

    def _await_reports(self, connection: Connection, timeout_s: float) -> None:
        if not connection.listen_until(lambda: not self._silent(), timeout_s):
            for meter in self._silent():
                self._late.add(meter)
                self._reasons[meter] = f"{meter}: it sent nothing within {timeout_s:g} s"

    def _pass_over_the_better(self, taken: str) -> None:
        """The preferred meter that is used says why those before it are not: they are not missing."""
        better = self._preferred[: self._preferred.index(taken)]
        reasons = {name: self._reasons.pop(name) for name in better}
        info = self._infos[taken]
        self._infos[taken] = replace(info, absent={**info.absent, **reasons})
        self._preferred = (taken,)  # what the others still send is nobody's

    def stop(self, connection: Connection, timeout_s: float) -> None:
        """End the probes; their last chunks have been heard when this returns."""
        if self.running:
            self.running = False
            connection.request({"op": "probe_stop"}, timeout_s)

    def hear(self, frame: Frame) -> None:
        """Take in one message of a probe; ProtocolError when it is invalid.

        Samples that come before the probe has said what it is are of a process that was given up.
        """
        report = checked(ProbeReport, frame.message)
        meter = report.probe
        if meter not in self._all and meter not in self._preferred:
            return
        if report.kind in {"missing", "failed", "ended"}:
            self._late.discard(meter)
        if report.kind == "info":
            if meter in self._infos:
                raise ProtocolError(f"{meter} announced itself twice: what its samples are of is unknown")
            self._infos[meter] = report.probe_info()
            self.accesses[meter] = report.access
        elif report.kind == "chunk" and meter in self._infos:
            self._store_chunk(_announced(report.chunk(frame.payload), self._infos[meter]))
        elif report.kind == "rejected" and meter in self._infos:
            info = self._infos[meter]
            first = (*info.rejected_first, *(printable(reading) for reading in report.first))
            count = info.rejected + report.count
            self._infos[meter] = replace(info, rejected=count, rejected_first=first[:MAX_VERBATIM])
        elif report.kind == "lost":
            self._lost[meter] = printable(report.reason)
            self.outages[meter] = f"{meter} was lost during the session: {self._lost[meter]}"
        elif report.kind == "back":
            if meter in self.outages:
                self.outages[meter] += "; it came back"
            self._lost.pop(meter, None)
        elif report.kind in {"missing", "failed"}:
            self.refusals[meter] = report
            fix = f" ({report.fix})" if report.fix else ""
            self._reasons[meter] = f"{meter.partition(':')[0]}: {report.reason}{fix}"
        elif meter not in self._reasons and not (report.asked and meter in self._infos):
            last = report.stderr_tail.strip().splitlines()
            how = last[-1] if last else report.signal or f"exit code {report.code}"
            when = " during the session" if meter in self._infos else ""
            self._reasons[meter] = f"{meter}: its process ended{when}: {how}"

    def resume(self) -> bool:
        """Go on in a further session with what was started; False where a probe of it has ended.

        Rejected readings and outages count from here on. One that took too long to open is not late any more
        once it has said what it is; until then its reason stands.
        """
        self.outages = {
            meter: f"{meter} was lost before the session: {why}" for meter, why in self._lost.items()
        }
        for meter, info in self._infos.items():
            self._infos[meter] = replace(info, rejected=0, rejected_first=())
            if meter in self._late:
                self._late.remove(meter)
                del self._reasons[meter]
        return self._late.issuperset(self._reasons)

    def drain(self) -> Iterator[ProbeChunk]:
        """The chunks that are kept here and not taken yet."""
        while self._chunks:
            yield self._chunks.popleft()

    def facts(self) -> tuple[tuple[ProbeInfo, ...], dict[str, str], dict[str, str]]:
        """The probes that were opened, by meter why it gave nothing or no more, and the same by monitor."""
        meters = {name: why for name, why in self._reasons.items() if name not in self._monitors}
        monitors = {name: why for name, why in self._reasons.items() if name in self._monitors}
        return tuple(self._infos.values()), meters, monitors

    def _store_chunk(self, chunk: ProbeChunk) -> None:
        if not len(chunk.stamps_ns):
            return
        self.latest_ns = max(self.latest_ns, int(chunk.stamps_ns.max()))
        if self._take is not None:
            self._take(chunk)
        else:
            self._chunks.append(chunk)

    def _silent(self) -> list[str]:
        return [meter for meter in self._started if meter not in self._infos and meter not in self._reasons]


def _announced(chunk: ProbeChunk, info: ProbeInfo) -> ProbeChunk:
    """The chunk, where it is of channels that its probe has."""
    unknown = set(chunk.values) - {channel.name for channel in info.channels}
    if unknown or not chunk.values:
        names = ", ".join(printable(repr(name)) for name in sorted(unknown)) or "no channel"
        raise ProtocolError(f"samples of {names}, which {chunk.probe} has not announced")
    return chunk
