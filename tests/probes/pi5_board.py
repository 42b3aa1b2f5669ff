"""A stand-in for a Raspberry Pi 5's vcgencmd."""

import stat
from pathlib import Path

# A public listing of `vcgencmd pmic_read_adc`: twelve rails, and two voltages alone.
CURRENTS_A = {
    "3V7_WL_SW": "0.04782057", "3V3_SYS": "0.04684464", "1V8_SYS": "0.17078780", "DDR_VDD2": "0.02049453",
    "DDR_VDDQ": "0.00000000", "1V1_SYS": "0.18933040", "0V8_SW": "0.32888840", "VDD_CORE": "0.92871990",
    "3V3_DAC": "0.00054945", "3V3_ADC": "0.00018315", "0V8_AON": "0.00586080", "HDMI": "0.01636140",
}  # fmt: skip
VOLTAGES_V = {
    "3V7_WL_SW": "3.70534400", "3V3_SYS": "3.31467300", "1V8_SYS": "1.80903400", "DDR_VDD2": "1.10292900",
    "DDR_VDDQ": "0.61575030", "1V1_SYS": "1.10512700", "0V8_SW": "0.80292960", "VDD_CORE": "0.72097620",
    "3V3_DAC": "3.30952000", "3V3_ADC": "3.30952000", "0V8_AON": "0.79765500", "HDMI": "5.16034000",
    "EXT5V": "5.17105900", "BATT": "0.00598290",
}  # fmt: skip
TEXT = "".join(
    [
        f"{name + '_A':>12} current({place})={value}A\n"
        for place, (name, value) in enumerate(CURRENTS_A.items())
    ]
    + [
        f"{name + '_V':>12} volt({place})={value}V\n"
        for place, (name, value) in enumerate(VOLTAGES_V.items(), 8)
    ]
)


def vcgencmd(folder: Path) -> Path:
    """Write a program that prints the file `answer` beside it, which holds TEXT at first."""
    path = folder / "vcgencmd"
    path.write_text(f'#!/bin/sh\n[ "$1" = pmic_read_adc ] && cat {folder}/answer\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "answer").write_text(TEXT)
    return path
