"""The power that a Raspberry Pi 5's own power chip (PMIC) delivers, by `vcgencmd pmic_read_adc`, 10 Hz.

Source: the firmware's command, as a Raspberry Pi 5, Compute Module 5 or Pi 500 answers it, a reading a line:
`VDD_CORE_A current(7)=0.92871990A` and `VDD_CORE_V volt(15)=0.72097620V`. Power is the sum over the rails
that have both. USB devices and HATs are supplied beside the chip, and its own loss is no rail: the sum is
below the board's power and is not corrected. Older boards refuse the command. The program opens /dev/vcio,
which the group `video` may.
"""

import re
import shutil
import subprocess
from typing import Any, Dict, List, Tuple

from .basics import ADDRESS, ANSWER, NAN, EvenProbe, ProbeDenied, ProbeMissing, now_ns

PLACE = "board"
PROGRAM = "vcgencmd"
RATE_HZ = 10.0
ANSWER_S = 2.0
TOTAL = "total"
SHOWN = 200
RANGE_W = [-1.0, 1000.0]

_READING = re.compile(
    r"^\s*(\w+)_([AV])\s+(?:current|volt)\(\d+\)=(-?\d{1,6}(?:\.\d{1,12})?)\2\s*$", re.MULTILINE
)


class Rpi5Probe(EvenProbe):
    """Power of each rail in W and their sum, stamped in the middle of the command."""

    def __init__(self, address: str, program: str, rails: List[str]) -> None:
        channels: List[Dict[str, Any]] = [
            {"name": name, "quantity": "power", "unit": "W", "range": RANGE_W} for name in [*rails, TOTAL]
        ]
        channels[-1]["total"] = True
        info = {
            "kind": "rpi5",
            "address": address,
            "rate_hz": RATE_HZ,
            "resolution": "not stated by the firmware",
            "scope": "module",
            "absent": {"averaging_ms": "the firmware does not say over what time a reading is the mean"},
            "channels": channels,
        }
        super(Rpi5Probe, self).__init__(info)
        self.port = program
        self._rails = rails

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        before_ns = now_ns()
        try:
            text = _answer(self.port)
        except (OSError, subprocess.SubprocessError) as error:
            text = str(error)
        stamp_ns = (before_ns + now_ns()) // 2
        watts = power_w(text)
        lost = [name for name in self._rails if name not in watts]
        if lost:
            self.rejected.append("no power of {}: {}".format(", ".join(lost), text[:SHOWN]))
        sample = {name: watts.get(name, NAN) for name in self._rails}
        sample[TOTAL] = sum(sample.values())
        return stamp_ns, sample


def power_w(text: str) -> Dict[str, float]:
    """The power in W of each rail that has both a current and a voltage in the answer."""
    readings = {(name, unit): float(number) for name, unit, number in _READING.findall(text)}
    return {
        name: amperes * readings[name, "V"]
        for (name, unit), amperes in readings.items()
        if unit == "A" and (name, "V") in readings
    }


def _answer(program: str) -> str:
    """Return what `pmic_read_adc` prints, up to 64 kB; OSError or SubprocessError where it cannot run."""
    process = subprocess.run(
        [program, "pmic_read_adc"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ANSWER_S
    )
    return process.stdout[:65536].decode("ascii", "backslashreplace")


def open_probe(address: str) -> Rpi5Probe:
    """Open the probe of `rpi5` or `rpi5:PATH_OF_VCGENCMD`.

    Raises:
        ProbeMissing: there is no such program, or the board has no such power chip.
        ProbeDenied: /dev/vcio may not be opened.
    """
    program = shutil.which(address or PROGRAM)
    if program is None:
        raise ProbeMissing(
            "there is no program {}".format(address or PROGRAM),
            "a Raspberry Pi 5 has it in the package raspi-utils; other boards need another meter",
            ADDRESS if address else "",
        )
    try:
        text = _answer(program)
    except (OSError, subprocess.SubprocessError) as error:
        raise ProbeMissing(
            "{} cannot be run: {}".format(program, error), "use another meter", ANSWER
        ) from None
    rails = list(power_w(text))
    if rails:
        return Rpi5Probe(address, program, rails)
    shown = " ".join(text.split())[:SHOWN] or "nothing"
    if "/dev/vc" in text or "permission" in text.lower():
        raise ProbeDenied(
            "{} may not ask the firmware: {}".format(program, shown),
            "sudo usermod -aG video $USER",
            port=program,
        )
    raise ProbeMissing(
        "pmic_read_adc gives no rail with current and voltage, as before the Raspberry Pi 5: {}".format(
            shown
        ),
        "use another meter, such as one at the board's supply",
        ANSWER,
    )
