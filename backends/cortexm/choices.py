"""What users choose among by `--set` and the commands' options. For shells, which complete by it."""

from typing import Literal

ENGINES = ("generated", "tflm")
"""C made of an ONNX file; TFLM, linked with the user's library."""

BenchmarkId = Literal["ad01", "ic01", "kws01", "sww01", "strww01", "vww01"]
"""By which MLPerf Tiny's runner chooses its test."""

SERIAL_PATTERN = r"[0-9A-Za-z]{1,64}"
"""Serial numbers of ST-LINKs."""

BAUD, FAST_BAUD, ENERGY_BAUD = 115_200, 921_600, 9_600
"""Baud rates: the benchmark's performance builds, fast firmware, and energy builds."""

LEAST_BAUD, MOST_BAUD = 1_200, 12_000_000
