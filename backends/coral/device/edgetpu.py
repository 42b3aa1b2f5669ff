"""What the board says of its Edge TPUs and of libedgetpu (device side, Python 3.6 syntax).

From sysfs, the dynamic loader's list of files, dpkg's lists, and libedgetpu's own C functions (edgetpu_c.h).
It travels to the board together with the Coral's runner.
"""

import ctypes
import glob
import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ...device.usb_sticks import number_in, usb_sticks

USB_BOOT = "1a6e:089a"  # before the firmware is there
USB_READY = "18d1:9302"
MAX_DEVICES = 256
MAX_TEXT = 400

Library = NamedTuple(
    "Library",
    [
        ("path", Optional[str]),
        ("version", Optional[str]),
        ("why_no_version", str),
        ("devices", Optional[List[str]]),
        ("why_no_devices", str),
    ],
)


def accelerators(root: str) -> Dict[str, Any]:
    """The Edge TPUs that sysfs shows below `root`.

    Returns:
        `usb`: a list of {id, speed_mbps, firmware, writable}; `pcie`: a list of {name, temperature_c};
        `firmware`: whether every stick on USB has its firmware, None without a stick; `absent`: why
        something is not known.
    """
    absent: Dict[str, str] = {}
    sticks = usb_sticks(root, USB_BOOT, USB_READY, absent)
    cards = _pcie(root)
    if not sticks and "usb" not in absent:
        absent["usb"] = "no Edge TPU on USB"
    if not cards:
        absent["pcie"] = "no Edge TPU on PCIe: /sys/class/apex has none"
    firmware = all(stick["firmware"] for stick in sticks) if sticks else None
    if firmware is None:
        absent["firmware_before"] = "no Edge TPU on USB"
    return {"usb": sticks, "pcie": cards, "firmware": firmware, "absent": absent}


def _pcie(root: str) -> List[Dict[str, Any]]:
    pattern = os.path.join(glob.escape(os.path.join(root, "sys/class/apex")), "apex_*")
    cards = {device: number_in(device, "temp") for device in sorted(glob.glob(pattern))[:MAX_DEVICES]}
    return [
        {"name": os.path.basename(device), "temperature_c": None if milli is None else milli / 1000}
        for device, milli in cards.items()
    ]


def tell_of(seen: Dict[str, Any]) -> str:
    """What prevents its use, as far as sysfs shows it."""
    if any(device["writable"] is False for device in seen["usb"]):
        return (
            "a stick is on USB and this user may not write to it: install libedgetpu's udev rule, add the "
            "user to the group plugdev, and plug the stick in again"
        )
    if seen["usb"] or seen["pcie"]:
        names = [device["id"] for device in seen["usb"]] + [device["name"] for device in seen["pcie"]]
        return "sysfs shows {}: another process may hold it, or libedgetpu does not fit this runtime".format(
            ", ".join(names)
        )
    return "sysfs shows no Edge TPU, neither on USB nor on PCIe: plug it in where this runs"


def library_of(name: str) -> Library:
    """The library that was loaded under that name: its file, its version, and the Edge TPUs that it sees."""
    path = _mapped(name)
    try:
        library = ctypes.CDLL(path or name)
    except OSError as error:
        return Library(path, None, str(error)[:MAX_TEXT], None, str(error)[:MAX_TEXT])
    version, why_no_version = _version(library)
    devices, why_no_devices = _devices(library)
    return Library(path, version, why_no_version, devices, why_no_devices)


def _mapped(name: str) -> Optional[str]:
    """The file behind a library's name, from the list of what this process has mapped."""
    wanted = os.path.basename(os.path.realpath(name) if os.path.sep in name else name)
    stem = wanted.split(".so")[0] + ".so"
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if path and os.path.basename(path).startswith((wanted, stem)):
                    return "/" + path
    except OSError:
        pass
    return None


def _version(library: Any) -> Tuple[Optional[str], str]:
    ask = getattr(library, "edgetpu_version", None)
    if ask is None:
        return None, "the library has no function edgetpu_version"
    ask.restype = ctypes.c_char_p
    version = ask()
    if not version:
        return None, "edgetpu_version returned nothing"
    return version.decode("utf-8", "replace")[:MAX_TEXT], ""


class _Device(ctypes.Structure):
    # struct edgetpu_device of edgetpu_c.h: the kind (0 for PCIe, 1 for USB) and the path.
    _fields_ = [("kind", ctypes.c_int), ("path", ctypes.c_char_p)]


def _devices(library: Any) -> Tuple[Optional[List[str]], str]:
    ask = getattr(library, "edgetpu_list_devices", None)
    free = getattr(library, "edgetpu_free_devices", None)
    if ask is None or free is None:
        return None, "the library has no function edgetpu_list_devices"
    ask.restype = ctypes.POINTER(_Device)
    ask.argtypes = [ctypes.POINTER(ctypes.c_size_t)]
    free.restype = None
    free.argtypes = [ctypes.POINTER(_Device)]
    count = ctypes.c_size_t(0)
    listed = ask(ctypes.byref(count))
    if not listed:
        return [], ""
    kinds = {0: "pci", 1: "usb"}
    names = [
        "{} {}".format(kinds.get(listed[at].kind, "?"), (listed[at].path or b"").decode("utf-8", "replace"))
        for at in range(min(count.value, MAX_DEVICES))
    ]
    free(listed)
    return names, ""


def build_of(root: str, path: Optional[str]) -> Tuple[Optional[str], str]:
    """`std` or `max`, the clock that libedgetpu was built for, and why it is not known.

    From Debian's packages libedgetpu1-std and libedgetpu1-max, which hold the same file names, and from the
    folders of Google's release archive, throttled and direct.
    """
    if path is None:
        return None, "which file was loaded is not known"
    parts = path.split("/")
    for folder, build in (("throttled", "std"), ("direct", "max")):
        if folder in parts:
            return build, ""
    owners = []
    for build in ("std", "max"):
        pattern = "var/lib/dpkg/info/libedgetpu1-{}*.list".format(build)
        for listing in glob.glob(os.path.join(glob.escape(root), pattern)):
            try:
                with open(listing) as file:
                    files = {os.path.basename(line.strip()) for line in file if ".so" in line}
            except OSError:
                continue
            if os.path.basename(path) in files:
                owners.append(build)
    if len(owners) == 1:
        return owners[0], ""
    if owners:
        return None, "dpkg lists both libedgetpu1-std and libedgetpu1-max"
    return None, "{} is of no package libedgetpu1-std or libedgetpu1-max".format(path)
