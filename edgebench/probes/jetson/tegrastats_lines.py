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
from typing import Dict, Match, NamedTuple, Optional, Tuple

from .rails import NAN, NOT_CONNECTED, is_taken

GPU = "GR3D_FREQ"
MEMORIES = ("RAM", "SWAP", "IRAM")
SENSOR_OFF_C = -256.0

_STAMP = re.compile(r"\d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2} ")
_NUMBER = r"\d{1,9}"
_CELSIUS = r"-?\d{1,4}(?:\.\d{1,6})?"
_CLOCKS = r"{0}|\[{0}(?:,{0})*\]".format(_NUMBER)
_FIELD = re.compile(
    r"""
    (?P<name>[A-Za-z][A-Za-z0-9_]*)
    (?:
        @(?P<celsius>{celsius})C(?:/{celsius}C)?
      | [ ](?P<memory>{number}/{number}[kM]B(?:[ ]?\((?:lfb|cached)[ ](?:{number}x)?{number}[kM]B\))?)
      | [ ](?P<plain_mw>{number})/{number}
      | [ ](?P<mw>{number})mW/{number}mW(?:/{number}mW)?
      | [ ](?P<cores>\[(?:(?:{number}%(?:@{number})?|off)(?:,(?=[^\]])|(?=\])))+\])
      | [ ](?P<percent>{number})%(?:@(?P<mhz>{clocks}))?
      | [ ]@(?P<only_mhz>\[{number}(?:,{number})*\])
      | [ ](?P<off>off)
      | [ ]{number}
    )
    (?:[ ]|$)
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
    at = stamp.end() if stamp else 0
    seen_memory = False
    while at < len(line):
        field = _FIELD.match(line, at)
        if field is None:
            raise UnknownForm("no known form: {!r}".format(line[at : at + 40]))
        at = field.end()
        name = field.group("name")
        milliwatts = field.group("plain_mw") or field.group("mw")
        if (name in MEMORIES) != (field.group("memory") is not None):
            raise UnknownForm("{} with a value of another kind".format(name))
        seen_memory = seen_memory or name == "RAM"
        if milliwatts is not None and is_taken(name):
            raise UnknownForm("no rail of a board is named {}".format(name))
        if milliwatts is not None and name != NOT_CONNECTED:
            _add(rails_w, name, float(milliwatts) / 1000)
        elif field.group("celsius") is not None:
            degrees = float(field.group("celsius"))
            _add(celsius, name, NAN if degrees == SENSOR_OFF_C else degrees)
        elif name == GPU:
            gpu_mhz, gpu_percent = _gpu(field)
    if not seen_memory:
        raise UnknownForm("no RAM in it")
    return Reading(rails_w, celsius, gpu_mhz, gpu_percent)


def _gpu(field: "Match[str]") -> Tuple[Optional[float], Optional[float]]:
    if field.group("off"):
        return NAN, NAN
    clocks, percent = field.group("mhz") or field.group("only_mhz"), field.group("percent")
    if clocks is None and percent is None:
        raise UnknownForm("{} with a value of another kind".format(GPU))
    mhz = None if clocks is None else max(float(text) for text in clocks.strip("[]").split(","))
    return mhz, None if percent is None else float(percent)


def _add(values: Dict[str, float], name: str, value: float) -> None:
    if name in values:
        raise UnknownForm("{} stands twice in it".format(name))
    values[name] = value
