"""tegrastats: a Jetson's power rails, with temperatures and the GPU's load and clock.

It starts NVIDIA's own `tegrastats --interval 50` and reads its lines, stamped as they arrive; `rails` has
the total. A line whose rails cannot be read is a rejected reading; any other field that is unknown is
skipped, and named once. What is printed depends on the board, and on whether root started it.

A line is a row of fields, each a name and a value, as tegrastats of JetPack 4.6 to 7.2 prints them:

- `NAME 900/943`, `NAME 900mW/943mW`, `NAME 900mW/943mW/950mW`: a rail now, on average, at most, in mW;
- `NAME@41.5C`, `NAME@41.5C/41.5C`: a temperature; -256C is a sensor that is off;
- `NAME 0%`, `0%@76`, `0%@[306]`, `12%@[1300,1300]`, `@1600`: load and clock (MHz) of a unit; one clock a GPC;
- `NAME off`, `NAME 25`: a unit that is off, or its clock;
- `RAM 1/2MB (lfb 3x4MB)`, `SWAP 1/2MB (cached 0MB)`, `IRAM 0/2kB(lfb 2kB)`, `CPU [2%@102,off]`.
"""

import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Dict, List, NamedTuple, Optional, Tuple

from ..basics import ANSWER, NAN, Probe, ProbeDenied, ProbeMissing, Samples, now_ns
from .rails import (
    GPU_CLOCK,
    GPU_CLOCK_CHANNEL,
    GPU_LOAD,
    NOT_CONNECTED,
    SCOPE,
    TEMPERATURE,
    Rails,
    is_rail,
    temperature_channel,
)

GPU = "GR3D_FREQ"
SENSOR_OFF_C = -256.0

_BEFORE = re.compile(r"\A\s*\d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2} |\([^()]*\)")
_FIELD = re.compile(r"([A-Za-z]\w*)(?:@(\S+)|\s+(off|[^A-Za-z\s]\S*))?(?!\S)|(\S+)")
_CELSIUS = re.compile(r"(-?\d{1,4}(?:\.\d{1,6})?)C(?:/-?[\d.]{1,12}C)?")
_MEMORY = re.compile(r"\d{1,9}/\d{1,9}[kM]B")
_MILLIWATTS = re.compile(r"(\d{1,9})(?:/\d{1,9}|mW/\d{1,9}mW(?:/\d{1,9}mW)?)")
_UNIT = re.compile(r"off|\d{1,9}|\[[^\[\]]+\]|(?=.)(?:(\d{1,9})%)?(?:@(\d{1,9}|\[\d{1,9}(?:,\d{1,9})*\]))?")


class UnknownForm(ValueError):
    """The line is not from tegrastats, or has a power rail that cannot be read."""


class Reading(NamedTuple):
    """One line.

    Attributes:
        rails_w: by name, now and not on average since its start; without those that are not connected.
        celsius: by sensor; not a number for one that is off.
        gpu_mhz: the fastest GPC's clock; None where it is not printed, not a number where the GPU is off.
        gpu_percent: likewise the GPU's load.
        unknown: names of the fields that are skipped.
    """

    rails_w: Dict[str, float]
    celsius: Dict[str, float]
    gpu_mhz: Optional[float]
    gpu_percent: Optional[float]
    unknown: List[str]


def parse(line: str) -> Reading:
    """Parse a line; UnknownForm as that says."""
    rails_w: Dict[str, float] = {}
    celsius: Dict[str, float] = {}
    gpu_mhz: Optional[float] = None
    gpu_percent: Optional[float] = None
    unknown: List[str] = []
    has_memory = False
    for name, degrees, value, stray in _FIELD.findall(_BEFORE.sub(" ", line)):
        sensor, unit = _CELSIUS.fullmatch(degrees), _UNIT.fullmatch(value)
        if _MEMORY.fullmatch(value):
            has_memory = has_memory or name == "RAM"
        elif "/" in value:
            rail = _MILLIWATTS.fullmatch(value)
            if rail is None or name in rails_w or not is_rail(name):
                raise UnknownForm("no board has a rail named {} with {!r}, or twice".format(name, value[:40]))
            if name != NOT_CONNECTED:
                rails_w[name] = float(rail.group(1)) / 1000
        elif sensor:
            celsius[name] = NAN if float(sensor.group(1)) == SENSOR_OFF_C else float(sensor.group(1))
        elif unit is None:
            unknown.append((stray or name)[:40])
        elif name == GPU:
            gpu_percent = float(unit.group(1)) if unit.group(1) else None
            gpu_mhz = max(map(float, unit.group(2).strip("[]").split(","))) if unit.group(2) else None
            if value == "off":
                gpu_mhz = gpu_percent = NAN
    if not has_memory or line.count("[") != line.count("]"):
        raise UnknownForm("it has no RAM, or is cut off")
    return Reading(rails_w, celsius, gpu_mhz, gpu_percent, unknown)


# The running tegrastats: started, read in bounded pieces, and ended with the probe.


STALL_S = 8.0
MOST_LINE_BYTES = 8192
MOST_STDERR_BYTES = 2000
MOST_BYTES = 1 << 18  # in a second, of a program that is asked for twenty lines
READ_BYTES = 65536
PR_SET_PDEATHSIG = 1

FIX_ALONE = "see what `tegrastats --interval 50` prints on the board"
FIX_PATH = "name the program as tegrastats:/PATH, or use another meter"

Line = Tuple[int, str]  # its stamp in ns, and its text


class TegrastatsProcess:
    """Its lines, stamped as they arrive; ProbeMissing as soon as it stalls, floods or ends.

    Args:
        path: the program.
        interval_ms: between two lines.
    """

    def __init__(self, path: str, interval_ms: int) -> None:
        self.path = path
        # Called by the child before it becomes the program: it is killed when this process ends, however.
        prctl = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else lambda *asked: None
        try:
            self._process = subprocess.Popen(
                [path, "--interval", str(interval_ms)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL)),
            )
        except OSError as error:
            raise ProbeMissing("{} cannot be started: {}".format(path, error), FIX_PATH, port=path) from None
        assert self._process.stdout and self._process.stderr
        self._stdout, self._stderr = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._open = [self._stdout, self._stderr]
        self._unfinished = b""  # a line whose end is missing
        self._errors = b""
        self._heard_ns = self._stamp_ns = now_ns()
        self._second = self._bytes = 0

    def lines(self, timeout_s: float, wake: Optional[int] = None) -> List[Line]:
        """What has arrived, within this time and as soon as there is any; none after a signal to `wake`.

        Raises:
            ProbeMissing: it has ended, prints nothing, or far more than it was asked for.
        """
        if self._stdout not in self._open:
            raise ProbeMissing("tegrastats ended: {}".format(self._how_it_ended()), FIX_ALONE)
        lines: List[Line] = []
        watched = self._open + ([] if wake is None else [wake])
        for descriptor in select.select(watched, [], [], max(0.0, timeout_s))[0]:
            if descriptor == wake:
                continue
            data = os.read(descriptor, READ_BYTES)
            if not data:
                self._open.remove(descriptor)
            elif descriptor == self._stdout:
                lines = self._take_in(data)
            else:
                self._errors = (self._errors + data)[-MOST_STDERR_BYTES:]
        if not lines and now_ns() - self._heard_ns > STALL_S * 1e9:
            raise ProbeMissing("tegrastats has printed nothing for {:g} s".format(STALL_S), FIX_ALONE)
        return lines

    def close(self) -> None:
        """End it; safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _take_in(self, data: bytes) -> List[Line]:
        self._heard_ns = now_ns()
        second = self._heard_ns // 1000000000
        self._bytes = len(data) + (self._bytes if second == self._second else 0)
        self._second = second
        pieces = (self._unfinished + data).split(b"\n")
        self._unfinished = pieces.pop()
        if self._bytes > MOST_BYTES or len(self._unfinished) > MOST_LINE_BYTES:
            what = "tegrastats printed {} bytes within a second, {} of them without the end of a line"
            raise ProbeMissing(what.format(self._bytes, len(self._unfinished)), FIX_ALONE)
        lines = []
        for piece in pieces:
            if piece.strip():
                # Lines that arrive together have stamps that rise all the same.
                self._stamp_ns = max(self._heard_ns, self._stamp_ns + 1)
                lines.append((self._stamp_ns, piece.decode("ascii", "backslashreplace")))
        return lines

    def _how_it_ended(self) -> str:
        """Describe how it ended: its exit code and its last words."""
        try:
            code = self._process.wait(timeout=1.0)
            how = "exit code {}".format(code) if code >= 0 else "signal {}".format(-code)
        except subprocess.TimeoutExpired:
            how = "it closed its output"
        words = self._errors.decode("ascii", "backslashreplace").strip().splitlines()
        return "{}: {}".format(how, words[-1]) if words else how


PLACE = "board"
PROGRAM = "tegrastats"
USUAL_PATH = "/usr/bin/tegrastats"

RATE_HZ = 20.0
FIRST_LINE_S = 8.0
MOST_UNKNOWN = 40  # lines before the first that can be read
SHOWN = 200


class TegrastatsProbe(Probe):
    """Each line of tegrastats as one sample; its channels are those of the first line.

    Args:
        address: as it was given.
        process: the running program.
        first: the first line that could be read.
        rejected: the lines before it.
    """

    def __init__(self, address: str, process: TegrastatsProcess, first: Reading, rejected: List[str]) -> None:
        self._rails = Rails(list(first.rails_w))
        channels = list(self._rails.channels)
        if first.gpu_mhz is not None:
            channels.append(GPU_CLOCK_CHANNEL)
        if first.gpu_percent is not None:
            load = {"name": GPU_LOAD, "quantity": "utilisation", "unit": "%", "range": [0.0, 100.0]}
            channels.append(load)
        channels += [temperature_channel(sensor) for sensor in first.celsius]
        info = {
            "kind": "tegrastats",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": None,  # `cur` is what the driver has at that moment
            "resolution": "1 mW",
            "scope": SCOPE,
            "channels": channels,
            "absent": dict(_not_printed(first), **self._rails.absent),
        }
        super(TegrastatsProbe, self).__init__(info, rejected)
        self._process = process
        self.port = process.path

    def _take(self, samples: Samples, end_s: float) -> None:
        """Lines until then, parsed together: ten at once cost a fraction of one at each wake-up."""
        lines: List[Line] = []
        try:
            while self._running and time.monotonic() < end_s:
                lines += self._process.lines(end_s - time.monotonic(), self._wake)
            if not self._running and not lines:
                lines = self._process.lines(end_s - time.monotonic())
        finally:  # also what was printed before its end
            for stamp_ns, line in lines:
                try:
                    samples.add(stamp_ns, self._sample(parse(line)))
                except UnknownForm:
                    self.rejected.append(line[:SHOWN])

    def _close(self) -> None:
        self._process.close()

    def _sample(self, reading: Reading) -> Dict[str, float]:
        """By channel, those values of a line that it has."""
        if set(reading.rails_w) != set(self._rails.names):
            raise UnknownForm("other rails than before")
        sample = self._rails.sample(reading.rails_w)
        for sensor, value in reading.celsius.items():
            sample[TEMPERATURE + sensor] = value
        for name, number in ((GPU_CLOCK, reading.gpu_mhz), (GPU_LOAD, reading.gpu_percent)):
            if number is not None:
                sample[name] = number
        return sample


def open_probe(address: str) -> TegrastatsProbe:
    """The probe of `tegrastats:` (the program of that name) or `tegrastats:/another/program`."""
    path = shutil.which(address or PROGRAM) or address or USUAL_PATH
    if not os.path.exists(path):
        raise ProbeMissing(
            "there is no program {}".format(path), "it is part of a Jetson's JetPack; " + FIX_PATH
        )
    process = TegrastatsProcess(path, int(1000 / RATE_HZ))
    try:
        return TegrastatsProbe(address, process, *_first_reading(process))
    except BaseException:
        process.close()
        raise


def _first_reading(process: TegrastatsProcess) -> Tuple[Reading, List[str]]:
    """The first line that can be read, and those before it; ProbeMissing where it has no rail."""
    rejected: List[str] = []
    end = time.monotonic() + FIRST_LINE_S
    while time.monotonic() < end and len(rejected) < MOST_UNKNOWN:
        # What arrived with the first and after it is not waited for: it is as old.
        for _, line in process.lines(end - time.monotonic()):
            try:
                reading = parse(line)
            except UnknownForm:
                rejected.append(line[:SHOWN])
                continue
            if not reading.rails_w:
                raise _without_rails()
            return reading, rejected
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
    """What else tegrastats has on other boards or for root, and fields that are not read, with the reason."""
    why = "tegrastats prints none on this board"
    if os.geteuid() != 0:
        why = "tegrastats prints none; some fields are printed for root only"
    gpu_why = "{} ({})".format(why, GPU)
    reasons = {
        "GPU clock": gpu_why if first.gpu_mhz is None else "",
        "GPU load": gpu_why if first.gpu_percent is None else "",
        "temperatures": "" if first.celsius else why,
        "unknown fields": "{}: skipped".format(", ".join(first.unknown[:20])) if first.unknown else "",
    }
    return {name: reason for name, reason in reasons.items() if reason}
