"""What a board says of itself: model, processor, memory, system, clocks, load and temperatures.

A fact that cannot be read has the value None, and its reason in `absent`.
"""

import glob
import os
import platform
import pwd
import re
import struct
import sys
import sysconfig
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .bootstrap import board_folder
from .clock import resolution_ns
from .files import FileStore
from .lock import lock_place

# Small files of /proc, /sys and /etc, read below any root and never without bound.


MAX_TEXT = 4096
MAX_TABLE = 1 << 20
MOST_ENTRIES = 256


class Absent(Exception):
    """Why a fact cannot be had."""


def text(root: str, path: str, most: int = MAX_TEXT) -> str:
    """The file's text without the zero that ends those of the device tree; OSError when it is not there."""
    with open(os.path.join(root, path), "rb") as file:
        return file.read(most).decode("utf-8", "replace").strip("\0\n ")


def field(root: str, path: str, *names: str) -> str:
    """The value of the first of those names in a file of `name: value` or `name=value` lines."""
    table = text(root, path, MAX_TABLE)
    for name in names:
        match = re.search(r"^{}\s*[:=]\s*(.+)$".format(re.escape(name)), table, re.MULTILINE)
        if match:
            return match.group(1).strip().strip('"')
    raise Absent("/{} has no {}".format(path, " or ".join(names)))


def first_text(root: str, *paths: str) -> str:
    """The text of the first of those files that is there."""
    for path in paths:
        try:
            return text(root, path)
        except OSError:
            continue
    raise Absent("neither /{} is there".format(" nor /".join(paths)))


def number(folder: str, name: str) -> Optional[float]:
    """The only number of a small file; None where it has none."""
    try:
        value = float(text(folder, name))
    except (OSError, ValueError):
        return None
    return value if abs(value) < float("inf") else None


def entries(root: str, pattern: str) -> List[str]:
    """The paths below the root that match a pattern, sorted, up to MOST_ENTRIES."""
    return sorted(glob.glob(os.path.join(glob.escape(root), pattern)))[:MOST_ENTRIES]


# What a vendor's board adds to the facts: its SoC, power modes, and accelerators on USB.


MAX_MODES = 64
NVPMODEL_STATUS = "var/lib/nvpmodel/status"
NVPMODEL_MODES = "etc/nvpmodel.conf"

APEX = "sys/class/apex/apex_*"
LIBRARIES = ("libedgetpu.so.1", "libusb-1.0.so.0")
LIBRARY_FOLDERS = ("usr/lib/*-linux-gnu*", "usr/lib", "usr/local/lib", "lib/*-linux-gnu*")

Accelerator = NamedTuple(
    "Accelerator",
    [
        ("name", str),
        ("usb2_slowdown", float),  # how many times as long a pass takes on USB 2 as on USB 3
        ("shows_usb2", bool),  # shows USB 2 at any port, and the port's own speed only under its other id
    ],
)

# Each shows another id once its firmware is loaded. The factors are those of an SSD MobileNet v2 detector:
# 58.1 to 18.2 ms for the Coral, 118.6 to 80.4 ms for the stick. The boot ROM of the stick's Myriad X knows
# USB 2 alone; the firmware is loaded when a session opens it, and is gone when the session ends.
ACCELERATORS = {
    "1a6e:089a": Accelerator("Coral USB Accelerator (no firmware yet)", 3.0, False),
    "18d1:9302": Accelerator("Coral USB Accelerator", 3.0, False),
    "03e7:2485": Accelerator("Neural Compute Stick 2 (no firmware yet)", 1.5, True),
    "03e7:f63b": Accelerator("Neural Compute Stick 2", 1.5, False),
}


def soc(root: str) -> str:
    """The chip: the last and most general word of the device tree's `compatible`, or else sysfs's name."""
    names = "proc/device-tree/compatible", "sys/devices/soc0/soc_id", "sys/devices/soc0/machine"
    return first_text(root, *names).split("\0")[-1]


def l4t(root: str) -> str:
    """NVIDIA's release, such as R32.7.1, out of `# R32 (release), REVISION: 7.1, ...`."""
    line = text(root, "etc/nv_tegra_release")
    match = re.match(r"#\s*(R\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)", line)
    if not match:
        raise Absent("/etc/nv_tegra_release has an unknown format")
    return "{}.{}".format(match.group(1), match.group(2))


def power_modes(root: str) -> Dict[str, str]:
    """The modes that nvpmodel has here, name by number as a string."""
    table = text(root, NVPMODEL_MODES, MAX_TABLE)
    modes = re.findall(r"^\s*<\s*POWER_MODEL\s+ID=(\d{1,3})\s+NAME=(\S{1,60})\s*>", table, re.MULTILINE)
    if not modes:
        raise Absent("/{} names no mode".format(NVPMODEL_MODES))
    return dict(modes[:MAX_MODES])


def power_mode(root: str) -> Dict[str, Any]:
    """The mode that nvpmodel has set, {id, name}, as it remembers it in `pmode:0001`."""
    match = re.search(r"pmode:(\d{1,6})", text(root, NVPMODEL_STATUS))
    if not match:
        raise Absent("/{} has an unknown format".format(NVPMODEL_STATUS))
    number = int(match.group(1))
    try:
        name = power_modes(root).get(str(number))
    except (OSError, Absent):
        name = None
    return {"id": number, "name": name}


def usb_accelerators(root: str) -> List[Dict[str, Any]]:
    """Each known accelerator with its bus speed: 480 Mbit/s is USB 2, 5000 and more is USB 3."""
    if not os.path.isdir(os.path.join(root, "sys/bus/usb/devices")):
        raise Absent("/sys/bus/usb/devices is not there")
    accelerators = []
    for device in entries(root, "sys/bus/usb/devices/*"):
        try:
            known = "{}:{}".format(text(device, "idVendor"), text(device, "idProduct")).lower()
        except OSError:
            continue
        if known in ACCELERATORS:
            # What libusb opens for writing.
            node = "dev/bus/usb/{:03.0f}/{:03.0f}".format(
                number(device, "busnum") or 0, number(device, "devnum") or 0
            )
            entry = {"id": known, "name": ACCELERATORS[known].name, "speed_mbps": number(device, "speed")}
            accelerators.append(dict(entry, **_access(root, node)))
    return accelerators


def pcie_accelerators(root: str) -> List[Dict[str, Any]]:
    """Each Edge TPU on PCIe (its driver is called apex), its temperature, and whether it may be opened."""
    accelerators = []
    for device in entries(root, APEX):
        name, millidegrees = os.path.basename(device), number(device, "temp")
        entry = {"name": name, "temperature_c": None if millidegrees is None else millidegrees / 1000}
        accelerators.append(dict(entry, **_access(root, "dev/" + name)))
    return accelerators


def _access(root: str, node: str) -> Dict[str, bool]:
    """Whether a device's node is `writable`; nothing where it is not there."""
    path = os.path.join(root, node)
    return {"writable": os.access(path, os.W_OK)} if os.path.exists(path) else {}


def libraries(root: str) -> Dict[str, str]:
    """Where vendors' libraries are that no Python package brings, by name."""
    paths = {
        name: [path for folder in LIBRARY_FOLDERS for path in entries(root, os.path.join(folder, name))]
        for name in LIBRARIES
    }
    return {name: _on_board(root, there[0]) for name, there in paths.items() if there}


# What a board with an NVIDIA GPU adds to the facts: the GPU and its clocks, TensorRT, the CUDA runtime.


DEVFREQ = "sys/class/devfreq/*"
# 57000000.gpu, 17000000.ga10b, Thor's gpu-gpc-0.
INTEGRATED = re.compile(r"\.(gpu|g[a-z]\d{1,2}b)$|^gpu-gpc-\d{1,2}$")
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


def gpu(root: str) -> Dict[str, Any]:
    """`name`; of a Jetson's the `clocks_mhz` {min, max} that it is held between, and whether it is `usable`.

    It is usable where no permission keeps this user from its driver; None where that is unknown.
    """
    for folder in entries(root, DEVFREQ):
        name = os.path.basename(folder)
        if INTEGRATED.search(name):
            limits_hz = _limits(folder, "{}_freq")
            clocks_mhz = {end: hz / 1e6 for end, hz in limits_hz.items()} if limits_hz else None
            node = os.path.join(root, NVMAP)
            usable = os.access(node, os.R_OK | os.W_OK) if os.path.exists(node) else None
            return {"name": name, "clocks_mhz": clocks_mhz, "usable": usable}
    for file in entries(root, DISCRETE):
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
    limits = [_limits(folder, "scaling_{}_freq") for folder in entries(root, CPU_CLOCKS)]
    processors = [clocks["min"] >= clocks["max"] for clocks in limits if clocks]
    pinned = {
        "cpu": all(processors) if processors else None,
        "gpu": gpu_mhz["min"] >= gpu_mhz["max"] if gpu_mhz else None,
    }
    if pinned == {"cpu": None, "gpu": None}:
        raise Absent("neither /sys/devices/system/cpu nor /sys/class/devfreq has limits of clocks")
    return pinned


def nvidia_libraries(root: str) -> Dict[str, Optional[str]]:
    """Files of TensorRT and CUDA, None for what is not there, whatever Python sees of them.

    `nvinfer` is the version of TensorRT's library, such as 8.2.1; `cudart` the path of the CUDA runtime;
    `system_tensorrt` the folder in which the system's own Python finds TensorRT.
    """
    system = [folder for pattern in SYSTEM_PACKAGES for folder in entries(root, pattern)]
    nvinfer, cudart = _newest(root, "libnvinfer.so"), _newest(root, "libcudart.so")
    if not (system or nvinfer or cudart):
        raise Absent(
            "neither TensorRT's nor CUDA's libraries are where JetPack and Debian's packages put them"
        )
    return {
        "nvinfer": ".".join(map(str, _numbers(nvinfer or ""))) or None,
        "cudart": _on_board(root, cudart) if cudart else None,
        "system_tensorrt": _on_board(root, os.path.dirname(system[0])) if system else None,
    }


def _limits(folder: str, file: str) -> Optional[Dict[str, float]]:
    """`min` and `max` of a clock as its files have them; None where one of them cannot be read."""
    least, most = number(folder, file.format("min")), number(folder, file.format("max"))
    return None if least is None or most is None else {"min": least, "max": most}


def _newest(root: str, name: str) -> Optional[str]:
    """The file of the highest version, such as libnvinfer.so.8.2.1; of links to it the file."""
    paths = [path for folder in FOLDERS for path in entries(root, os.path.join(folder, name + "*"))]
    versioned = [path for path in paths if re.fullmatch(re.escape(name) + r"[.0-9]*", os.path.basename(path))]
    return max(versioned, key=_numbers, default=None)


def _numbers(path: str) -> Tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", os.path.basename(path).partition(".so")[2]))


def _on_board(root: str, path: str) -> str:
    return "/" + os.path.relpath(path, root)


# Which devices an installed OpenVINO has plugins for, and the stick's firmware, by its files alone.


# Below a folder that Python imports from: of a wheel, and of an archive, whose Python lies in
# python/python3.9 and whose libraries in runtime/lib/PROCESSOR (in 2021 below inference_engine).
_FOLDERS = (
    "openvino/libs",
    "../../runtime/lib/*",
    "../../deployment_tools/inference_engine/lib/*",
)
_PLUGINS = (
    ("AUTO", re.compile(r"lib(AutoPlugin|openvino_auto_plugin)\.so")),
    ("CPU", re.compile(r"lib(MKLDNNPlugin|armPlugin|openvino_(intel|arm)_cpu_plugin)\.so")),
    ("GPU", re.compile(r"lib(clDNNPlugin|openvino_intel_gpu_plugin)\.so")),
    ("MYRIAD", re.compile(r"lib(myriadPlugin|openvino_intel_myriad_plugin)\.so")),
    ("NPU", re.compile(r"libopenvino_intel_npu_plugin\.so")),
)
_FIRMWARE = re.compile(r"usb-ma2(x8x|[0-9]8[0-9])\.mvcmd")  # ma2450 is the first stick's
MAX_ENTRIES = 2000


def openvino_files(path: Iterable[str]) -> Dict[str, List[str]]:
    """`plugins`: devices by name, sorted; `firmware`: files that a Neural Compute Stick 2 can be booted with.

    Args:
        path: folders such as `sys.path`; the first that has an OpenVINO counts, as in an import.

    Returns:
        Two empty lists without one, or where its files are elsewhere.
    """
    for folder in path:
        if not os.path.isdir(os.path.join(folder or ".", "openvino")):
            continue
        patterns = [os.path.join(folder or ".", place, "*") for place in _FOLDERS]
        paths = [file for pattern in patterns for file in sorted(glob.glob(pattern))[:MAX_ENTRIES]]
        names = [os.path.basename(file) for file in paths]
        plugins = [plugin for plugin, file in _PLUGINS if any(file.match(name) for name in names)]
        return {"plugins": plugins, "firmware": sorted({name for name in names if _FIRMWARE.fullmatch(name)})}
    return {"plugins": [], "firmware": []}


# Which of the packages that a measurement may need this Python has, without importing any of them.


# Numerical and vendor runtimes: what a runner can ask for. Everything else is none of our business.
_OF_INTEREST = re.compile(
    r"numpy|tensor|tflite|litert|openvino|onnx|pycoral|edgetpu|torch|hailo|rknn|ncnn|tvm|mnn", re.IGNORECASE
)
_METADATA = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]{1,60})(-py[0-9.]+[^/]*)?\.(dist|egg)-info")
# Vendors put bindings beside no metadata at all.
_MODULES = (
    "numpy",
    "ai_edge_litert",
    "tflite_runtime",
    "tensorflow",
    "onnxruntime",
    "tensorrt",
    "openvino",
    "pycoral",
)
UNTOLD = "version not told"
MAX_PATH_ENTRIES = 20000
MAX_FOUND = 60


def packages(path: Iterable[str]) -> Dict[str, str]:
    """Version by name (lower case, with hyphens), from the folders that Python imports from.

    Args:
        path: folders such as `sys.path`; the first that has a package wins, as in an import.
    """
    versions: Dict[str, str] = {}
    for folder in path:
        try:
            entries = sorted(os.listdir(folder or "."))[:MAX_PATH_ENTRIES]
        except OSError:
            continue
        for entry in entries:
            match = _METADATA.fullmatch(entry)
            if match and _OF_INTEREST.search(match.group("name")) and len(versions) < MAX_FOUND:
                versions.setdefault(_spelling(match.group("name")), match.group("version"))
        for module in _MODULES:
            if os.path.isfile(os.path.join(folder or ".", module, "__init__.py")):
                versions.setdefault(_spelling(module), UNTOLD)
    return versions


def _spelling(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


ROOT_ENVIRONMENT = "EDGEBENCH_BOARD_ROOT"
CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"
ZONES = "sys/class/thermal/thermal_zone*"
MAX_ZONES = 64

# CPU part numbers of Arm Ltd. (implementer 0x41), which is all that many arm64 kernels say.
ARM_PARTS = {
    "0xd03": "Cortex-A53",
    "0xd04": "Cortex-A35",
    "0xd05": "Cortex-A55",
    "0xd07": "Cortex-A57",
    "0xd08": "Cortex-A72",
    "0xd09": "Cortex-A73",
    "0xd0b": "Cortex-A76",
    "0xd42": "Cortex-A78AE",
}


def facts_root() -> str:
    """/, unless EDGEBENCH_BOARD_ROOT names another folder, for tests."""
    chosen = os.environ.get(ROOT_ENVIRONMENT, "")
    return chosen if os.path.isabs(chosen) else "/"


def board_facts(root: Optional[str] = None, path: Optional[Iterable[str]] = None) -> Dict[str, Any]:
    """The facts.

    Args:
        root: where /proc, /sys, /etc and /var are found; None for `facts_root()`.
        path: the folders that packages are looked for in; None for `sys.path`.
    """
    root = facts_root() if root is None else root
    facts: Dict[str, Any] = {}
    absent: Dict[str, str] = {}
    for name, find in FINDERS.items():
        try:
            facts[name] = find(root)
        except (OSError, ValueError, Absent) as error:
            facts[name] = None
            absent[name] = _reason(error)
    folders = list(sys.path if path is None else path)
    facts["packages"] = packages(folders)
    facts["openvino"] = openvino_files(folders)
    facts["absent"] = absent
    facts["private"] = _private()
    return facts


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return "{}: {}".format(error.filename, error.strerror)
    return str(error)


def _private() -> Dict[str, str]:
    """The names that identify a person or a machine: for taking them out of texts, never for a record."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = ""
    return {"user": user, "node": platform.node(), "home": os.path.expanduser("~")}


def _cpu(root: str) -> str:
    try:
        return field(root, "proc/cpuinfo", "model name", "Hardware")
    except Absent:
        part = field(root, "proc/cpuinfo", "CPU part")
        return ARM_PARTS.get(part.lower(), "CPU part {}".format(part))


def memory_available(root: str) -> int:
    """Bytes that programs can still take without swapping; Absent where the kernel does not tell."""
    return _kilobytes(root, "MemAvailable")


def _kilobytes(root: str, name: str) -> int:
    return int(field(root, "proc/meminfo", name).split()[0]) * 1024


def _megahertz(root: str, name: str) -> float:
    return int(text(root, "{}/{}".format(CPUFREQ, name))) / 1000


def _temperatures(root: str) -> Dict[str, float]:
    temperatures_c: Dict[str, float] = {}
    for zone in entries(root, ZONES)[:MAX_ZONES]:
        millidegrees = number(zone, "temp")
        if millidegrees is not None and os.path.isfile(os.path.join(zone, "type")):
            name = "{}-{}".format(os.path.basename(zone)[len("thermal_zone") :], text(zone, "type"))
            temperatures_c[name] = millidegrees / 1000
    if not temperatures_c:
        raise Absent("/sys/class/thermal has no zone that can be read")
    return temperatures_c


def _usable_cpus(root: str) -> List[int]:
    if not hasattr(os, "sched_getaffinity"):
        raise Absent("this system has no affinities")
    return sorted(os.sched_getaffinity(0))


def cpu_quota(root: str) -> Optional[int]:
    """Number of cores that the CPU quota of this process's container allows; None without a quota.

    The smallest quota of the process's control groups and of all groups above them, rounded down, at least 1.
    Source: cgroups(7), proc_pid_mountinfo(5), and the kernel's documents of cgroup v2 and of CFS bandwidth.
    """
    paths: Dict[str, str] = {}  # by controller of cgroup v1; v2 has one group, under ""
    for line in text(root, "proc/self/cgroup", MAX_TABLE).splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update((controller, path) for controller in controllers.split(","))
    quotas = []
    for line in text(root, "proc/self/mountinfo", MAX_TABLE).splitlines():
        mount, _, filesystem = line.partition(" - ")
        kind, *_, options = filesystem.split() or ("", "")
        controller = {"cgroup2": "", "cgroup": "cpu"}.get(kind)
        if controller in paths and (kind == "cgroup2" or "cpu" in options.split(",")):
            top, place = (word.strip("/") for word in mount.split()[3:5])
            path = paths[controller].strip("/") + "/"
            # Only the topmost folder is seen of a group that is elsewhere.
            is_below = (not top or path.startswith(top + "/")) and ".." not in path.split("/")
            names = [name for name in path[len(top) :].split("/") if name] if is_below else []
            folders = ["/".join([place] + names[:depth]) for depth in range(len(names) + 1)]
            quotas += [_quota_of_group(root, folder, kind) for folder in folders]
    limits = [quota for quota in quotas if quota is not None]
    return max(1, min(limits)) if limits else None


def _quota_of_group(root: str, folder: str, kind: str) -> Optional[int]:
    """Whole cores of one group's quota; None without one. The root's group has no such file."""
    try:
        if kind == "cgroup2":
            quota, period = text(root, folder + "/cpu.max").split()
        else:
            quota, period = (text(root, folder + "/cpu.cfs_" + name) for name in ("quota_us", "period_us"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if quota in ("max", "-1") else int(quota) // max(1, int(period))


def _managed(root: str) -> bool:
    """Whether pip refuses to install into this Python (PEP 668); a virtual environment takes packages."""
    mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(mark)


FINDERS: Dict[str, Callable[[str], Any]] = {
    "board": lambda root: first_text(root, "proc/device-tree/model", "sys/class/dmi/id/product_name"),
    "soc": soc,
    "cpu": _cpu,
    "cores": lambda root: os.cpu_count(),
    "usable_cores": _usable_cpus,
    "cpu_quota_cores": cpu_quota,
    "memory_bytes": lambda root: _kilobytes(root, "MemTotal"),
    "memory_available_bytes": memory_available,
    "disk_available_bytes": lambda root: FileStore(board_folder()).free_bytes(),
    "disk_kept_bytes": lambda root: FileStore(board_folder()).kept_bytes(),
    "lock_folder": lambda root: lock_place(),
    "os": lambda root: field(root, "etc/os-release", "PRETTY_NAME"),
    "kernel": lambda root: "{} {}".format(platform.system(), platform.release()),
    "machine": lambda root: platform.machine(),
    "l4t": l4t,
    "python": lambda root: platform.python_version(),
    "python_bits": lambda root: struct.calcsize("P") * 8,
    "python_executable": lambda root: sys.executable,
    "python_externally_managed": _managed,
    "governor": lambda root: text(root, CPUFREQ + "/scaling_governor"),
    "clock_now_mhz": lambda root: _megahertz(root, "scaling_cur_freq"),
    "clock_max_mhz": lambda root: _megahertz(root, "cpuinfo_max_freq"),
    "clock_min_mhz": lambda root: _megahertz(root, "scaling_min_freq"),
    "clock_limit_mhz": lambda root: _megahertz(root, "scaling_max_freq"),
    "power_mode": power_mode,
    "power_modes": power_modes,
    "pinned_clocks": pinned_clocks,
    "usb_accelerators": usb_accelerators,
    "pcie_accelerators": pcie_accelerators,
    "libraries": libraries,
    "gpu": gpu,
    "nvidia_libraries": nvidia_libraries,
    "load_average": lambda root: [float(part) for part in text(root, "proc/loadavg").split()[:3]],
    "temperatures_c": _temperatures,
    "timer_resolution_ns": lambda root: resolution_ns(),
}
