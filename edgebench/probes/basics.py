"""What probes share: why one cannot be opened, its chunks and its stop, and the clock of their stamps."""

import os
import select
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar
from urllib.parse import unquote

Chunk = Tuple[List[int], Dict[str, List[float]]]
"""Stamps in ns on the monotonic clock, and by channel a value for each of them."""

CHUNK_S = 0.5
LAST_SAMPLE_S = 1.5  # the agent kills a probe three seconds after its stop
NAN = float("nan")

# How far a probe came that cannot be opened.
ADDRESS, PACKAGE, DEVICE, PERMISSION, IN_USE, ANSWER = (
    "address",
    "package",
    "device",
    "permission",
    "in use",
    "answer",
)


class ProbeMissing(Exception):
    """There is no such probe here; `reason` and `fix` reach the record.

    Attributes:
        step: how far it came.
        port: what it would be read from; empty where that is not known.
    """

    denied = False
    step = DEVICE
    port = ""

    def __init__(self, reason: str, fix: str, step: str = "", port: str = "") -> None:
        super(ProbeMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix
        self.step = step or self.step
        self.port = port


class ProbeDenied(ProbeMissing):
    """It is there and may not be read."""

    denied = True
    step = PERMISSION


Item = TypeVar("Item")


def the_only(chosen: Sequence[Item], none: ProbeMissing, several: ProbeMissing) -> Item:
    """The one device that is meant; raises `none` without one, `several` where there are more."""
    if len(chosen) == 1:
        return chosen[0]
    raise several if chosen else none


def _from_seconds() -> int:
    return int(time.monotonic() * 1e9)


# Python 3.7 has the exact one.
now_ns: Callable[[], int] = getattr(time, "monotonic_ns", _from_seconds)
"""The stamp of this moment, on the monotonic clock."""


class OpenFile:
    """A small file that is opened once and read again and again; OSError where it cannot be read."""

    def __init__(self, path: str) -> None:
        self.path = path
        # A pipe, in another tree than /sys, is not waited for.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.text()

    def text(self) -> str:
        """What it holds now, up to 4096 bytes."""
        return os.pread(self._descriptor, 4096, 0).decode("ascii", "backslashreplace")

    def number(self) -> float:
        """Its only number; not a number where it cannot be read now."""
        try:
            return float(self.text())
        except (OSError, ValueError):
            return NAN


class Samples:
    """The samples of one chunk; their stamps rise, and later than the latest of the chunk before.

    Args:
        names: of the channels.
        latest_ns: the stamp of the last sample before.
    """

    def __init__(self, names: Sequence[str], latest_ns: int) -> None:
        self.latest_ns = latest_ns
        self._stamps: List[int] = []
        self._values: Dict[str, List[float]] = {name: [] for name in names}

    def __len__(self) -> int:
        return len(self._stamps)

    def add(self, stamp_ns: int, sample: Dict[str, float]) -> None:
        """Append a sample; a channel that it does not have is no number."""
        self.latest_ns = max(stamp_ns, self.latest_ns + 1)
        self._stamps.append(self.latest_ns)
        for name, column in self._values.items():
            column.append(sample.get(name, NAN))

    def add_gap(self) -> None:
        """Append that nothing could be read at this moment: no number in every channel."""
        self.add(now_ns(), {})

    def chunk(self) -> Chunk:
        """As a probe yields it."""
        return self._stamps, self._values


class Probe:
    """An open probe; one derives from it and supplies `_take`, and perhaps `start` and `_close`.

    Attributes:
        port: what it is read from.

    Args:
        info: what it says of itself.
        rejected: readings that could not be parsed before it samples.
        chunk_s: how long a chunk is. Default: CHUNK_S.
    """

    def __init__(
        self, info: Dict[str, Any], rejected: Sequence[str] = (), chunk_s: Optional[float] = None
    ) -> None:
        self.info = info
        self.rejected: List[str] = list(rejected)
        self._names = [str(channel["name"]) for channel in info["channels"]]
        self.port = ""
        self._chunk_s = chunk_s
        self._running = True
        # A wait that a stop cuts short.
        self._wake, self._waker = os.pipe()

    def start(self) -> None:
        """Nothing to do: the first sample is taken as soon as somebody asks for one."""

    def stop(self) -> None:
        """End the iteration after one more sample."""
        self._running = False
        os.write(self._waker, b"x")

    def __iter__(self) -> Iterator[Chunk]:
        latest_ns = 0
        try:
            while self._running:
                samples = Samples(self._names, latest_ns)
                end_s = time.monotonic() + (self._chunk_s or CHUNK_S)
                try:
                    while self._running and time.monotonic() < end_s:
                        self._take(samples, end_s)
                except ProbeMissing:
                    yield samples.chunk()  # what came before it is sound
                    raise
                latest_ns = samples.latest_ns
                yield samples.chunk()
            samples = Samples(self._names, latest_ns)
            end_s = time.monotonic() + LAST_SAMPLE_S
            while not len(samples) and time.monotonic() < end_s:
                self._take(samples, end_s)
            yield samples.chunk()
        finally:
            self._close()

    def _take(self, samples: Samples, end_s: float) -> None:
        """Take in what comes next, within the time until `end_s` on time.monotonic or before a stop."""
        raise NotImplementedError

    def _close(self) -> None:
        """Let the device go; safe to call twice."""

    def _wait(self, until_s: float, descriptor: Optional[int] = None) -> bool:
        """Sleep until that time, a stop, or until the descriptor can be read, which it returns."""
        watched = [self._wake] if self._running else []
        if descriptor is not None:
            watched.append(descriptor)
        timeout_s = max(0.0, until_s - time.monotonic())
        return descriptor in select.select(watched, [], [], timeout_s)[0]


class EvenProbe(Probe):
    """A probe that is polled at its `rate_hz`; one derives from it and supplies `_sample`.

    The last sample follows a stop within CHUNK_S.
    """

    _due_s = float("-inf")  # of the next sample, on time.monotonic

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        """The stamp of a sample, and its values by channel."""
        raise NotImplementedError

    def _take(self, samples: Samples, end_s: float) -> None:
        period_s, now_s = 1 / self.info["rate_hz"], time.monotonic()
        if self._due_s <= now_s - period_s:  # late: wait a whole period rather than catch up
            self._due_s = now_s + period_s
        is_short, was_running = period_s < CHUNK_S, self._running
        if is_short:
            time.sleep(max(0.0, self._due_s - now_s))
        elif was_running:
            self._wait(self._due_s)
        if is_short or self._running or not was_running:  # else the last sample follows at once
            self._due_s += period_s
            samples.add(*self._sample())


# Addresses with options: `FILE?option=value&option=value`, with %xx for any byte.


SCOPES = ("chip", "module", "board", "usb", "wall")


def split_options(address: str, options: Sequence[str], example: str) -> Tuple[str, Dict[str, str]]:
    """What is before the question mark, perhaps nothing, and the options.

    Args:
        address: as it was given.
        options: those that there are.
        example: how one is written.

    Raises:
        ProbeMissing: an option is unknown, empty or given twice.
    """
    name, _, text = address.partition("?")
    values: Dict[str, str] = {}
    for part in text.split("&") if text else ():
        option, _, value = part.partition("=")
        if option not in options or not value or option in values:
            wrong = "is no option" if option not in options else "is empty or given twice"
            raise ProbeMissing(
                "{!r} {}".format(option, wrong),
                "the options are {}; write them like {}".format(", ".join(options), example),
                ADDRESS,
            )
        values[option] = unquote(value)
    return unquote(name), values


def one_of(values: Dict[str, str], option: str, choices: Sequence[str], default: str) -> str:
    """The value of an option; ProbeMissing where it is not among its choices."""
    value = values.get(option, default)
    if value not in choices:
        raise ProbeMissing(
            "{}={} is not known".format(option, value), "choose among {}".format(", ".join(choices)), ADDRESS
        )
    return value


def scope_of(options: Dict[str, str], absent: Dict[str, str]) -> str:
    """What an address says that its meter covers; where it does not, the narrowest, as `absent` then has."""
    narrowest = SCOPES[0]
    if "scope" not in options:
        words = "the address does not state what the meter covers: taken for {}; add scope={}"
        absent["scope"] = words.format(narrowest, "|".join(SCOPES))
    return one_of(options, "scope", SCOPES, narrowest)
