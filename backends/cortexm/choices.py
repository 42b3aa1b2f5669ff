"""What users choose among by `--set` and by the commands' options. Imports nothing: shells complete by it."""

ENGINES = ("generated", "tflm")
"""C made of an ONNX file; TFLM, linked with the user's library."""

SERIAL_PATTERN = r"[0-9A-Za-z]{1,64}"
"""Serial numbers of ST-LINKs."""

BAUD, FAST_BAUD, ENERGY_BAUD = 115_200, 921_600, 9_600
"""Baud rates: the benchmark's performance builds, fast firmware, and energy builds."""

LEAST_BAUD, MOST_BAUD = 1_200, 12_000_000
