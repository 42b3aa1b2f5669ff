"""What the board says of Neural Compute Sticks 2 (device side, Python 3.6 syntax), for records and errors.

The stick's boot ROM shows 03e7:2485 on USB 2 at any port. The runtime loads the firmware whenever it opens
the stick, which then shows 03e7:f63b at the port's own speed until the runtime lets go of it.
"""

import contextlib
from typing import Any, Dict, Iterator, List

from ...device.usb_sticks import usb2_warnings, usb_sticks

BOOT_ID, READY_ID = "03e7:2485", "03e7:f63b"
PLUGIN = "MYRIAD"
# The host reads what stands behind this in the words of a failed load.
USB_STATE = "USB shows"


class Stick:
    """What stands in a session's record and in its errors, where the session is of a stick.

    Args:
        device: OpenVINO's name of it.
        root: the folder that sysfs is found in.
    """

    def __init__(self, device: str, root: str) -> None:
        self._root = root
        self._is_meant = device.startswith(PLUGIN)
        self._before = _sticks(root) if self._is_meant else {}

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """A model is loaded in here: a RuntimeError gets the state of the USB ids behind its words."""
        try:
            yield
        except RuntimeError as error:
            if not self._is_meant:
                raise
            words = _in_words(_sticks(self._root))
            raise RuntimeError("{}; {} {}".format(str(error).strip(), USB_STATE, words)) from error

    def facts(self) -> Dict[str, Any]:
        """For `describe()`, once the model is loaded: bus speed, firmware and what to warn of.

        Returns:
            `usb`: see usb_sticks; `firmware_before`: whether every stick had its firmware before the load;
            `warnings`; `absent`: why something is not known. Nothing where no stick is meant.
        """
        if not self._is_meant:
            return {}
        now, before = _sticks(self._root), self._before["usb"]
        with_firmware = [stick for stick in now["usb"] if stick["firmware"]]
        absent = dict(now["absent"])
        if not before:
            absent["firmware_before"] = "no Neural Compute Stick 2 was seen on USB before the load"
        return {
            "usb": now["usb"],
            "firmware_before": all(stick["firmware"] for stick in before) if before else None,
            "warnings": usb2_warnings(with_firmware, "the Neural Compute Stick 2", "one and a half times"),
            "absent": absent,
        }


def _sticks(root: str) -> Dict[str, Any]:
    absent: Dict[str, str] = {}
    on_usb = usb_sticks(root, BOOT_ID, READY_ID, absent)
    if not on_usb and "usb" not in absent:
        absent["usb"] = "no Neural Compute Stick 2 on USB"
    return {"usb": on_usb, "absent": absent}


def _in_words(seen: Dict[str, Any]) -> str:
    if not seen["usb"]:
        if "is not there" in seen["absent"]["usb"]:
            return "nothing ({})".format(seen["absent"]["usb"])
        return "no stick, neither {} nor {}".format(BOOT_ID, READY_ID)
    return ", ".join(_stick_in_words(stick) for stick in seen["usb"])


def _stick_in_words(stick: Dict[str, Any]) -> str:
    words: List[str] = [stick["id"]]
    words.append("with its firmware" if stick["firmware"] else "before its firmware")
    if stick["speed_mbps"] is not None:
        words.append("at {:g} Mbit/s".format(stick["speed_mbps"]))
    if stick["writable"] is False:
        words.append("which this user may not write to")
    return " ".join(words)
