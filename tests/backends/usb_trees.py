"""Made /sys trees: sticks on USB in each of their states, and Edge TPUs on PCIe, among other devices."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

BEFORE_FIRMWARE = ("1a6e", "089a")
AFTER_FIRMWARE = ("18d1", "9302")
USB_2, USB_3 = "480", "5000"


@dataclass
class Tree:
    """A root that stands for /; `sys` and `dev` are what is asked."""

    root: Path
    _sticks: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.devices.mkdir(parents=True, exist_ok=True)
        for hub, speed in (("usb1", USB_2), ("usb2", USB_3)):
            self._usb(hub, ("1d6b", "0002"), speed, hub[-1], "1", "xHCI Host Controller")
        # A keyboard, and an interface: a folder beside the devices that has no idVendor of its own.
        self._usb("1-4", ("046d", "c31c"), "1.5", "1", "9", "Keyboard")
        self._link(self._real("1-4:1.0"))

    @property
    def sys(self) -> Path:
        return self.root / "sys"

    @property
    def dev(self) -> Path:
        return self.root / "dev"

    @property
    def devices(self) -> Path:
        return self.sys / "bus" / "usb" / "devices"

    def stick(self, ids: tuple[str, str], speed: str, node_mode: int = 0o666) -> Path:
        """One more stick, on the bus of its speed; `node_mode` is of its /dev/bus/usb node."""
        bus = "2" if speed == USB_3 else "1"
        self._sticks += 1
        return self._usb(f"{bus}-{self._sticks}", ids, speed, bus, str(self._sticks + 1), None, node_mode)

    def apex(self, temperature_mc: int | str | None = 47800, node: bool = True) -> Path:
        """An Edge TPU on PCIe with its driver: 1ac1:089a, and its temperature in thousandths of a degree."""
        card = self.sys / "devices" / "pci0000:00" / "0000:01:00.0"
        folder = card / "apex" / "apex_0"
        folder.mkdir(parents=True)
        (card / "vendor").write_text("0x1ac1\n")
        (card / "device").write_text("0x089a\n")
        if temperature_mc is not None:
            (folder / "temp").write_text(f"{temperature_mc}\n")
        listed = self.sys / "class" / "apex" / "apex_0"
        listed.parent.mkdir(parents=True)
        listed.symlink_to(os.path.relpath(folder, listed.parent))
        if node:
            self.dev.mkdir(parents=True, exist_ok=True)
            (self.dev / "apex_0").write_bytes(b"")
        return folder

    def _real(self, name: str) -> Path:
        # As in the real tree, where what lies under bus/ is a link into devices/.
        folder = self.sys / "devices" / "pci0000:00" / "0000:00:14.0" / "usb" / name
        folder.mkdir(parents=True)
        return folder

    def _link(self, folder: Path) -> None:
        (self.devices / folder.name).symlink_to(os.path.relpath(folder, self.devices))

    def _usb(
        self, name: str, ids: tuple[str, str], speed: str, bus: str, number: str, product: str | None,
        node_mode: int = 0o666,
    ) -> Path:  # fmt: skip
        folder = self._real(name)
        attributes = {
            "idVendor": ids[0],
            "idProduct": ids[1],
            "speed": speed,
            "busnum": bus,
            "devnum": number,
        }
        for file, text in attributes.items() | ({"product": product}.items() if product else set()):
            (folder / file).write_text(f"{text}\n")
        self._link(folder)
        node = self.dev / "bus" / "usb" / f"{int(bus):03d}" / f"{int(number):03d}"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.write_bytes(b"")
        node.chmod(node_mode)
        return folder
