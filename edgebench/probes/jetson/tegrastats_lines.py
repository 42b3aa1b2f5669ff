"""One line of tegrastats: the rails, the temperatures, and the GPU's load and clock.

A line is a row of fields, each a name and a value of one of the forms below, as tegrastats of JetPack 4.6 to
7.2 prints them. A line with anything else in it is refused whole: what a new form means is not guessed at.

    NAME 900/943, NAME 900mW/943mW, NAME 900mW/943mW/950mW   a rail now, on average, at most, in mW
    NAME@41.5C, NAME@41.5C/41.5C                             a temperature; -256C: the sensor is off
    NAME 0%, 0%@76, 0%@[306], 12%@[1300,1300], @[1000,1000]  load and clock (MHz) of a unit; one clock a GPC
    NAME off, NAME 25                                        a unit that is off, or its clock
    RAM 1/2MB (lfb 3x4MB), SWAP 1/2MB (cached 0MB), IRAM 0/2kB(lfb 2kB), CPU [2%@102,off]
"""

import re
from typing import Dict, NamedTuple, Optional, Tuple

from .rails import NAN, NOT_CONNECTED, is_taken

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
