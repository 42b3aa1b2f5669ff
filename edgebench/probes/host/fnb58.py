"""FNB58, FNB48, FNB48S and C1: FNIRSI's USB meters over USB, 100 times a second.

They are read by Linux' hidraw (see `hidraw`) in packets of four samples (see `fnb58_packets`). A packet of
another checksum, or none for a second, is a gap; so is the time for which the meter is unplugged, while it is
looked for.
"""

import select
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from ..basics import ADDRESS, ANSWER, ProbeMissing, now_ns
from .fnb58_packets import GO_ON, SELECT, START, Sample, samples_of
from .hidraw import HidDevice, HidNode, find_nodes, nodes_in_words
from .sampling import Pace, PluggedMeter, Samples, power_channel

PLACE = "host"
RATE_HZ = 100.0
SAMPLE_NS = 10000000
SILENCE_S = 1.0
FIRST_PACKET_S = 3.0
MOST_W = 400.0


class Model(NamedTuple):
    """One of the meters: what ends its start, and how often it has to be asked to go on."""

    name: str
    last_of_start: bytes
    go_on_s: float


MODELS = {
    (0x2E3C, 0x5558): Model("FNB58", SELECT, 1.0),
    (0x2E3C, 0x0049): Model("FNB48S", SELECT, 1.0),
    (0x0483, 0x003A): Model("FNB48", GO_ON, 0.003),
    (0x0483, 0x003B): Model("C1", GO_ON, 0.003),
}


class Link:
    """An open meter whose samples come.

    Attributes:
        silent_s: from when on nothing has come for too long, on time.monotonic.
    """

    def __init__(self, node: HidNode) -> None:
        self._model = MODELS[node.ids]
        self._device = HidDevice(node)
        self._pace = Pace()
        try:
            for packet in (START, SELECT, self._model.last_of_start):
                self._device.write(packet)
        except OSError:
            self.close()
            raise
        self._asked_s = time.monotonic()
        self.silent_s = self._asked_s + SILENCE_S

    @property
    def descriptor(self) -> int:
        """To wait for what comes."""
        return self._device.descriptor

    def go_on(self) -> None:
        """Ask for further samples: after a packet where that is due, and after silence."""
        self._asked_s = time.monotonic()
        self._device.write(GO_ON)

    def read(self) -> Tuple[List[Tuple[int, Sample]], str]:
        """The next samples with their stamps, and in words what was no packet; OSError at its end."""
        packet = self._device.read()
        if not packet:
            return [], ""
        arrived_ns, now_s = now_ns(), time.monotonic()
        samples, why = samples_of(packet)
        if samples:
            self.silent_s = now_s + SILENCE_S
        if now_s - self._asked_s >= self._model.go_on_s:
            self.go_on()
        if not samples:
            return [], why
        end_ns = self._pace.end_ns(arrived_ns, len(samples) * SAMPLE_NS)
        first_ns = end_ns - (len(samples) - 1) * SAMPLE_NS
        return [(first_ns + number * SAMPLE_NS, sample) for number, sample in enumerate(samples)], why

    def close(self) -> None:
        """Let it go; safe to call twice."""
        self._device.close()


class Fnb58Probe(PluggedMeter):
    """Power, voltage and current of the USB line.

    Args:
        address: as it was given.
        node: the meter's.
        link: open, with samples that come.
        rejected: what came before them.
    """

    def __init__(self, address: str, node: HidNode, link: Link, rejected: List[str]) -> None:
        super(Fnb58Probe, self).__init__(_info(address, MODELS[node.ids].name), link, rejected)
        self._node = node
        self.port = node.path

    def _open(self) -> Link:
        """The same meter, at whatever node it is now."""
        for node in find_nodes([self._node.ids]):
            if node.serial == self._node.serial:
                return Link(node)
        raise ProbeMissing("the meter is unplugged", "plug it in again")

    def _converse(self, link: Link, samples: Samples, end_s: float) -> None:
        if not self._wait(min(link.silent_s, end_s), link.descriptor):
            if time.monotonic() >= link.silent_s:
                link.silent_s = time.monotonic() + SILENCE_S
                self._miss("no sample for {:g} s".format(SILENCE_S), samples)
                link.go_on()
            return
        readings, why = link.read()
        if why:
            self._reject([why])
            samples.add_gap()
        for stamp_ns, reading in readings:
            self._hear()
            samples.add(stamp_ns, _sample(reading))


def open_probe(address: str) -> Fnb58Probe:
    """The probe of `fnb58:SERIAL` or `fnb58:/dev/hidrawN`, or of `fnb58` where one is plugged in."""
    node = _chosen(address)
    try:
        link = Link(node)
    except OSError as error:
        raise _gone(node, error) from None
    try:
        return Fnb58Probe(address, node, link, _until_samples_come(link, node))
    except BaseException:
        link.close()
        raise


def _chosen(address: str) -> HidNode:
    nodes = find_nodes(list(MODELS))
    chosen = [node for node in nodes if address in ("", node.serial, node.path)]
    if len(chosen) == 1:
        return chosen[0]
    there = ", ".join("{} {} ({})".format(MODELS[n.ids].name, n.serial or "-", n.path) for n in nodes)
    if not nodes:
        raise ProbeMissing(
            "no FNB58, FNB48, FNB48S or C1 is plugged in",
            "connect the meter's own USB port for data with this machine ({}; Linux alone has hidraw)".format(
                nodes_in_words()
            ),
        )
    if not chosen:
        raise ProbeMissing("there is no meter {!r}".format(address), "there are {}".format(there))
    raise ProbeMissing(
        "several meters are plugged in: {}".format(there),
        "name one by its serial number or its node: --meter fnb58:{}".format(chosen[0].path),
        ADDRESS,
    )


def _until_samples_come(link: Link, node: HidNode) -> List[str]:
    """What came before the first samples; ProbeMissing where none come."""
    rejected: List[str] = []
    end_s = time.monotonic() + FIRST_PACKET_S
    while time.monotonic() < end_s:
        if not select.select([link.descriptor], [], [], max(0.0, end_s - time.monotonic()))[0]:
            break
        try:
            readings, why = link.read()
        except OSError as error:
            raise _gone(node, error) from None
        rejected += [why] if why else []
        if readings:
            return rejected
    if rejected:
        raise ProbeMissing(
            "what {} sends is no sample of a {}: {}".format(node.path, MODELS[node.ids].name, rejected[0]),
            "end whatever else reads the meter, and plug it in again",
            ANSWER,
            node.path,
        )
    raise ProbeMissing(
        "{} sends no sample".format(node.path),
        "end whatever else reads the meter, and plug it in again",
        ANSWER,
        node.path,
    )


def _gone(node: HidNode, error: OSError) -> ProbeMissing:
    return ProbeMissing("{}: {}".format(node.path, error), "plug the meter in again", port=node.path)


def _info(address: str, model: str) -> Dict[str, Any]:
    return {
        "kind": "fnb58",
        "address": address,
        "rate_hz": RATE_HZ,
        "averaging_ms": None,
        "resolution": "{}: 10 uV, 10 uA".format(model),
        "scope": "usb",
        "channels": [
            power_channel("usb", MOST_W),
            {"name": "voltage", "quantity": "voltage", "unit": "V"},
            {"name": "current", "quantity": "current", "unit": "A"},
        ],
    }


def _sample(reading: Sample) -> Dict[str, float]:
    volts, amperes = reading
    return {"usb": volts * amperes, "voltage": volts, "current": amperes}
