"""What a vendor's board adds to the facts: its SoC, power modes, and accelerators on USB."""

import glob
import os
import re
from typing import Any, Dict, List, NamedTuple, Optional

from .small_files import MAX_TABLE, Absent, text

MAX_USB = 256
MAX_MODES = 64
NVPMODEL_STATUS = "var/lib/nvpmodel/status"
NVPMODEL_MODES = "etc/nvpmodel.conf"

APEX = "sys/class/apex/apex_*"
LIBRARIES = ("libedgetpu.so.1", "libusb-1.0.so.0")
LIBRARY_FOLDERS = ("usr/lib/*-linux-gnu*", "usr/lib", "usr/local/lib", "lib/*-linux-gnu*")
MAX_CACHE = 1 << 23

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
    """The chip: the last and most general word of the device tree's `compatible`, else what sysfs says."""
    try:
        words = text(root, "proc/device-tree/compatible").split("\0")
        return [word for word in words if word][-1]
    except (OSError, IndexError):
        pass
    for path in ("sys/devices/soc0/soc_id", "sys/devices/soc0/machine"):
        try:
            return text(root, path)
        except OSError:
            continue
    raise Absent("neither /proc/device-tree/compatible nor /sys/devices/soc0 is there")


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
    folder = os.path.join(root, "sys/bus/usb/devices")
    if not os.path.isdir(folder):
        raise Absent("/sys/bus/usb/devices is not there")
    accelerators = []
    for device in sorted(glob.glob(os.path.join(glob.escape(folder), "*")))[:MAX_USB]:
        try:
            number = "{}:{}".format(text(device, "idVendor"), text(device, "idProduct")).lower()
        except OSError:
            continue
        if number not in ACCELERATORS:
            continue
        entry: Dict[str, Any] = {"id": number, "name": ACCELERATORS[number].name, "speed_mbps": None}
        try:
            entry["speed_mbps"] = float(text(device, "speed"))
        except (OSError, ValueError):
            pass
        node = _usb_node(root, device)
        if node is not None:
            entry["writable"] = os.access(node, os.W_OK)
        accelerators.append(entry)
    return accelerators


def _usb_node(root: str, device: str) -> Optional[str]:
    """What libusb opens for writing: /dev/bus/usb/BBB/DDD; None where it is not there."""
    try:
        bus, number = int(text(device, "busnum")), int(text(device, "devnum"))
    except (OSError, ValueError):
        return None
    node = os.path.join(root, "dev/bus/usb/{:03d}/{:03d}".format(bus, number))
    return node if os.path.exists(node) else None


def pcie_accelerators(root: str) -> List[Dict[str, Any]]:
    """Each Edge TPU on PCIe (its driver is called apex), its temperature, and whether it may be opened."""
    accelerators = []
    for device in sorted(glob.glob(os.path.join(glob.escape(root), APEX)))[:MAX_USB]:
        entry: Dict[str, Any] = {"name": os.path.basename(device), "temperature_c": None}
        try:
            entry["temperature_c"] = int(text(device, "temp")) / 1000
        except (OSError, ValueError):
            pass
        node = os.path.join(root, "dev", entry["name"])
        if os.path.exists(node):
            entry["writable"] = os.access(node, os.W_OK)
        accelerators.append(entry)
    return accelerators


def libraries(root: str) -> Dict[str, str]:
    """Where the loader finds vendors' libraries that no Python package brings, by name."""
    paths = {}
    try:
        with open(os.path.join(root, "etc/ld.so.cache"), "rb") as file:
            cache = file.read(MAX_CACHE)
    except OSError:
        cache = b""
    for name in LIBRARIES:
        listed = re.search(rb"(/[\x21-\x7e]{1,300}/" + re.escape(name).encode() + rb")\0", cache)
        if listed:
            paths[name] = listed.group(1).decode("ascii")
            continue
        for folder in LIBRARY_FOLDERS:
            there = sorted(glob.glob(os.path.join(glob.escape(root), folder, name)))
            if there:
                paths[name] = "/" + os.path.relpath(there[0], root)
                break
    return paths
