"""INA3221: the power rails of a Jetson, read from the chips' files in sysfs, finer than tegrastats has them.

Sources, below `bus/i2c/drivers`: `ina3221/<bus>-00<addr>/hwmon/hwmon*/` of JetPack 5 and later, `inN_label`,
`inN_input` in mV and `currN_input` in mA, N = 1 to 3 (4 to 7 are shunt voltages and their sum);
`ina3221x/<bus>-00<addr>/iio:device*/` of JetPack 4, `rail_name_N` and `in_powerN_input` in mW, which on
JetPack 4.6 root alone may read. The INA238 of Thor, `class/hwmon/hwmon*/power1_input` in uW, is its VIN; on
other boards, by their rails and device tree, an INA238 is of something else.
The INA3221's `update_interval` in ms, of JetPack 5 and later, is the time that it averages over (samples
times channels times conversion times). The GPU's clock, `class/devfreq/*.gpu/cur_freq` in Hz (or by its
chip's name, such as .ga10b), and its thermal zone are read five times a second: both by the firmware.
"""

import glob
import os
import re
from typing import Any, Dict, List, Sequence, Tuple

from .. import hwmon
from ..basics import ProbeDenied, ProbeMissing
from ..hwmon import HwmonProbe, Quantity, label, quantity
from .rails import (
    GPU_CLOCK,
    GPU_CLOCK_CHANNEL,
    NOT_CONNECTED,
    SCOPE,
    TEMPERATURE,
    Rails,
    is_rail,
    temperature_channel,
)

PLACE = "board"
RATE_HZ = 50.0
STATE_EVERY = 10  # samples, of clock and temperature
MOST_RAILS = 32

HWMON = "bus/i2c/drivers/ina3221/*/hwmon/hwmon*"
IIO = "bus/i2c/drivers/ina3221x/*/iio:device*"
THOR_RAIL, THOR_CHIP = "VDD_CPU_SOC_MSS", b"tegra264"
DEVICE_TREE = "firmware/devicetree/base/compatible"
GPU_DEVICE = re.compile(r"\.(gpu|g[a-z]\d{1,2}b)$|^gpu-gpc-\d{1,2}$")


class Ina3221Probe(HwmonProbe):
    """The power of each rail, sampled together.

    Args:
        info: what it says of itself, without its channels.
        quantities: of the rails, in W.
        state: clock and temperature, by channel.
    """

    def __init__(self, info: Dict[str, Any], quantities: List[Quantity], state: List[Quantity]) -> None:
        self._rails = Rails([rail.name for rail in quantities])
        info["absent"].update(self._rails.absent)
        info["channels"] = self._rails.channels + [
            GPU_CLOCK_CHANNEL if name == GPU_CLOCK else temperature_channel(name[len(TEMPERATURE) :])
            for name in [each.name for each in state]
        ]
        super(Ina3221Probe, self).__init__(info, quantities)
        self._state = state
        self._samples = 0

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        stamp_ns, watts = super(Ina3221Probe, self)._sample()
        sample = dict(self._rails.sample(watts))
        for each in [] if self._samples % STATE_EVERY else self._state:
            try:
                sample[each.name] = each.read(self.rejected)
            except OSError:
                continue
        self._samples += 1
        return stamp_ns, sample


def open_probe(address: str) -> Ina3221Probe:
    """The probe of `ina3221:` (every rail below /sys) or `ina3221:/another/sysfs`."""
    tree = glob.escape(address or hwmon.TREE)
    absent: Dict[str, str] = {}
    denied: List[str] = []
    rails: Dict[str, Quantity] = {}
    places = _places(tree, absent)
    for rail, chip, paths, scale, has_sign in places[:MOST_RAILS]:
        name = "{}@{}".format(rail, chip) if rail in rails else rail
        if name in rails or not is_rail(name):
            absent[name] = "{} has a rail of that name, which is another one's".format(chip)
            continue
        try:
            rails[name] = quantity(name, paths, scale, has_sign)
        except PermissionError as error:
            denied.append(str(error.filename))
            absent[name] = str(error)
        except OSError as error:
            absent[name] = "{} cannot be read: {}".format(paths[0], str(error)[: hwmon.SHOWN])
    if denied and not rails:
        raise ProbeDenied(
            "{} may be read by root only".format(denied[0]),
            "let root run it on this board (--host root@BOARD), or: sudo chmod a+r {}/*".format(
                os.path.dirname(denied[0])
            ),
            port=denied[0],
        )
    if not rails:
        why = "; ".join(absent.values()) or "{} has no INA3221 with a rail".format(address or hwmon.TREE)
        raise ProbeMissing(why[:1000], "a Jetson has one; on other boards use another meter")
    state: List[Quantity] = []
    for what, find in (("GPU clock", _gpu_clock), ("GPU temperature", _gpu_temperature)):
        try:
            state.append(find(tree))
        except (OSError, ValueError) as error:
            absent[what] = str(error)[:1000]
    info = {
        "kind": "ina3221",
        "address": address,
        "rate_hz": RATE_HZ,
        "averaging_ms": hwmon.averaging_ms(
            {os.path.join(os.path.dirname(place[2][0]), "update_interval") for place in places}
        ),
        "resolution": "what the driver gives: whole mV and mA, mW, or uW",
        "scope": SCOPE,
        "absent": absent,
    }
    return Ina3221Probe(info, list(rails.values()), state)


# A rail's name, its chip, its files, their scale, and whether the last file gives the sign alone.
Place = Tuple[str, str, Sequence[str], float, bool]


def _places(tree: str, absent: Dict[str, str]) -> List[Place]:
    """The rails that are connected, by JetPack 5 and later, by JetPack 4, and by the INA238 of Thor."""
    places: List[Place] = []
    for folder in sorted(glob.glob(os.path.join(tree, HWMON))):
        chip = os.path.basename(os.path.dirname(os.path.dirname(folder)))
        for number in ("1", "2", "3"):  # mV times mA is uW
            files = [os.path.join(folder, file.format(number)) for file in ("in{}_input", "curr{}_input")]
            places.append(
                (label(os.path.join(folder, "in{}_label".format(number))), chip, files, 1e-6, False)
            )
    for folder in sorted(glob.glob(os.path.join(tree, IIO))):
        chip = os.path.basename(os.path.dirname(folder))
        for rail in sorted(glob.glob(os.path.join(glob.escape(folder), "rail_name_[0-9]"))):
            file = os.path.join(folder, "in_power{}_input".format(rail[-1]))
            places.append((label(rail), chip, [file], 1e-3, False))
    folders = sorted(glob.glob(os.path.join(tree, hwmon.CHIPS)))
    chips = [folder for folder in folders if label(os.path.join(folder, "name")) == "ina238"]
    is_thor = THOR_RAIL in [place[0] for place in places] or THOR_CHIP in _device_tree(tree)
    if chips and not is_thor:
        absent["ina238"] = "it is no rail of this module, which is no Thor: read it as hwmon:ina238"
    for folder in chips if is_thor else []:  # which of several is the module's input is not known
        name = "VIN" if len(chips) == 1 else os.path.basename(folder)
        places += [(name, "ina238", files, 1e-6, len(files) > 1) for files in hwmon.signed_powers(folder)[:1]]
    return [place for place in places if place[0] not in ("", NOT_CONNECTED)]


def _device_tree(tree: str) -> bytes:
    """The names of board and chip; empty where there is no device tree."""
    for path in glob.glob(os.path.join(tree, DEVICE_TREE)):
        with open(path, "rb") as file:
            return file.read(4096)
    return b""


def _gpu_clock(tree: str) -> Quantity:
    """The GPU's clock in MHz; ValueError or OSError with the reason where it is absent."""
    for folder in sorted(glob.glob(os.path.join(tree, "class/devfreq/*"))):
        if GPU_DEVICE.search(os.path.basename(folder)):
            return quantity(GPU_CLOCK, [os.path.join(folder, "cur_freq")], 1e-6)
    raise ValueError("{}/class/devfreq has no GPU".format(tree))


def _gpu_temperature(tree: str) -> Quantity:
    """The GPU's temperature in C; ValueError or OSError with the reason where it is absent."""
    for zone in sorted(glob.glob(os.path.join(tree, "class/thermal/thermal_zone*"))):
        kind = label(os.path.join(zone, "type"))
        if kind.lower().startswith("gpu"):
            return quantity(TEMPERATURE + kind, [os.path.join(zone, "temp")], 1e-3)
    raise ValueError("{}/class/thermal has no zone of the GPU".format(tree))
