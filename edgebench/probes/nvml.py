"""NVML: the power of a discrete NVIDIA GPU with its memory, by the driver's own library, ten times a second.

The counter of energy is read where there is one (Volta and later): its steps come when the driver renews
it, so that each sample spans whole steps, and is the mean power between two. Older GPUs give their power
alone. On a Jetson the library refuses every query of power: there the rails are read instead (`ina3221`).

It was tested against a library of the same names and signatures, and on no GPU.
"""

import ctypes
import os
import time
from typing import Any, List, Optional, Tuple

from .basics import ADDRESS, Probe, ProbeDenied, ProbeMissing, Samples, now_ns

PLACE = "board"
LIBRARY = "libnvidia-ml.so.1"
JETSON_FILES = ("/etc/nv_tegra_release", "/proc/device-tree/compatible")
RATE_HZ = 10.0
SLEPT_OF_INTERVAL = 0.8  # the rest is spent on waiting for the counter's step
POLL_S = 0.002  # between two looks for the counter's next step
STEP_S = 0.5  # a counter that stands still for so long has failed: a GPU always draws power
MOST_W = 3000.0
NAME_BYTES = 96
SHOWN = 200

SUCCESS, NO_PERMISSION = 0, 4


class NvmlError(Exception):
    """A call of the library failed.

    Attributes:
        code: its nvmlReturn_t.
    """

    def __init__(self, code: int, words: str) -> None:
        super(NvmlError, self).__init__(words)
        self.code = code


class Nvml:
    """The library, initialised.

    Raises:
        OSError: it cannot be loaded.
        NvmlError: it cannot be initialised.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self._library.nvmlErrorString.argtypes = [ctypes.c_int]
        self._call("nvmlInit_v2", [])

    def count(self) -> int:
        """Number of GPUs it can reach."""
        return int(self._value("nvmlDeviceGetCount_v2", ctypes.c_uint).value)

    def device(self, index: int) -> ctypes.c_void_p:
        """The GPU of that number."""
        handle: ctypes.c_void_p = self._value(
            "nvmlDeviceGetHandleByIndex_v2", ctypes.c_void_p, ctypes.c_uint(index)
        )
        return handle

    def name(self, device: ctypes.c_void_p) -> str:
        """Name of the GPU."""
        text = ctypes.create_string_buffer(NAME_BYTES)
        types = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint]
        self._call("nvmlDeviceGetName", types, device, text, NAME_BYTES)
        return text.value.decode("ascii", "replace")

    def energy_mj(self, device: ctypes.c_void_p) -> int:
        """Since the driver was loaded."""
        return int(self._value("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong, device).value)

    def power_mw(self, device: ctypes.c_void_p) -> int:
        """Now, or averaged over a second, by the GPU's generation."""
        return int(self._value("nvmlDeviceGetPowerUsage", ctypes.c_uint, device).value)

    def close(self) -> None:
        """Let the driver go."""
        self._library.nvmlShutdown()

    def _value(self, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function and return what it writes behind its arguments."""
        value = kind()
        types = [type(argument) for argument in arguments] + [ctypes.POINTER(kind)]
        self._call(name, types, *(arguments + (ctypes.byref(value),)))
        return value

    def _call(self, name: str, types: List[Any], *values: Any) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NvmlError(-1, "this driver's library has no {}".format(name)) from None
        function.restype, function.argtypes = ctypes.c_int, types
        code = function(*values)
        if code != SUCCESS:
            words = self._library.nvmlErrorString(code) or b"unknown error"
            raise NvmlError(code, "{}: {}".format(name, words.decode("ascii", "replace")))


class NvmlProbe(Probe):
    """The power of one GPU.

    Args:
        address: as it was given.
        nvml: the library.
        device: the GPU.
        counts_energy: whether it has a counter of energy.
        name: the GPU's.
    """

    def __init__(
        self, address: str, nvml: Nvml, device: ctypes.c_void_p, counts_energy: bool, name: str
    ) -> None:
        channel = {"name": "gpu", "quantity": "power", "unit": "W", "total": True, "range": [0.0, MOST_W]}
        absent = {"energy counter": "this GPU has none: power is the driver's own figure"}
        info = {
            "kind": "nvml",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": 1e3 / RATE_HZ if counts_energy else None,  # since the sample before it
            "resolution": "{}: {}".format(name, "1 mJ counter" if counts_energy else "1 mW"),
            "scope": "module",
            "channels": [channel],
            "absent": {} if counts_energy else absent,
        }
        super(NvmlProbe, self).__init__(info)
        self._nvml = nvml
        self._device = device
        self._counts_energy = counts_energy
        self._last: Optional[Tuple[int, int]] = None  # when the counter stepped, and to how many mJ
        self._failure = ""
        self.port = LIBRARY

    def _take(self, samples: Samples, end_s: float) -> None:
        """The next sample; a gap where it cannot be read, and nothing where it only begins."""
        try:
            if self._counts_energy:
                self._take_energy(samples)
            else:
                time.sleep(1 / RATE_HZ)
                watts = self._nvml.power_mw(self._device) / 1e3
                samples.add(now_ns(), {"gpu": watts})
            self._failure = ""
        except NvmlError as error:
            if str(error) != self._failure:  # it is kept once and not at every sample
                self._failure = str(error)
                self.rejected.append(str(error)[:SHOWN])
            time.sleep(1 / RATE_HZ)
            samples.add_gap()

    def _take_energy(self, samples: Samples) -> None:
        """The mean power between two steps of the counter, stamped at the second.

        A sample that ended within a step would have a part of it.
        """
        last, self._last = self._last, None
        if last is not None:
            time.sleep(SLEPT_OF_INTERVAL / RATE_HZ)
        standing_mj = energy_mj = self._nvml.energy_mj(self._device)
        end_s = time.monotonic() + STEP_S
        while energy_mj == standing_mj:
            if time.monotonic() >= end_s:
                raise NvmlError(-1, "the counter of energy stands still")
            time.sleep(POLL_S)
            energy_mj = self._nvml.energy_mj(self._device)
        stamp_ns = now_ns()
        self._last = stamp_ns, energy_mj
        if last is not None:
            if energy_mj < last[1]:
                raise NvmlError(-1, "the counter of energy ran back")
            samples.add(stamp_ns, {"gpu": (energy_mj - last[1]) * 1e6 / (stamp_ns - last[0])})

    def _close(self) -> None:
        self._nvml.close()


def open_probe(address: str) -> NvmlProbe:
    """The probe of `nvml:INDEX`, or of `nvml` where there is one GPU."""
    if _on_jetson():
        raise ProbeMissing("NVML has no power on a Jetson", "use --meter ina3221 or --meter tegrastats there")
    nvml = None
    try:
        nvml = Nvml(LIBRARY)
        device = nvml.device(_index(address, nvml))
        return NvmlProbe(address, nvml, device, _counts_energy(nvml, device), nvml.name(device))
    except OSError as error:
        raise ProbeMissing(
            "NVIDIA's driver is not installed here: {}".format(error),
            "install the driver (`nvidia-smi` has to work), or use another meter",
        ) from None
    except (NvmlError, ProbeMissing) as error:
        if nvml is not None:
            nvml.close()
        if isinstance(error, ProbeMissing):
            raise
        if error.code == NO_PERMISSION:
            raise ProbeDenied(str(error), "let this user open /dev/nvidia*, as `nvidia-smi` has to") from None
        raise ProbeMissing(str(error), "see what `nvidia-smi` prints, or use another meter") from None


def _index(address: str, nvml: Nvml) -> int:
    """The number of the GPU that is meant."""
    count = nvml.count()
    names = ["{} ({})".format(index, nvml.name(nvml.device(index))) for index in range(count)]
    if not names:
        raise ProbeMissing("the driver has no GPU", "see `nvidia-smi`")
    if not address and count == 1:
        return 0
    if not address.isdigit() or int(address) >= count:
        there = "there are {} GPUs: {}".format(count, ", ".join(names))
        what = "there is no GPU {!r}".format(address) if address else there
        raise ProbeMissing(what, "name one: --meter nvml:0; {}".format(there), ADDRESS)
    return int(address)


def _counts_energy(nvml: Nvml, device: ctypes.c_void_p) -> bool:
    """Return True if the GPU has a counter of energy; NvmlError where it has no power either."""
    try:
        nvml.energy_mj(device)
        return True
    except NvmlError:
        nvml.power_mw(device)
        return False


def _on_jetson() -> bool:
    """Detect a Jetson by NVIDIA's own file, or the chip's name in the device tree."""
    release, device_tree = JETSON_FILES
    if os.path.exists(release):
        return True
    try:
        with open(device_tree, "rb") as file:
            return b"nvidia,tegra" in file.read(4096)
    except OSError:
        return False
