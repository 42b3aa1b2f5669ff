"""What a board with an NVIDIA GPU adds to the facts: the GPU and its clocks, TensorRT, the CUDA runtime."""

import glob
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from .small_files import Absent, text

DEVFREQ = "sys/class/devfreq/*"
INTEGRATED = re.compile(r"\.(gpu|g[a-z]\d{1,2}b)$")  # 57000000.gpu, 17000000.gv11b, 17000000.ga10b
DISCRETE = "proc/driver/nvidia/gpus/*/information"
# The driver's memory is reached by it on every Jetson; root and the group video may open it.
NVMAP = "dev/nvmap"
FOLDERS = (
    "usr/lib/*-linux-gnu*",
    "usr/lib/*-linux-gnu*/nvidia",
    "usr/local/cuda*/lib64",
    "usr/local/cuda*/targets/*/lib",
)
SYSTEM_PACKAGES = ("usr/lib/python3*/dist-packages/tensorrt", "usr/lib/python3*/site-packages/tensorrt")
CPU_CLOCKS = "sys/devices/system/cpu/cpu[0-9]*/cpufreq"
MOST = 64


def gpu(root: str) -> Dict[str, Any]:
    """`name`; of a Jetson's the `clocks_mhz` {min, max} that it is held between, and whether it is `usable`.

    One that no permission keeps from its driver is usable; None where that cannot be told.
    """
    for folder in _entries(root, DEVFREQ):
        name = os.path.basename(folder)
        if INTEGRATED.search(name):
            return {"name": name, "clocks_mhz": _clocks(folder), "usable": _usable(root)}
    for file in _entries(root, DISCRETE):
        model = re.search(r"^Model:\s*(.{1,100})$", text(root, file), re.MULTILINE)
        if model:
            return {"name": model.group(1).strip(), "clocks_mhz": None, "usable": None}
    raise Absent("neither /sys/class/devfreq nor /proc/driver/nvidia shows an NVIDIA GPU")


def pinned_clocks(root: str) -> Dict[str, Optional[bool]]:
    """Whether the clocks of `cpu` and `gpu` are held at one frequency, as jetson_clocks leaves them.

    None for what cannot be read; a processor that is not online does not count.
    """
    try:
        gpu_mhz = gpu(root)["clocks_mhz"]
    except (OSError, Absent):
        gpu_mhz = None
    processors = [limits for limits in map(_processor_clocks, _entries(root, CPU_CLOCKS)) if limits]
    pinned = {
        "cpu": all(least >= most for least, most in processors) if processors else None,
        "gpu": gpu_mhz["min"] >= gpu_mhz["max"] if gpu_mhz else None,
    }
    if pinned == {"cpu": None, "gpu": None}:
        raise Absent("neither /sys/devices/system/cpu nor /sys/class/devfreq has limits of clocks")
    return pinned


def _processor_clocks(folder: str) -> Optional[Tuple[int, int]]:
    try:
        return int(text(folder, "scaling_min_freq")), int(text(folder, "scaling_max_freq"))
    except (OSError, ValueError):
        return None


def nvidia_libraries(root: str) -> Dict[str, Optional[str]]:
    """Files of TensorRT and CUDA, None for what is not there, whatever Python sees of them.

    `nvinfer` is the version of TensorRT's library, such as 8.2.1; `cudart` the path of the CUDA runtime;
    `system_tensorrt` the folder in which the system's own Python finds TensorRT.
    """
    system = [folder for pattern in SYSTEM_PACKAGES for folder in _entries(root, pattern)]
    nvinfer, cudart = _newest(root, "libnvinfer.so"), _newest(root, "libcudart.so")
    if not (system or nvinfer or cudart):
        raise Absent(
            "neither TensorRT's nor CUDA's libraries lie where JetPack and Debian's packages put them"
        )
    return {
        "nvinfer": _numbers_text(nvinfer) if nvinfer else None,
        "cudart": _on_board(root, cudart) if cudart else None,
        "system_tensorrt": _on_board(root, os.path.dirname(system[0])) if system else None,
    }


def _entries(root: str, pattern: str) -> List[str]:
    return sorted(glob.glob(os.path.join(glob.escape(root), pattern)))[:MOST]


def _clocks(folder: str) -> Optional[Dict[str, float]]:
    try:
        return {name: int(text(folder, name + "_freq")) / 1e6 for name in ("min", "max")}
    except (OSError, ValueError):
        return None


def _usable(root: str) -> Optional[bool]:
    node = os.path.join(root, NVMAP)
    return os.access(node, os.R_OK | os.W_OK) if os.path.exists(node) else None


def _newest(root: str, name: str) -> Optional[str]:
    """The file of the highest version, such as libnvinfer.so.8.2.1; of links to it the file."""
    paths = [path for folder in FOLDERS for path in _entries(root, os.path.join(folder, name + "*"))]
    versioned = [path for path in paths if re.fullmatch(re.escape(name) + r"[.0-9]*", os.path.basename(path))]
    return max(versioned, key=_numbers, default=None)


def _numbers(path: str) -> Tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", os.path.basename(path).partition(".so")[2]))


def _numbers_text(path: str) -> Optional[str]:
    return ".".join(map(str, _numbers(path))) or None


def _on_board(root: str, path: str) -> str:
    return "/" + os.path.relpath(path, root)
