"""UM24C, UM25C and UM34C: RDTech's USB meters on a serial port, by Bluetooth or not, twice a second.

The meter answers the byte F0 with a frame, stamped when it begins to come. A frame that
is not believable, or does not come, is a gap; so is the time for which the port is gone, while it is looked
for.
"""

import glob
import os
import select
import struct
import time
from typing import Any, List, NamedTuple, Optional, Tuple

from ..basics import ADDRESS, ANSWER, ProbeMissing, Samples, now_ns, the_only
from .sampling import CURRENT, GONE, SHOWN, VOLTAGE, PluggedMeter, power_channel, shown
from .serial_port import open_port, ports_in_words

# The answers of a UM24C, UM25C or UM34C: frames of 130 bytes, big-endian and unsigned, without a checksum.
#
# offset  bytes  field
# 0       2      model
# 2       2      volts, in steps of the model
# 4       2      amperes, in steps of the model
# 6       4      watts / 1000
#
# A frame is believable when its model is known, it is whole, and its watts are its volts times its amperes
# within the steps in which they are given.


REQUEST = b"\xf0"
FRAME_BYTES = 130
PER_WATT = 1000.0

Model = NamedTuple("Model", [("name", str), ("per_volt", float), ("per_ampere", Tuple[float, ...])])

# Sources disagree on the UM25C's amperes: the watts tell which step a frame has.
MODELS = {
    0x0963: Model("UM24C", 100.0, (1000.0,)),
    0x09C9: Model("UM25C", 1000.0, (10000.0, 1000.0)),
    0x0D4C: Model("UM34C", 100.0, (1000.0,)),
}
_MODEL_WORDS = [struct.pack(">H", word) for word in MODELS]


class Um25cReading(NamedTuple):
    """One frame: the model's name, and V, A and W."""

    model: str
    volts: float
    amperes: float
    watts: float


class FrameBuffer:
    """Frames out of the pieces in which they come: Bluetooth cuts them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        """Bytes of a frame that is not complete."""
        return len(self._bytes)

    def feed(self, data: bytes) -> Tuple[List[Um25cReading], List[str]]:
        """The readings that are complete with these bytes, and in words what was no part of any."""
        self._bytes += data
        readings: List[Um25cReading] = []
        rejected: List[str] = []
        skipped = bytearray()
        while self._bytes:
            beginning = bytes(self._bytes[:2])
            if not any(word.startswith(beginning) for word in _MODEL_WORDS):
                skipped.append(self._bytes.pop(0))
                continue
            if len(self._bytes) < FRAME_BYTES:
                break
            reading = parse(bytes(self._bytes[:FRAME_BYTES]))
            if reading is None:
                skipped.append(self._bytes.pop(0))
                continue
            readings.append(reading)
            del self._bytes[:FRAME_BYTES]
        if skipped:
            rejected.append("{} bytes of no believable frame: {}".format(len(skipped), shown(skipped)))
        return readings, rejected

    def clear(self) -> str:
        """Forget the beginning of a frame that will have no end; in words what it was, empty for nothing."""
        left, self._bytes = self._bytes, bytearray()
        return "{} of {} bytes of a frame: {}".format(len(left), FRAME_BYTES, shown(left)) if left else ""


def parse(frame: bytes) -> Optional[Um25cReading]:
    """The reading of FRAME_BYTES bytes; None where they are not believable."""
    word, volt_steps, ampere_steps, watt_steps = struct.unpack(">HHHI", frame[:10])
    model = MODELS.get(word)
    if model is None or len(frame) != FRAME_BYTES:
        return None
    volts, watts = volt_steps / model.per_volt, watt_steps / PER_WATT
    for per_ampere in model.per_ampere:
        amperes = ampere_steps / per_ampere
        # Each of the three is rounded or cut off: a whole step of each.
        rounding_w = 1 / PER_WATT + volts / per_ampere + (amperes + 1 / per_ampere) / model.per_volt
        if abs(volts * amperes - watts) <= rounding_w:
            return Um25cReading(model.name, volts, amperes, watts)
    return None


PLACE = "host"
RATE_HZ = 2.0
BAUD = 9600
ANSWER_S = 1.5
FIRST_ANSWERS = 3  # requests before it is held for no meter
READ_BYTES = 4096
MOST_W = 200.0

# Other ports may have anything behind them, which would be sent a byte.
BLUETOOTH_PORTS = ("/dev/rfcomm*", "/dev/cu.UM2[45]C*", "/dev/cu.UM34C*")


class Um25cProbe(PluggedMeter):
    """Power, voltage and current of the USB line.

    Args:
        address: as it was given.
        path: of its port.
        link: the open port.
        first: its first reading.
        rejected: what it sent before.
    """

    def __init__(
        self, address: str, path: str, link: "Link", first: Um25cReading, rejected: List[str]
    ) -> None:
        fine = first.model == "UM25C"
        info = {
            "kind": "um25c",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": None,
            "resolution": "{}: 1 mW, {}".format(first.model, "1 mV, 0.1 mA" if fine else "10 mV, 1 mA"),
            "scope": "usb",
            "channels": [power_channel("usb", MOST_W), VOLTAGE, CURRENT],
        }
        super(Um25cProbe, self).__init__(info, link, rejected)
        self.port = path
        self._model = first.model
        self._due_s = time.monotonic()  # of the next request

    def _open(self) -> "Link":
        return Link(self.port)

    def _converse(self, link: "Link", samples: Samples, end_s: float) -> None:
        now_s = time.monotonic()
        if link.overdue_s is not None and now_s >= link.overdue_s:
            self._miss(link.give_up(), samples)
        if link.overdue_s is None and now_s >= self._due_s:
            self._due_s = max(self._due_s + 1 / RATE_HZ, now_s)
            self._reject([link.ask()])
        next_s = self._due_s if link.overdue_s is None else link.overdue_s
        if not self._wait(min(next_s, end_s), link.descriptor):
            return
        stamp_ns, readings, rejected = link.read()
        self._reject(rejected)
        if not readings:
            return
        reading = readings[-1]  # of several, which a stalled line held back, the others are too old
        if reading.model == self._model:
            self._hear()
            values = {"usb": reading.watts, "voltage": reading.volts, "current": reading.amperes}
            samples.add(stamp_ns, values)
        else:
            self._reject(["an answer of a {}, where a {} was".format(reading.model, self._model)])
            samples.add_gap()


class Link:
    """An open port, and the answer that it is waited for.

    Attributes:
        overdue_s: until when an answer is due, on time.monotonic; None where none was asked for.
    """

    def __init__(self, path: str) -> None:
        self._port: Any = open_port(path, BAUD)
        self._frames = FrameBuffer()
        self._began_ns = 0
        self.overdue_s: Optional[float] = None

    @property
    def descriptor(self) -> int:
        """To wait for what comes."""
        return int(self._port.fileno())

    def ask(self) -> str:
        """Ask for a frame; in words what is left of an earlier answer, which does not belong to it."""
        unfinished = self.unfinished()
        self._port.write(REQUEST)
        self.overdue_s = time.monotonic() + ANSWER_S
        return unfinished

    def read(self) -> Tuple[int, List[Um25cReading], List[str]]:
        """What has come: when it began, its readings, and what is no part of any; OSError at its end."""
        try:
            data = self._port.read(READ_BYTES)
        except OSError as error:  # pyserial guesses at what it means
            raise OSError(error.errno, os.strerror(error.errno)) if error.errno else OSError(GONE) from None
        if not len(self._frames):
            self._began_ns = now_ns()
        readings, rejected = self._frames.feed(data)
        if readings:
            self.overdue_s = None
        return self._began_ns, readings, rejected

    def unfinished(self) -> str:
        """In words what there is of an answer without its end, which is forgotten; empty for nothing."""
        return self._frames.clear()

    def give_up(self) -> str:
        """Wait for the answer no longer; in words what there is of it."""
        self.overdue_s = None
        return self.unfinished() or "no answer for {:g} s".format(ANSWER_S)

    def close(self) -> None:
        """Close the port."""
        self._port.close()


def open_probe(address: str) -> Um25cProbe:
    """The probe of `um25c:PORT`, or of `um25c` where one Bluetooth port is bound."""
    path = address or _bluetooth_port()
    link = Link(path)
    try:
        first, rejected = _first_reading(link, path)
    except OSError as error:
        link.close()
        raise ProbeMissing(
            "{} is gone: {}".format(path, error), "plug the meter in again", port=path
        ) from None
    except BaseException:
        link.close()
        raise
    return Um25cProbe(address, path, link, first, rejected)


def _bluetooth_port() -> str:
    paths = sorted(path for pattern in BLUETOOTH_PORTS for path in glob.glob(pattern))
    return the_only(
        paths,
        ProbeMissing(
            "no Bluetooth port is bound, and no port was named",
            "name the meter's port, such as --meter um25c:/dev/ttyUSB0 ({}); or pair it and "
            "`sudo rfcomm bind 0 ITS:BLUETOOTH:ADDRESS`".format(ports_in_words()),
        ),
        ProbeMissing(
            "several Bluetooth ports are bound: {}".format(", ".join(paths)),
            "name one: --meter um25c:{}".format("".join(paths[:1])),
            ADDRESS,
        ),
    )


def _first_reading(link: Link, path: str) -> Tuple[Um25cReading, List[str]]:
    """The first believable answer, and what came before it."""
    rejected: List[str] = []
    for _ in range(FIRST_ANSWERS):
        rejected += [link.ask()]
        while link.overdue_s is not None and time.monotonic() < link.overdue_s:
            if select.select([link.descriptor], [], [], max(0.0, link.overdue_s - time.monotonic()))[0]:
                _, readings, unbelievable = link.read()
                rejected += unbelievable
                if readings:
                    return readings[-1], [text for text in rejected if text]
    rejected = [text for text in rejected + [link.unfinished()] if text]
    if rejected:
        raise ProbeMissing(
            "what answers at {} is no UM24C, UM25C or UM34C: {}".format(path, rejected[0][:SHOWN]),
            "name the meter's own port ({})".format(ports_in_words()),
            ANSWER,
            path,
        )
    raise ProbeMissing(
        "nothing answers at {}".format(path),
        "switch the meter on (it lives on the line that it measures), and name its own port",
        ANSWER,
        path,
    )
