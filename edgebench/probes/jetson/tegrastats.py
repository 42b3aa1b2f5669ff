"""tegrastats: a Jetson's power rails, with temperatures and the GPU's load and clock.

It starts NVIDIA's own `tegrastats --interval 50` and reads its lines, stamped as they come; see
`tegrastats_lines` for their forms and `rails` for the total. Another line than those known is a rejected
reading. What is printed depends on the board, and on whether root started it.
"""

import os
import shutil
import time
from typing import Any, Dict, Iterator, List, Tuple

from ..basics import ANSWER, Chunk, ProbeDenied, ProbeMissing
from .rails import (
    GPU_CLOCK,
    GPU_LOAD,
    NAN,
    SCOPE,
    TEMPERATURE,
    gpu_clock_channel,
    power_channels,
    temperature_channel,
    total_of,
    with_total,
)
from .tegrastats_lines import GPU, Reading, UnknownForm, parse
from .tegrastats_process import FIX_ALONE, FIX_PATH, Line, TegrastatsProcess

PLACE = "board"
PROGRAM = "tegrastats"
USUAL_PATH = "/usr/bin/tegrastats"

RATE_HZ = 20.0
CHUNK_S = 0.5
FIRST_LINE_S = 8.0
MOST_UNKNOWN = 40  # lines before the first that can be read
LAST_LINE_S = 1.0
SHOWN = 200


class TegrastatsProbe:
    """Each line of tegrastats as one sample; its channels are those of the first line.

    Args:
        address: as it was given.
        process: the running program.
        first: the first line that could be read.
        rejected: the lines before it.
    """

    def __init__(self, address: str, process: TegrastatsProcess, first: Reading, rejected: List[str]) -> None:
        self._process = process
        self.port = process.path
        self._rails, self._total = set(first.rails_w), total_of(first.rails_w)
        self._lines: List[Line] = []  # gathered and not yet parsed
        self._running = True
        # A wait that a stop cuts short.
        self._wake, self._waker = os.pipe()
        self.rejected = rejected
        channels, without_total = power_channels(list(first.rails_w))
        if first.gpu_mhz is not None:
            channels.append(gpu_clock_channel())
        if first.gpu_percent is not None:
            load = {"name": GPU_LOAD, "quantity": "utilisation", "unit": "%", "range": [0.0, 100.0]}
            channels.append(load)
        channels += [temperature_channel(TEMPERATURE + sensor) for sensor in first.celsius]
        self._names = [str(channel["name"]) for channel in channels]
        self.info: Dict[str, Any] = {
            "kind": "tegrastats",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": None,  # `cur` is what the driver has at that moment
            "resolution": "1 mW",
            "scope": SCOPE,
            "channels": channels,
            "absent": dict(_not_printed(first), **without_total),
        }

    def start(self) -> None:
        """Nothing to do: it has been printing since it was opened."""

    def stop(self) -> None:
        """End the iteration after one more line."""
        self._running = False
        os.write(self._waker, b"x")

    def __iter__(self) -> Iterator[Chunk]:
        try:
            while self._running:
                self._gather(CHUNK_S)
                yield self._chunk()
            self._gather_a_sample()
            yield self._chunk()
        except ProbeMissing:
            yield self._chunk()  # what came before its end
            raise
        finally:
            self._process.close()

    def _gather(self, duration_s: float) -> None:
        """Lines of this time, not parsed yet: ten at once cost a fraction of one at each wake-up."""
        left_s, end = duration_s, time.monotonic() + duration_s
        while self._running and left_s > 0:
            self._lines += self._process.lines(left_s, self._wake)
            left_s = end - time.monotonic()

    def _gather_a_sample(self) -> None:
        """Lines until one of them is a sample, for LAST_LINE_S at most."""
        left_s, end = LAST_LINE_S, time.monotonic() + LAST_LINE_S
        while left_s > 0 and not any(self._is_sample(line) for _, line in self._lines):
            self._lines += self._process.lines(left_s)
            left_s = end - time.monotonic()

    def _is_sample(self, line: str) -> bool:
        try:
            self._parse(line)
        except UnknownForm:
            return False
        return True

    def _chunk(self) -> Chunk:
        """The gathered lines, as samples or as rejected readings."""
        lines, self._lines = self._lines, []
        stamps: List[int] = []
        values: Dict[str, List[float]] = {name: [] for name in self._names}
        for stamp, line in lines:
            try:
                sample = self._sample(self._parse(line))
            except UnknownForm:
                self.rejected.append(line[:SHOWN])
                continue
            stamps.append(stamp)
            for name, column in values.items():
                column.append(sample.get(name, NAN))
        return stamps, values

    def _parse(self, line: str) -> Reading:
        reading = parse(line)
        if reading.rails_w.keys() != self._rails:
            raise UnknownForm("other rails than before")
        return reading

    def _sample(self, reading: Reading) -> Dict[str, float]:
        """By channel, those values of a line that it has."""
        sample = with_total(reading.rails_w, self._total)
        for sensor, value in reading.celsius.items():
            sample[TEMPERATURE + sensor] = value
        if reading.gpu_mhz is not None:
            sample[GPU_CLOCK] = reading.gpu_mhz
        if reading.gpu_percent is not None:
            sample[GPU_LOAD] = reading.gpu_percent
        return sample


def open_probe(address: str) -> TegrastatsProbe:
    """The probe of `tegrastats:` (the program of that name) or `tegrastats:/another/program`."""
    path = shutil.which(address or PROGRAM) or address or USUAL_PATH
    if not os.path.exists(path):
        raise ProbeMissing(
            "there is no program {}".format(path), "it comes with a Jetson's JetPack; " + FIX_PATH
        )
    process = TegrastatsProcess(path, int(1000 / RATE_HZ))
    try:
        first, rejected = _first_reading(process)
        if not first.rails_w:
            raise _without_rails()
    except BaseException:
        process.close()
        raise
    return TegrastatsProbe(address, process, first, rejected)


def _first_reading(process: TegrastatsProcess) -> Tuple[Reading, List[str]]:
    """The first line that can be read, and those before it."""
    rejected: List[str] = []
    end = time.monotonic() + FIRST_LINE_S
    while time.monotonic() < end and len(rejected) < MOST_UNKNOWN:
        lines = process.lines(end - time.monotonic())
        # What came with it and after it is not waited for: it is as old.
        for _, line in lines:
            try:
                return parse(line), rejected
            except UnknownForm:
                rejected.append(line[:SHOWN])
    if not rejected:
        raise ProbeMissing("tegrastats printed nothing for {:g} s".format(FIRST_LINE_S), FIX_ALONE, ANSWER)
    raise ProbeMissing(
        "none of the first {} lines of tegrastats has a known form; the first was {!r}".format(
            len(rejected), rejected[0]
        ),
        "report that line; " + FIX_PATH,
        ANSWER,
    )


def _without_rails() -> ProbeMissing:
    reason = "tegrastats prints no power rail"
    if os.geteuid() != 0:
        return ProbeDenied(
            reason + " to a user other than root",
            "let root run it on this board (--host root@BOARD), or use --meter ina3221",
        )
    return ProbeMissing(
        reason + ", although root runs it", "this board has no rails: use another meter", ANSWER
    )


def _not_printed(first: Reading) -> Dict[str, str]:
    """What else tegrastats has on other boards or for root, with why it is not here."""
    why = "tegrastats prints none on this board"
    if os.geteuid() != 0:
        why = "tegrastats prints none; some fields are printed for root only"
    missing = {
        "GPU clock": first.gpu_mhz is None,
        "GPU load": first.gpu_percent is None,
        "temperatures": not first.celsius,
    }
    return {name: "{} ({})".format(why, GPU) if "GPU" in name else why for name in missing if missing[name]}
