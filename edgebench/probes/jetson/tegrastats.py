"""tegrastats: a Jetson's power rails, with temperatures and the GPU's load and clock.

It starts NVIDIA's own `tegrastats --interval 50` and reads its lines, stamped as they come; see
`tegrastats_lines` for their forms and `rails` for the total. Another line than those known is a rejected
reading. What is printed depends on the board, and on whether root started it.
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
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from ..basics import ANSWER, NAN, Probe, ProbeDenied, ProbeMissing, Samples, now_ns
from .rails import (
    GPU_CLOCK,
    GPU_LOAD,
    NOT_CONNECTED,
    SCOPE,
    TEMPERATURE,
    gpu_clock_channel,
    is_taken,
    power_channels,
    temperature_channel,
    total_of,
    with_total,
)

# One line of tegrastats: the rails, the temperatures, and the GPU's load and clock.
#
# A line is a row of fields, each a name and a value of one of the forms below, as tegrastats of JetPack 4.6
# to
# 7.2 prints them. A line with anything else in it is refused whole: what a new form means is not guessed
# at.
#
# NAME 900/943, NAME 900mW/943mW, NAME 900mW/943mW/950mW   a rail now, on average, at most, in mW
# NAME@41.5C, NAME@41.5C/41.5C                             a temperature; -256C: the sensor is off
# NAME 0%, 0%@76, 0%@[306], 12%@[1300,1300], @[1000,1000]  load and clock (MHz) of a unit; one clock a GPC
# NAME off, NAME 25                                        a unit that is off, or its clock
# RAM 1/2MB (lfb 3x4MB), SWAP 1/2MB (cached 0MB), IRAM 0/2kB(lfb 2kB), CPU [2%@102,off]


GPU = "GR3D_FREQ"
MEMORIES = ("RAM", "SWAP", "IRAM")
SENSOR_OFF_C = -256.0

_STAMP = re.compile(r"\d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2} ")
_NUMBER = r"\d{1,9}"
_CELSIUS = r"-?\d{1,4}(?:\.\d{1,6})?"
_CLOCKS = r"{0}|\[{0}(?:,{0})*\]".format(_NUMBER)
# One search takes a whole line apart: what no field's form fits is the last match, to the end of the line.
_FIELDS = re.compile(
    r"""
    ([A-Za-z][A-Za-z0-9_]*)  # the name
    (?:
        @({celsius})C(?:/{celsius}C)?
      | [ ]({number}/{number}[kM]B(?:[ ]?\((?:lfb|cached)[ ](?:{number}x)?{number}[kM]B\))?)
      | [ ]({number})(?:/{number}|mW/{number}mW(?:/{number}mW)?)
      | [ ]\[(?:(?:{number}%(?:@{number})?|off)(?:,(?=[^\]])|(?=\])))+\]
      | [ ]({number})%(?:@({clocks}))?
      | [ ]@(\[{number}(?:,{number})*\])
      | [ ](off)
      | [ ]{number}
    )
    (?:[ ]|$)
  | ([\s\S]+)
    """.format(celsius=_CELSIUS, number=_NUMBER, clocks=_CLOCKS),
    re.VERBOSE,
)


class UnknownForm(ValueError):
    """The line has something in it that no tegrastats was seen to print."""


class Reading(NamedTuple):
    """One line.

    Attributes:
        rails_w: by name, now and not on average since its start; without those that are not connected.
        celsius: by sensor; not a number for one that is off.
        gpu_mhz: the fastest GPC's clock; None where it is not printed, not a number where the GPU is off.
        gpu_percent: likewise the GPU's load.
    """

    rails_w: Dict[str, float]
    celsius: Dict[str, float]
    gpu_mhz: Optional[float]
    gpu_percent: Optional[float]


def parse(line: str) -> Reading:
    """What a line says.

    Raises:
        UnknownForm: a field has a form, or stands twice, as no known tegrastats prints it.
    """
    rails_w: Dict[str, float] = {}
    celsius: Dict[str, float] = {}
    gpu_mhz: Optional[float] = None
    gpu_percent: Optional[float] = None
    line = line.strip()
    stamp = _STAMP.match(line)
    seen_memory = False
    for name, degrees, memory, milliwatts, percent, clocks, only_clocks, off, unknown in _FIELDS.findall(
        line, stamp.end() if stamp else 0
    ):
        if unknown:
            raise UnknownForm("no known form: {!r}".format(unknown[:40]))
        if (name in MEMORIES) != bool(memory):
            raise UnknownForm("{} with a value of another kind".format(name))
        if milliwatts:
            if is_taken(name):
                raise UnknownForm("no rail of a board is named {}".format(name))
            if name != NOT_CONNECTED:
                _add(rails_w, name, float(milliwatts) / 1000)
        elif degrees:
            celsius_now = float(degrees)
            _add(celsius, name, NAN if celsius_now == SENSOR_OFF_C else celsius_now)
        elif name == GPU:
            gpu_mhz, gpu_percent = (NAN, NAN) if off else _gpu(clocks or only_clocks, percent)
        elif name == "RAM":
            seen_memory = True
    if not seen_memory:
        raise UnknownForm("no RAM in it")
    return Reading(rails_w, celsius, gpu_mhz, gpu_percent)


def _gpu(clocks: str, percent: str) -> Tuple[Optional[float], Optional[float]]:
    """Its clock in MHz and its load in %, each None where nothing is printed of it."""
    if not clocks and not percent:
        raise UnknownForm("{} with a value of another kind".format(GPU))
    mhz = max(float(text) for text in clocks.strip("[]").split(",")) if clocks else None
    return mhz, float(percent) if percent else None


def _add(values: Dict[str, float], name: str, value: float) -> None:
    if name in values:
        raise UnknownForm("{} stands twice in it".format(name))
    values[name] = value


# The running tegrastats: started, read in bounded pieces, and ended with the probe.


STALL_S = 8.0
MOST_LINE_BYTES = 8192
MOST_STDERR_BYTES = 2000
MOST_LINES, MOST_BYTES = 1000, 1 << 20  # in a second, of a program that is asked for twenty lines
READ_BYTES = 65536
PR_SET_PDEATHSIG = 1

FIX_ALONE = "see what `tegrastats --interval 50` prints on the board"
FIX_PATH = "name the program as tegrastats:/PATH, or use another meter"

Line = Tuple[int, str]  # its stamp in ns, and its text


class TegrastatsProcess:
    """Its lines, stamped as they come; ProbeMissing as soon as it stalls, floods or ends.

    Args:
        path: the program.
        interval_ms: between two lines.
    """

    def __init__(self, path: str, interval_ms: int) -> None:
        self.path = path
        try:
            self._process = subprocess.Popen(
                [path, "--interval", str(interval_ms)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                preexec_fn=_end_with_parent(),
            )
        except OSError as error:
            raise ProbeMissing("{} cannot be started: {}".format(path, error), FIX_PATH, port=path) from None
        assert self._process.stdout and self._process.stderr
        self._stdout, self._stderr = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._open = [self._stdout, self._stderr]
        self._unfinished = b""  # a line whose end has not come
        self._too_long = False  # the line in hand
        self._errors = b""
        self._lines: List[Line] = []
        self._heard_ns = self._stamp_ns = now_ns()
        self._second, self._bytes, self._count = 0, 0, 0

    def lines(self, timeout_s: float, wake: Optional[int] = None) -> List[Line]:
        """What has come, within this time and as soon as something has; none after a signal to `wake`.

        Raises:
            ProbeMissing: it has ended, prints nothing, or far more than it was asked for.
        """
        if self._stdout not in self._open:
            raise ProbeMissing("tegrastats ended: {}".format(self._how_it_ended()), FIX_ALONE)
        watched = self._open + ([] if wake is None else [wake])
        for descriptor in select.select(watched, [], [], max(0.0, timeout_s))[0]:
            if descriptor == wake:
                continue
            data = os.read(descriptor, READ_BYTES)
            if not data:
                self._open.remove(descriptor)
            elif descriptor == self._stdout:
                self._take_in(data)
            else:
                self._errors = (self._errors + data)[-MOST_STDERR_BYTES:]
        if not self._lines and now_ns() - self._heard_ns > STALL_S * 1e9:
            raise ProbeMissing("tegrastats has printed nothing for {:g} s".format(STALL_S), FIX_ALONE)
        lines, self._lines = self._lines, []
        return lines

    def close(self) -> None:
        """End it; safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _take_in(self, data: bytes) -> None:
        self._heard_ns = now_ns()
        pieces = (self._unfinished + data).split(b"\n")
        self._unfinished = pieces.pop()
        self._require_moderate(len(data), len(pieces))
        for piece in pieces:
            if not self._too_long and piece.strip():
                self._add(piece)
            self._too_long = False
        if len(self._unfinished) > MOST_LINE_BYTES:
            if not self._too_long:
                self._add(self._unfinished)  # no line of tegrastats is as long: it will be refused
            self._unfinished, self._too_long = b"", True

    def _add(self, line: bytes) -> None:
        # Lines that come together have stamps that rise all the same.
        self._stamp_ns = max(self._heard_ns, self._stamp_ns + 1)
        self._lines.append((self._stamp_ns, line.decode("ascii", "backslashreplace")))

    def _require_moderate(self, read_bytes: int, lines: int) -> None:
        second = self._heard_ns // 1000000000
        if second != self._second:
            self._second, self._bytes, self._count = second, 0, 0
        self._bytes += read_bytes
        self._count += lines
        if self._bytes > MOST_BYTES or self._count > MOST_LINES:
            what = "tegrastats printed {} lines and {} bytes within a second"
            raise ProbeMissing(what.format(self._count, self._bytes), FIX_ALONE)

    def _how_it_ended(self) -> str:
        """Its exit code and its last words."""
        try:
            code = self._process.wait(timeout=1.0)
            how = "exit code {}".format(code) if code >= 0 else "signal {}".format(-code)
        except subprocess.TimeoutExpired:
            how = "it closed its output"
        words = self._errors.decode("ascii", "backslashreplace").strip().splitlines()
        return "{}: {}".format(how, words[-1]) if words else how


def _end_with_parent() -> Optional[Callable[[], None]]:
    """Called by the child before it becomes the program: it is killed when this process ends, however."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


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
        channels, without_total = power_channels(list(first.rails_w))
        if first.gpu_mhz is not None:
            channels.append(gpu_clock_channel())
        if first.gpu_percent is not None:
            load = {"name": GPU_LOAD, "quantity": "utilisation", "unit": "%", "range": [0.0, 100.0]}
            channels.append(load)
        channels += [temperature_channel(TEMPERATURE + sensor) for sensor in first.celsius]
        info = {
            "kind": "tegrastats",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": None,  # `cur` is what the driver has at that moment
            "resolution": "1 mW",
            "scope": SCOPE,
            "channels": channels,
            "absent": dict(_not_printed(first), **without_total),
        }
        super(TegrastatsProbe, self).__init__(info, rejected)
        self._process = process
        self.port = process.path
        self._rails, self._total = set(first.rails_w), total_of(first.rails_w)

    def _take(self, samples: Samples, end_s: float) -> None:
        """Lines until then, parsed together: ten at once cost a fraction of one at each wake-up."""
        lines: List[Line] = []
        try:
            while self._running and time.monotonic() < end_s:
                lines += self._process.lines(end_s - time.monotonic(), self._wake)
            if not self._running and not lines:
                lines = self._process.lines(end_s - time.monotonic())
        finally:  # also what came before its end
            for stamp_ns, line in lines:
                try:
                    samples.add(stamp_ns, self._sample(self._parse(line)))
                except UnknownForm:
                    self.rejected.append(line[:SHOWN])

    def _close(self) -> None:
        self._process.close()

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
