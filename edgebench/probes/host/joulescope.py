"""Joulescope: a JS110 or JS220 of Jetperch by its own package `joulescope`, 100 times a second.

The instrument samples at a megahertz or two; each of its statistics is the mean over 10 ms, stamped at its
end. It is opened in the driver's mode `restore`, which goes on from its settings rather than resets them: a
board that it feeds is not to lose its power.
"""

import collections
import os
from typing import Any, Deque, Dict, List, Tuple

from ..basics import ADDRESS, IN_USE, PACKAGE, SCOPES, ProbeMissing, now_ns, one_of, split_options, the_only
from .sampling import CURRENT, VOLTAGE, Pace, StreamingMeter, power_channel, until_samples_come
from .serial_port import Ids, find_devices, require_openable

PLACE = "host"
RATE_HZ = 100.0
SETTING = "100 Hz"
EXAMPLE = "joulescope:001234?scope=board"
MOST_W = 200.0
PICKED_UP_BYTES = 4096
USB_IDS: List[Ids] = [(0x16D0, 0x0E88), (0x16D0, 0x10BA)]  # JS110, JS220

Statistic = Tuple[int, float, Dict[str, float]]  # when it came, over how many seconds, and W, V and A


class Link:
    """An open instrument (see StreamingMeter), whose driver calls back from a thread of its own."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._statistics: Deque[Statistic] = collections.deque()
        self._pace = Pace()
        self.descriptor, self._waker = os.pipe()
        os.set_blocking(self.descriptor, False)
        device.parameter_set("reduction_frequency", SETTING)
        device.statistics_callback_register(self._hear, "sensor")
        try:
            device.open(mode="restore")
        except BaseException:
            self._close_pipe()
            raise

    def ask_again(self) -> None:
        """It sends by itself; OSError where the driver sees it no longer."""
        if not any(str(device) == str(self._device) for device in _scan()):
            raise OSError("{} is unplugged".format(self._device))

    def read(self) -> Tuple[List[Tuple[int, Dict[str, float]]], str]:
        """What has come, with its stamps."""
        try:
            os.read(self.descriptor, PICKED_UP_BYTES)
        except BlockingIOError:
            pass
        samples = []
        while self._statistics:
            arrived_ns, length_s, values = self._statistics.popleft()
            samples.append((self._pace.end_ns(arrived_ns, int(length_s * 1e9)), values))
        return samples, ""

    def close(self) -> None:
        """Let it go; the driver has closed one that was unplugged."""
        if self.descriptor < 0:
            return
        try:
            self._device.statistics_callback_unregister(self._hear, "sensor")
            self._device.close()
        except Exception:
            pass  # whatever a driver makes of a device that is gone
        self._close_pipe()

    def _close_pipe(self) -> None:
        ends = (self._waker, self.descriptor)
        self.descriptor = self._waker = -1
        for end in ends:
            os.close(end)

    def _hear(self, statistics: Dict[str, Any]) -> None:
        """Called by the driver's thread."""
        signals = statistics["signals"]
        values = {
            name: float(signals[signal]["\u00b5"]["value"])
            for name, signal in (("in", "power"), ("voltage", "voltage"), ("current", "current"))
        }
        self._statistics.append((now_ns(), float(statistics["time"]["delta"]["value"]), values))
        try:
            os.write(self._waker, b"x")
        except OSError:
            pass  # it was closed in this moment


class JoulescopeProbe(StreamingMeter):
    """Power, voltage and current of the line that the instrument measures.

    Args:
        address: as it was given.
        scope: what the line feeds.
        device: the instrument, of the package.
        link: open.
    """

    def __init__(self, address: str, scope: str, device: Any, link: Link) -> None:
        info: Dict[str, Any] = {
            "kind": "joulescope",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": 1e3 / RATE_HZ,
            "resolution": "{}: its ranges' own".format(str(device)[:60]),
            "scope": scope,
            "channels": [power_channel("in", MOST_W), VOLTAGE, CURRENT],
        }
        super(JoulescopeProbe, self).__init__(info, link)
        self._name = str(device)

    def _open(self) -> Link:
        for device in _scan():
            if str(device) == self._name:
                return _opened(device)
        raise ProbeMissing("{} is unplugged".format(self._name), "plug it in again")


def open_probe(address: str) -> JoulescopeProbe:
    """The probe of `joulescope:SERIAL?scope=SCOPE`, or of `joulescope` where one is plugged in."""
    serial, options = split_options(address, ("scope",), EXAMPLE)
    scope = one_of(options, "scope", SCOPES, "board")
    device = _chosen(serial)
    link = _opened(device)
    until_samples_come(link, str(device))
    return JoulescopeProbe(address, scope, device, link)


def _scan() -> List[Any]:
    """The instruments that are plugged in, which are to measure in their automatic ranges."""
    try:
        from joulescope import scan
    except ImportError as error:
        raise ProbeMissing(
            "the package joulescope cannot be loaded: {}".format(error),
            "pip install 'edgebench[joulescope]'",
            PACKAGE,
        ) from None
    return list(scan(config="auto"))


def _chosen(serial: str) -> Any:
    devices = _scan()
    there = ", ".join("{} ({})".format(device.serial_number, device) for device in devices)
    if not devices:
        _require_openable()
        raise ProbeMissing("no Joulescope is plugged in", "plug it in")
    return the_only(
        [device for device in devices if serial in ("", str(device.serial_number))],
        ProbeMissing("there is no Joulescope {!r}".format(serial), "there are {}".format(there)),
        ProbeMissing(
            "several are plugged in: {}".format(there),
            "name one: --meter joulescope:{}".format(devices[0].serial_number),
            ADDRESS,
        ),
    )


def _require_openable() -> None:
    """ProbeDenied where one is plugged in that this user may not open: the driver does not say so."""
    for device in find_devices(USB_IDS):
        require_openable(device)


def _opened(device: Any) -> Link:
    try:
        return Link(device)
    except Exception as error:  # RuntimeError and others: whatever the driver says
        _require_openable()
        raise ProbeMissing(
            "{} cannot be opened: {}".format(device, error or type(error).__name__),
            "end whatever else uses it, and plug it in again",
            IN_USE,
        ) from None
