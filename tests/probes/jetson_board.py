"""A Jetson as its files and its tegrastats show it: real lines, a program that prints them, sysfs trees."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

NANO = (
    "RAM 613/3964MB (lfb 634x4MB) SWAP 0/1982MB (cached 0MB) CPU [2%@102,1%@102,0%@102,0%@102] "
    "EMC_FREQ 0% GR3D_FREQ 0% PLL@39C CPU@40.5C PMIC@100C GPU@41C AO@46C thermal@41C POM_5V_IN "
    "900/943 POM_5V_GPU 0/0 POM_5V_CPU 123/123"
)
TX1 = (
    "RAM 1179/3983MB (lfb 120x4MB) IRAM 0/252kB(lfb 252kB) CPU [1%@102,4%@102,0%@102,0%@102] "
    "EMC_FREQ 7%@408 GR3D_FREQ 0%@76 APE 25 AO@42.5C CPU@37.5C GPU@39C PLL@37C Tdiode@42.75C "
    "PMIC@100C Tboard@42C thermal@38.5C VDD_IN 2532/2698 VDD_CPU 76/178 VDD_GPU 19/19"
)
TX2 = (
    "RAM 1345/7829MB (lfb 1290x4MB) SWAP 0/512MB (cached 0MB) CPU [2%@345,off,off,off,off,off] "
    "EMC_FREQ 13%@40 GR3D_FREQ 0%@114 APE 150 BCPU@35C MCPU@35C GPU@41C PLL@35C AO@35.5C "
    "Tboard@35C Tdiode@36C PMIC@100C thermal@35.5C VDD_IN 2003/2658 VDD_CPU 320/518 VDD_GPU "
    "400/735 VDD_SOC 400/415 VDD_WIFI 0/0 VDD_DDR 240/348"
)
AGX_XAVIER = (
    "RAM 1903/15692MB (lfb 3251x4MB) CPU "
    "[1%@1190,1%@1190,2%@1190,0%@1190,0%@1190,0%@1190,0%@1190,0%@1190] EMC_FREQ 0% GR3D_FREQ 0% "
    "AO@32.5C GPU@32C Tboard@32C Tdiode@34.75C AUX@31.5C CPU@33.5C thermal@32.9C PMIC@100C GPU "
    "0/0 CPU 216/216 SOC 864/864 CV 0/0 VDDRQ 144/144 SYS5V 1889/1889"
)
AGX_ORIN = (
    "10-16-2023 10:59:22 RAM 1205/30623MB (lfb 6429x4MB) SWAP 0/15311MB (cached 0MB) CPU "
    "[0%@729,0%@729,1%@729,0%@729,0%@729,0%@730,0%@730,0%@729,0%@729,0%@729,0%@729,0%@729] "
    "EMC_FREQ 0%@204 GR3D_FREQ 0%@114 GR3D2_FREQ 0%@114 NVJPG1 729 VIC_FREQ 729 APE 233 CV0@-256C"
    " CPU@43.5C Tdiode@32.5C SOC2@40.062C SOC0@40.5C CV1@-256C GPU@38.156C SOC1@39.125C CV2@-256C"
    " VDD_GPU_SOC 4788mW/4788mW VDD_CPU_CV 798mW/798mW VIN_SYS_5V0 3842mW/3842mW NC 0mW/0mW "
    "VDDQ_VDD2_1V8AO 707mW/707mW NC 0mW/0mW"
)
ORIN_NANO = (
    "04-27-2026 15:00:54 RAM 779/7620MB (lfb 2x4MB) SWAP 0/3810MB (cached 0MB) CPU "
    "[0%@1344,0%@1344,0%@1344,0%@1344,0%@1344,0%@1344] GR3D_FREQ 0% cpu@50.125C soc2@49.125C "
    "soc0@49.25C gpu@50.562C tj@50.562C soc1@50.437C VDD_IN 6626mW/6625mW VDD_CPU_GPU_CV "
    "1228mW/1230mW VDD_SOC 2380mW/2380mW"
)
AGX_ORIN_JETPACK_7 = (
    "07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) CPU "
    "[23%@2201,10%@2201,4%@2201,14%@2201,30%@2201,18%@2201,10%@2201,10%@2201,33%@2201,7%@2201,5%@2201,27%@2201]"
    " EMC_FREQ 3%@3199 GR3D_FREQ 12%@[1300,1300] NVENC0 off NVDEC0 off NVJPG0 off NVJPG1 off VIC "
    "off OFA off NVDLA0 off NVDLA1 off PVA0_FREQ off APE 174 cpu@52.968C/52.968C "
    "soc2@48.406C/48.406C soc0@49.531C/49.531C gpu@47.625C/47.625C VDD_GPU_SOC "
    "5139mW/5139mW/5139mW VDD_CPU_CV 3268mW/3268mW/3268mW VIN_SYS_5V0 5500mW/5500mW/5500mW"
)
THOR = AGX_ORIN_JETPACK_7.partition("VDD_GPU_SOC")[0] + (
    "VDD_GPU 2000mW/2000mW/2000mW VDD_CPU_SOC_MSS 6000mW/6000mW/6000mW VIN_SYS_5V0 5000mW/5000mW/5000mW "
    "VIN 21000mW/21000mW/21000mW"
)
"""Put together: the line of another board, with the rails of Thor."""

STAND_IN = Path(__file__).with_name("stand_in_tegrastats.py")


def tegrastats(folder: Path, *lines: str, mode: str = "lines", name: str = "tegrastats") -> str:
    """A program that prints these lines over and over, in one of the stand-in's modes; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    printed = folder / f"{name}.txt"
    printed.write_text("".join(line + "\n" for line in lines))
    program = folder / name
    words = shlex.join([sys.executable, "-S", "-E", str(STAND_IN), mode, str(printed)])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return str(program)


def write(tree: Path, files: dict[str, object]) -> Path:
    """Small files below a folder, by their paths."""
    for path, text in files.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return tree


def ina3221_files(chip: str, rails: dict[str, tuple[int, int]], number: int = 3) -> dict[str, object]:
    """The files of one INA3221 of JetPack 5 or later: by rail mV and mA, then shunt voltages."""
    folder = f"bus/i2c/drivers/ina3221/{chip}/hwmon/hwmon{number}"
    files: dict[str, object] = {f"{folder}/name": "ina3221"}
    for at, (rail, (millivolts, milliamperes)) in enumerate(rails.items(), 1):
        files[f"{folder}/in{at}_label"] = rail
        files[f"{folder}/in{at}_input"] = millivolts
        files[f"{folder}/curr{at}_input"] = milliamperes
        files[f"{folder}/in{at + 3}_input"] = 77
    files[f"{folder}/in7_label"] = "sum of shunt voltages"
    files[f"{folder}/in7_input"] = 231
    files[f"{folder}/curr4_input"] = 99
    return files


def iio(chip: str, rails: dict[str, int], number: int = 0) -> dict[str, object]:
    """The files of one INA3221 of JetPack 4: by rail mW."""
    folder = f"bus/i2c/drivers/ina3221x/{chip}/iio:device{number}"
    files: dict[str, object] = {}
    for at, (rail, milliwatts) in enumerate(rails.items()):
        files[f"{folder}/rail_name_{at}"] = rail
        files[f"{folder}/in_power{at}_input"] = milliwatts
        files[f"{folder}/in_voltage{at}_input"] = 5000
        files[f"{folder}/in_current{at}_input"] = milliwatts // 5
    return files


def gpu(device: str, hertz: int = 1_300_500_000, millidegrees: int = 47_625) -> dict[str, object]:
    """The GPU's clock and thermal zone."""
    return {
        f"class/devfreq/{device}/cur_freq": hertz,
        "class/thermal/thermal_zone0/type": "cpu-thermal",
        "class/thermal/thermal_zone0/temp": 52_968,
        "class/thermal/thermal_zone1/type": "gpu-thermal",
        "class/thermal/thermal_zone1/temp": millidegrees,
    }


def orin_nano() -> dict[str, object]:
    """The whole tree of an Orin Nano, JetPack 6."""
    rails = {"VDD_IN": (5000, 1325), "VDD_CPU_GPU_CV": (5000, 245), "VDD_SOC": (5000, 476)}
    return {**ina3221_files("1-0040", rails), **gpu("17000000.gpu")}
