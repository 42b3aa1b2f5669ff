"""A stand-in for the package `ppk2-api` with the names of its release 0.9.2: the class PPK2_API."""

import time
import types
from typing import Any

import numpy as np

OFFSETS = {str(place): 0.0 for place in range(5)}
ONES = {str(place): 1.0 for place in range(5)}


def words(amperes, api, numbers, inputs=0):
    """Samples uint32 [n] in the range of 0.043 ohm, which is the last, counted by their numbers modulo 64."""
    steps = np.round(np.asarray(amperes) * api.modifiers["R"]["4"] / api.adc_mult / 4)
    levels = np.asarray(inputs, "<u4") << np.uint32(24)
    counts = (np.asarray(numbers) % 64).astype("<u4") << np.uint32(18)
    return (steps.astype("<u4") | np.uint32(4 << 14) | counts | levels).astype("<u4")


def package(kits):
    """The module ppk2_api.ppk2_api; `lost` has the places of the bytes that do not come.

    Args:
        kits: by port, what is called with the numbers of samples [n] and gives A and the inputs' bits; an
            exception to be raised where it is opened, or None for a device that is no kit.
    """

    opened: list[Any] = []
    lost: set[int] = set()

    class Api:
        def __init__(self, port, **kwargs):
            assert set(kwargs) <= {"timeout", "write_timeout", "exclusive"}
            self._kit = kits.get(port, FileNotFoundError(2, "No such file or directory", port))
            if isinstance(self._kit, Exception):
                raise self._kit
            self.port = port
            self.ser = types.SimpleNamespace(close=lambda: None)
            self.modifiers = {
                "Calibrated": None, "R": {"0": 1031.64, "1": 101.65, "2": 10.15, "3": 0.94, "4": 0.043},
                "GS": ONES, "GI": ONES, "O": OFFSETS, "S": OFFSETS, "I": OFFSETS, "UG": ONES, "HW": None,
                "IA": None,
            }  # fmt: skip
            self.modifiers["GS"] = OFFSETS
            self.adc_mult = 1.8 / 163840
            self.calls = []
            self._began_s = None
            self._sent = 0
            opened.append(self)

        @staticmethod
        def list_devices():
            return list(kits)

        def get_modifiers(self):
            return True if self._kit is not None else None

        def set_source_voltage(self, mV):
            self.calls.append(("set_source_voltage", mV))

        def use_ampere_meter(self):
            self.calls.append("use_ampere_meter")

        def use_source_meter(self):
            self.calls.append("use_source_meter")

        def toggle_DUT_power(self, state):
            self.calls.append(("toggle_DUT_power", state))

        def start_measuring(self):
            self.calls.append("start_measuring")
            self._began_s = time.monotonic()

        def stop_measuring(self):
            self._began_s = None

        def get_data(self):
            if self.port not in kits:
                raise OSError(5, "Input/output error")
            if self._began_s is None:
                return b""
            due = int((time.monotonic() - self._began_s) * 100_000)
            numbers = np.arange(self._sent, due)
            self._sent = due
            amperes, inputs = kits[self.port](numbers)
            data = words(amperes, self, numbers[: len(amperes)], inputs).tobytes()
            began = 4 * int(numbers[0]) if len(numbers) else 0
            data = bytes(byte for place, byte in enumerate(data, began) if place not in lost)
            # Cut as a port cuts them: the rest comes with the next.
            data, self._rest = getattr(self, "_rest", b"") + data, b""
            cut = len(data) - len(data) % 7
            self._rest = data[cut:]
            return data[:cut]

    return types.SimpleNamespace(PPK2_API=Api, opened=opened, lost=lost)
