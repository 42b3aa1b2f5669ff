"""Answers of agents and workers: their schemas, and their times against those of the requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from edgebench.agent.frames import Frame, Message, ProtocolError
from edgebench.agent.timed import steady_after
from edgebench.records.session import BurstTimes, Channel, LoadBursts, ProbeChunk, ProbeInfo
from edgebench.stats.clock import MAX_DRIFT
from edgebench.suggest import printable

# A device's times against the times of the request. The agent reads the same clock as its worker, before a
# request and as it passes the reply on: the work lies between. The stamps within a pass are checked where a
# session takes it in (edgebench.run.measuring.session_record.take_in). All raise ImpossibleTimes.


ROUNDING_NS = 1_000
"""A Python 3.6 has its clock as a float, off by less after years; agent and worker may be of two Pythons."""

LAST_NS = 1 << 62

TIMED = 3
"""Stages that the worker stamps one after the other: patchify, preprocess, infer."""


class ImpossibleTimes(ProtocolError):
    """A time that cannot have been measured: the session has no estimates."""

    fix = (
        "repeat it with both machines awake and no clock being set (timedatectl, chronyc tracking); a device "
        "that goes on saying so is not to be believed"
    )


class Span(NamedTuple):
    """Time in which a request can have been worked on, on the clock of its stamps."""

    from_ns: int
    to_ns: int = LAST_NS


def require_within(what: str, start_ns: int, end_ns: int, span: Span) -> None:
    """It ends when it begins or later, and within the span of its request."""
    if end_ns < start_ns:
        raise ImpossibleTimes(f"{what} that began at {start_ns} ns and ended at {end_ns} ns of its clock")
    if start_ns < span.from_ns - ROUNDING_NS or end_ns > span.to_ns + ROUNDING_NS:
        raise ImpossibleTimes(
            f"{what} from {start_ns} to {end_ns} ns of its clock, where it was asked for after "
            f"{span.from_ns} and was over before {span.to_ns}"
        )


def require_fits(what: str, taken_ns: float, span: Span) -> None:
    """Refuse a duration without stamps that is longer than the request that it was part of."""
    whole_ns = span.to_ns - span.from_ns
    if taken_ns > whole_ns + ROUNDING_NS:
        raise ImpossibleTimes(f"{what} of {taken_ns / 1e9:.6g} s in a request of {whole_ns / 1e9:.6g} s")


def require_idle(start_ns: int, end_ns: int, idle_s: float, span: Span) -> None:
    """An idle window as long as it was asked for."""
    require_within("an idle window", start_ns, end_ns, span)
    if end_ns - start_ns < idle_s * 1e9 * (1 - MAX_DRIFT):
        raise ImpossibleTimes(f"an idle window of {(end_ns - start_ns) / 1e9:.6g} s, {idle_s:g} s were due")


def require_bursts(times: BurstTimes, plan: LoadBursts, span: Span) -> None:
    """Refuse load bursts or pauses of another number or of less length than requested."""
    require_within("load bursts", times.from_ns, times.bursts_ns[-1][1], span)
    if len(times.bursts_ns) != len(plan.pauses_s):
        raise ImpossibleTimes(f"{len(times.bursts_ns)} load bursts, {len(plan.pauses_s)} were due")
    idle_from_ns = times.from_ns
    for (start_ns, end_ns), pause_s in zip(times.bursts_ns, plan.pauses_s, strict=True):
        for what, taken_ns, due_s in (
            ("a pause", start_ns - idle_from_ns, pause_s),
            ("a load burst", end_ns - start_ns, plan.burst_s),
        ):
            if taken_ns < due_s * 1e9 * (1 - MAX_DRIFT):
                raise ImpossibleTimes(f"{what} of {taken_ns / 1e9:.6g} s, {due_s:g} s were due")
        idle_from_ns = end_ns


def batch_ns(stamps: NDArray[np.int64]) -> list[int]:
    """Return the duration of each batch, from patchify to the end of infer."""
    return [int(taken) for taken in stamps[:, TIMED - 1, 1] - stamps[:, 0, 0]]


class ClockSteps:
    """Steps in which the clock of a session's stamps moves, as far as its batches show them."""

    def __init__(self) -> None:
        self._coarse = False
        self._least_ns = 0

    def take_in(self, stamps: NDArray[np.int64]) -> None:
        """Stamps int64 [n, stages, 2] of n batches."""
        self._coarse = self._coarse or 0 in batch_ns(stamps)
        steps = np.diff(np.unique(stamps))
        if len(steps):
            self._least_ns = min(self._least_ns or int(steps.min()), int(steps.min()))

    @property
    def coarse_ns(self) -> int:
        """The smallest step, where any batch took no time; else 0."""
        return self._least_ns if self._coarse else 0

    def warnings(self) -> list[str]:
        """Warn that the clock cannot time a single batch, if any took no time."""
        if not self._coarse:
            return []
        return [
            f"the clock of the times moves in coarse steps, of {self._least_ns / 1e6:.3g} ms or more: a pass "
            "is known to a step, a single batch or stage lasts whole steps or 0, and a stage's sum over a "
            "pass is right on average only (CONFIG_HIGH_RES_TIMERS in its kernel makes them finer)"
        ]


def require_warm_up(batches: int, steady: bool, taken_ns: Sequence[int], floor: int, cap: int) -> None:
    """The warm-up follows from its stamps, and those of the first pass, by the rule that ends it.

    Args:
        batches: after how many batches it was over, as the device says.
        steady: whether the session was steady then.
        taken_ns: what each batch took, from the session's first on.
        floor: the least that the rule asks for.
        cap: the most.
    """
    least = steady_after(taken_ns, floor, cap)
    counted = min(len(taken_ns), cap) if least is None else least
    if (batches, steady) != (counted, least is not None):
        raise ImpossibleTimes(
            f"a warm-up of {batches} batches, {'steady' if steady else 'not steady'}, where its stamps are "
            f"of {len(taken_ns)} batches, {'not steady' if least is None else f'steady after {least}'}"
        )
    if least is None and len(taken_ns) < cap:
        raise ImpossibleTimes(f"a warm-up that ended after {len(taken_ns)} batches, {cap} were due")


Count = Annotated[int, Field(ge=0, lt=1 << 62)]
AboveZero = Annotated[int, Field(gt=0, lt=1 << 62)]
Seconds = Annotated[FiniteFloat, Field(gt=0)]


class Reply(BaseModel):
    """Fields that are not known are ignored: a newer agent may say more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Hello(Reply):
    """The agent's first words."""

    protocol: int
    python: str
    platform: str
    left_power_mode: str = ""  # by an agent that was killed


class LaunchFaults(Reply):
    """Reasons why a worker cannot start with its launch, each with its fix."""

    faults: tuple[tuple[str, str], ...]


class PowerModeObstacle(Reply):
    """Obstacle to a power mode; "" for none."""

    obstacle: str


class PutBack(Reply):
    """Result of putting a power mode back; "" if none was set."""

    text: str


class Room(Reply):
    """Free space on the disk that holds the board's folder."""

    free_bytes: Count


class ClockReading(Reply):
    """The device's monotonic clock: when its agent was asked, or passed on what a worker said."""

    now_ns: Count


class Started(Reply):
    """A worker's process was started, pinned to these cores; none where it was not pinned."""

    cores: tuple[Count, ...] = ()


class Memory(Reply):
    """Memory that programs can still take on the device without swapping."""

    available_bytes: Count


class InjectedClock(Reply):
    """Offset and drift by which a test moves the device's clock (see edgebench.agent.clock)."""

    offset_ns: int = Field(gt=-(1 << 62), lt=1 << 62)
    drift_ppm: FiniteFloat


class Loaded(Reply):
    """The runner is imported and the artifact loaded."""

    import_s: Seconds | None
    load_s: Seconds | None
    ready_s: Seconds | None = None  # from the worker's start until it could infer, hashes not included
    own_time: bool = False  # the runner's, which is not the device's clock
    tick_ns: AboveZero | None = None  # the smallest step of the clock of its stamps
    after_load_bytes: AboveZero | None
    runtime: dict[str, Any]
    numpy: str
    stages: tuple[str, ...] = Field(min_length=TIMED)
    test_clock: InjectedClock | None = None  # where its clock was moved on purpose


class Scored(Reply):
    """Scores [patches, classes] follow as float32."""

    shape: tuple[Count, Count]
    first_inference_ns: AboveZero | None = None
    first_result_ns: AboveZero | None = None  # the same batch, from its patchify on


class Passed(Scored):
    """Stamps int64 [batches, stages, 2], then scores."""

    start_ns: Count
    end_ns: Count
    stamps_bytes: Count
    peak_bytes: AboveZero | None
    due_ns: Count | None = None  # of a paced pass
    asked_ns: Count | None = None  # when the agent passed the request on


class Warmed(Reply):
    """End of the warm-up; stamps follow if it ran any batches."""

    batches: Count
    steady: bool
    start_ns: Count = 0
    end_ns: Count = 0


class BuildReply(Reply):
    """The file that a worker has built, or that lay there."""

    path: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: AboveZero
    seconds: float = Field(ge=0, allow_inf_nan=False)
    cached: bool


class Progressed(Reply):
    """Number of images, or of a build's steps, that a worker has done, and the device's clock as its agent
    passed that on.

    `total` is 0 where the number of steps is unknown; `text` says what is being done.
    """

    progress: Count
    total: Count = 0
    text: str = ""
    now_ns: Count


class Idle(Reply):
    """The idle window."""

    start_ns: Count
    end_ns: Count


class Bursts(Reply):
    """Bursts of load, and since when the device idled before the first."""

    start_ns: Count
    bursts: Annotated[tuple[tuple[Count, Count], ...], Field(min_length=1)]


class LeftRunning(Reply):
    """A process that a worker started, that outlives it, and that the agent cannot end."""

    pid: Count
    name: str = ""
    why: str = ""

    def words(self) -> str:
        """For the session's warnings."""
        text = f"process {self.pid} ({self.name[:50]}), which this session started, goes on: {self.why[:200]}"
        return printable(text)


class Ended(Reply):
    """End of a worker's process."""

    worker: Count = 0  # the number of its slot
    code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    limit_s: FiniteFloat | None = None  # after which it was ended
    out_of_memory: bool = False
    problem: str | None = None
    stderr_tail: str = ""
    left_running: tuple[LeftRunning, ...] = ()


class _Info(Reply):
    rate_hz: float = Field(gt=0)
    resolution: str
    scope: str
    channels: tuple[Channel, ...] = Field(min_length=1)
    absent: dict[str, str] = Field(default_factory=dict)
    averaging_ms: FiniteFloat | None = Field(default=None, gt=0)


class ProbeAccess(Reply):
    """Port of a probe: who may open it, and which other processes have it open; empty: unknown."""

    port: str = ""
    permission: str = ""
    held_by: tuple[str, ...] = ()


class ProbeReport(Reply):
    """One message of a probe's process."""

    probe: str
    kind: Literal["info", "missing", "failed", "chunk", "rejected", "lost", "back", "ended"]
    info: _Info | None = None
    reason: str = ""
    fix: str = ""
    step: str = ""  # how far it came that cannot be opened: edgebench.probes.basics
    access: ProbeAccess = ProbeAccess()
    n: Count = 0
    channels: tuple[str, ...] = ()
    count: Count = 0  # of readings that were rejected since it last told of any
    first: tuple[str, ...] = ()  # of them, verbatim
    stderr_tail: str = ""
    code: int | None = None  # of a process that ended
    signal: str | None = None
    asked: bool = False  # whether it ended because it was asked to

    def probe_info(self) -> ProbeInfo:
        """The probe as the record has it, under the name that it was asked for by."""
        if self.info is None:
            raise ProtocolError("a probe announced itself without saying what it is")
        kind, _, address = self.probe.partition(":")
        return ProbeInfo(kind, address, **dict(self.info))

    def chunk(self, payload: bytes) -> ProbeChunk:
        """Stamps int64 [n], then float64 [n] a channel."""
        if len(payload) != 8 * self.n * (1 + len(self.channels)):
            raise ProtocolError(f"a probe's chunk of {len(payload)} bytes for {self.n} samples")
        columns = np.frombuffer(payload, "<f8").reshape(1 + len(self.channels), self.n)
        stamps = columns[0].view("<i8").astype(np.int64)
        return ProbeChunk(
            self.probe, stamps, dict(zip(self.channels, columns[1:].astype(float), strict=True))
        )


AnyReply = TypeVar("AnyReply", bound=Reply)


def checked(kind: type[AnyReply], message: Message) -> AnyReply:
    """The message as what it should be; ProtocolError when it is not."""
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise ProtocolError(f"an answer that is no {kind.__name__}: {where}: {why}") from None


def stamps_in(data: bytes, stages: int, batches: int | None = None) -> NDArray[np.int64]:
    """Stamps int64 [batches, stages, 2], of however many batches there are where that is not known.

    ProtocolError when the bytes do not divide so.
    """
    if len(data) % (16 * stages):
        raise ProtocolError(f"{len(data)} bytes are no stamps of {stages} stages")
    if batches is not None and len(data) != 16 * stages * batches:
        raise ProtocolError(f"stamps of {len(data) // (16 * stages)} batches, {batches} were due")
    return np.frombuffer(data, "<i8").astype(np.int64).reshape(-1, stages, 2)


def scores_in(data: bytes, reply: Scored, patches: int, classes: int) -> NDArray[np.float32]:
    """Scores float32 [patches, classes]; ProtocolError when another number of them came."""
    if reply.shape != (patches, classes) or len(data) != 4 * patches * classes:
        raise ProtocolError(
            f"scores of shape {list(reply.shape)} in {len(data)} bytes, {[patches, classes]} were due"
        )
    return np.frombuffer(data, "<f4").astype(np.float32).reshape(patches, classes)


_STATUSES = {
    "error",
    "load_failed",
    "out_of_memory",
    "timeout",
    "lost_connection",
    "disk_full",
    "protocol_error",
}


def failure_in(frame: Frame) -> tuple[str, str] | None:
    """Status and words of a reply that says that the request failed; None where it did not."""
    error = frame.message.get("error")
    if error is None:
        return None
    if not isinstance(error, dict):
        raise ProtocolError(f"an error that is no object: {str(error)[:80]}")
    status = error.get("status")
    known = status if status in _STATUSES else "error"
    return str(known), str(error.get("what", ""))[:2000]
