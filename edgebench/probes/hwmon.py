"""hwmon: power of a chip in the kernel's sysfs, such as an INA219, INA226 or INA260, 50 times a second.

Source: the kernel's ABI of `class/hwmon/hwmonX`: `name`, `powerN_input` or else `powerN_average` in uW,
`inN_input` in mV and `currN_input` in mA, each perhaps with a label. Power has the sign of its current, since
chips give its amount. A chip without power gives voltage times current. They belong together by their labels
(Port1, or vout1 and iout1), or else by their numbers up to 3: the INA3221's in4 to in7 are its shunts. The
TPS23861 and ADM1177 count voltages from 0. Of other chips that do so, only TI's INA are paired by numbers:
their in0 is the shunt. `update_interval` in ms is the time that a reading is the mean over where the driver
is that of a TI INA chip (an INA219 has no such file); of another chip it is how often a reading is renewed.
`powerN_average_interval` in ms is that time of an average. Power and current are by `shunt_resistor`, in
uOhm, as the driver was given it.
"""

import glob
import os
import re
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from . import basics
from .basics import ADDRESS, NAN, EvenProbe, OpenFile, ProbeDenied, ProbeMissing, now_ns, the_only

PLACE = "board"
TREE = "/sys"
RATE_HZ = 50.0
MUTE_S = 2.0
SHOWN = 100
POWER = {"quantity": "power", "unit": "W", "total": True, "range": [-1000.0, 1000.0]}
EXAMPLE = "hwmon:ina226?scope=board"
CHIPS = "class/hwmon/hwmon*"
NO_CHIP = "use another meter, or have the kernel drive a chip: echo ina226 0x40 | sudo tee {}".format(
    "/sys/bus/i2c/devices/i2c-1/new_device"
)
MOST_PAIRED = 3
FROM_0 = {"tps23861": 4, "adm1177": 1}
"""How many pairs a chip has that counts its voltages from 0."""
SETTINGS = ("shunt_resistor", "samples", "update_interval")
AVERAGES = re.compile(r"ina\d")
NUMBER = re.compile(r"-?\d{1,12}\n?\Z")


class Quantity(NamedTuple):
    """Quantity of a channel: the product of its files' numbers times a scale."""

    name: str
    files: Tuple[OpenFile, ...]
    scale: float
    has_sign: bool = False  # whether the last file gives the sign alone

    def read(self, rejected: List[str]) -> float:
        """Read the value in the channel's unit, NaN where a file has none; OSError where it is gone."""
        value = self.scale
        for place, file in enumerate(self.files, 1):
            text = file.text()
            if NUMBER.match(text) is None:
                rejected.append("{}: {}".format(self.name, text[:SHOWN]))
                return NAN
            if not self.has_sign or place < len(self.files):
                value *= float(text)
            elif float(text) < 0:
                value = -abs(value)
        return value


def quantity(name: str, paths: Iterable[str], scale: float, has_sign: bool = False) -> Quantity:
    """Read a quantity from some files; OSError where one of them has no number now."""
    opened = Quantity(name, tuple(map(OpenFile, paths)), scale, has_sign)
    rejected: List[str] = []
    opened.read(rejected)
    if rejected:
        raise OSError(rejected[0])
    return opened


class HwmonProbe(EvenProbe):
    """The power of each rail, sampled together.

    Args:
        info: what it says of itself.
        rails: what is read, in W.
    """

    def __init__(self, info: Dict[str, Any], rails: Sequence[Quantity]) -> None:
        super(HwmonProbe, self).__init__(info)
        self._quantities = rails
        self.port = rails[0].files[0].path
        self.start()

    def start(self) -> None:
        """Require a rail to be read within MUTE_S from now on."""
        self._heard_s = time.monotonic()

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        watts: Dict[str, float] = {}
        error: Optional[OSError] = None
        for rail in self._quantities:
            try:
                watts[rail.name] = rail.read(self.rejected)
                self._heard_s = time.monotonic()
            except OSError as failure:
                watts[rail.name], error = NAN, failure
        stamp_ns = now_ns()
        if error is not None and time.monotonic() - self._heard_s > MUTE_S:
            raise ProbeMissing(
                "no rail could be read for {:g} s: {}".format(MUTE_S, error), "see dmesg on the board"
            )
        return stamp_ns, watts


def label(path: str) -> str:
    """The name or number in a small file; empty without such a file."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            text = file.read(256).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:40]


def averaging_ms(paths: Iterable[str]) -> Optional[float]:
    """The shortest of the times in ms in some files; None where one of them has none."""
    texts = list(map(label, paths))
    shortest = min(map(float, texts)) if all(map(NUMBER.match, texts)) else 0.0
    return shortest if shortest > 0 else None


# What gives power: its names, the third by chip and label, the last by device and channel, its files, and
# whether the last of them gives the sign alone.
Source = NamedTuple("Source", [("names", Tuple[str, ...]), ("files", Tuple[str, ...]), ("has_sign", bool)])


def open_probe(address: str) -> HwmonProbe:
    """The probe of `hwmon:CHIP/CHANNEL?scope=SCOPE`, or of the only power of /sys or `hwmon:/its/copy`."""
    name, options = basics.split_options(address, ("scope",), EXAMPLE)
    absent: Dict[str, str] = {}
    scope = basics.scope_of(options, absent)
    tree, wanted = (name, "") if name.startswith("/") else (TREE, name)
    sources = _sources(glob.escape(tree))
    there = ", ".join(["{} ({})".format(source.names[-1], source.names[2]) for source in sources])[:1000]
    what = "there is no {!r}: {}".format(wanted, there)
    fix = "name one of them, such as --meter hwmon:{}".format(sources[0].names[-1] if sources else "")
    if not sources:
        what, fix = "{} has no chip with power".format(os.path.join(tree, CHIPS)), NO_CHIP
    source = the_only(
        [source for source in sources if not wanted or wanted in source.names],
        ProbeMissing(what, fix, ADDRESS if sources else ""),
        ProbeMissing("several give power: {}".format(there), fix, ADDRESS),
    )
    chip, folder = source.names[0], os.path.dirname(source.files[0])
    settings = ["{} {}".format(name, label(os.path.join(folder, name))).rstrip() for name in SETTINGS]
    try:
        rail = quantity(source.names[2].partition("/")[2], source.files, 1e-6, source.has_sign)
    except OSError as error:
        kind = ProbeDenied if isinstance(error, PermissionError) else ProbeMissing
        words = "{} cannot be read: {}".format(source.files[0], str(error)[:SHOWN])
        fix = "see dmesg on the board; of a file that root alone may read: sudo chmod a+r {}".format(folder)
        raise kind(words, fix + "/*_input", port=source.files[0]) from None
    interval = source.files[0] + "_interval"  # of powerN_average
    if source.files[0].endswith("_input"):
        interval = os.path.join(folder, "update_interval") if AVERAGES.match(chip) else ""
    info = {
        "kind": "hwmon",
        "address": address,
        "rate_hz": RATE_HZ,
        "averaging_ms": averaging_ms([interval]),
        "resolution": ", ".join([chip, source.names[-1]] + [text for text in settings if " " in text]),
        "scope": scope,
        "channels": [dict(POWER, name=rail.name)],
        "absent": absent,
    }
    return HwmonProbe(info, [rail])


def _sources(tree: str) -> List[Source]:
    """Find what gives power below a sysfs: every power of a chip, or every pair where it has none."""
    sources = []
    for folder in sorted(glob.glob(os.path.join(tree, CHIPS))):
        device = os.path.join(folder, "device")
        places = [label(os.path.join(folder, "name"))]
        places.append(os.path.basename(os.path.realpath(device) if os.path.isdir(device) else folder))
        powers = signed_powers(folder)
        for files in powers or _pairs(folder, places[0]):
            channel = os.path.basename(files[0]).partition("_")[0]
            labels = (label(os.path.join(folder, channel + "_label")) or channel, channel)
            names = places + ["{}/{}".format(place, name) for name in labels for place in places]
            sources.append(Source(tuple(names), files, bool(powers) and len(files) > 1))
    return sources


def signed_powers(folder: str) -> List[Tuple[str, ...]]:
    """The file of each power of a chip, and that of the current with its sign where there is one."""
    paths = {os.path.basename(path).rpartition("_")[0]: path for path in _files(folder, "power*_average")}
    paths.update((os.path.basename(path)[: -len("_input")], path) for path in _files(folder, "power*_input"))
    partners = [
        (path, _partner(path, "curr", re.sub(r"\D", "", channel))) for channel, path in sorted(paths.items())
    ]
    return [tuple(filter(None, files)) for files in partners]


def _pairs(folder: str, chip: str) -> List[Tuple[str, ...]]:
    """The files of each voltage and current of a chip that belong together."""
    first = 1 if chip in FROM_0 else 0
    # Of other chips that count from 0 it is not known, but for the shunt of TI's.
    is_known = first or AVERAGES.match(chip) or not _files(folder, "in0_input")
    most = FROM_0.get(chip, MOST_PAIRED) if is_known else 0
    pairs: List[Tuple[str, ...]] = []
    for path in _files(folder, "curr*_input"):
        number = int(re.sub(r"\D", "", os.path.basename(path)) or 0)
        voltage = _partner(path, "in", str(number - first) if number <= most else "")
        pairs += [(voltage, path)] if voltage else []
    return pairs


def _partner(path: str, kind: str, number: str) -> str:
    """The input of another kind that belongs to one, by labels or else of that number; "" without one."""
    folder, role = os.path.dirname(path), _role(path)
    others = {other: _role(other) for other in _files(folder, kind + "*_input")}
    if role and any(others.values()):
        return next((other for other in others if others[other] == role), "")
    other = os.path.join(folder, "{}{}_input".format(kind, number))
    return other if other in others else ""


def _role(path: str) -> str:
    """A channel's label, without the letter for its quantity: out1 of vout1, iout1 and pout1."""
    return re.sub(r"\A[vip](?=in|out)", "", label(path.rpartition("_")[0] + "_label"))


def _files(folder: str, pattern: str) -> List[str]:
    return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
