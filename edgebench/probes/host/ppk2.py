"""PPK2: Nordic's Power Profiler Kit II, by the package `ppk2-api`: 1,000 means a second of 100 samples each.

That package is under GPL-2, so EdgeBench neither brings it nor names it as a dependency: it is used where it
is installed. It speaks with the kit and reads its calibration; the samples are converted here, all at once,
because it takes longer for one than the next takes to come. Its filter of spikes is left out: the few samples
after a change of range are taken as they are.
"""

import time
from typing import Any, Dict, List, Tuple

from ..basics import ADDRESS, ANSWER, PACKAGE, SCOPES, ProbeMissing, now_ns, one_of, split_options, the_only
from .sampling import CURRENT, Pace, StreamingMeter, power_channel, until_samples_come
from .serial_port import ports_in_words, refusal

PLACE = "host"
KIT_HZ = 100000
IN_BLOCK = 100
RATE_HZ = float(KIT_HZ / IN_BLOCK)
EXAMPLE = "ppk2:/dev/ttyACM0?voltage_mv=3300&mode=ampere"
MODES = ("ampere", "source")
RANGE_MV = (800, 5000)
MOST_W = 10.0
SETTLE_S = 0.1
WORD_BYTES = 4


class Settings:
    """What the address says; ProbeMissing where it says no voltage, or what cannot be.

    Args:
        address: as it was given.
    """

    def __init__(self, address: str) -> None:
        self.port, values = split_options(address, ("voltage_mv", "mode", "scope"), EXAMPLE)
        text = values.get("voltage_mv", "")
        if not text.isdigit() or not RANGE_MV[0] <= int(text) <= RANGE_MV[1]:
            raise ProbeMissing(
                "the voltage is {}".format(repr(text) if text else "not stated"),
                "state it, {} to {} mV: that of the board's own supply, or with mode=source that which the "
                "kit is to give; write it like {}".format(RANGE_MV[0], RANGE_MV[1], EXAMPLE),
                ADDRESS,
            )
        self.voltage_mv = int(text)
        self.mode = one_of(values, "mode", MODES, MODES[0])
        self.scope = one_of(values, "scope", SCOPES, "board")


class Link:
    """A kit that measures (see StreamingMeter); nothing but its package reads its port."""

    descriptor = None

    def __init__(self, settings: Settings) -> None:
        import numpy

        self._numpy = numpy
        self._settings = settings
        self._pace = Pace()
        self._bytes = b""  # of a sample that is not complete
        self._words = numpy.zeros(0, "<u4")  # of a block that is not complete
        self._kit = _connected(settings.port)
        try:
            self._kit.stop_measuring()  # one that was killed has left it measuring
            time.sleep(SETTLE_S)
            self._kit.get_data()
            if not _has_calibration(self._kit):
                raise ProbeMissing(
                    "what answers at {} is no PPK2".format(settings.port),
                    "name the kit's own port ({})".format(ports_in_words()),
                    ANSWER,
                    settings.port,
                )
            self._kit.set_source_voltage(settings.voltage_mv)
            if settings.mode == "source":
                self._kit.use_source_meter()
            else:
                self._kit.use_ampere_meter()
            self._kit.toggle_DUT_power("ON")
            self._kit.start_measuring()
        except BaseException:
            self.close()
            raise

    def ask_again(self) -> None:
        """It sends by itself."""

    def read(self) -> Tuple[List[Tuple[int, Dict[str, float]]], str]:
        """The blocks that are complete, each with the stamp of its end."""
        fresh = self._kit.get_data()
        arrived_ns = now_ns()
        if not fresh:
            return [], ""
        data = self._bytes + fresh
        whole = len(data) // WORD_BYTES * WORD_BYTES
        self._bytes = data[whole:]
        words = self._numpy.frombuffer(data[:whole], "<u4")
        end_ns = self._pace.end_ns(arrived_ns, len(words) * 1000000000 // KIT_HZ)
        words = self._numpy.concatenate((self._words, words))
        blocks = len(words) // IN_BLOCK
        self._words = words[blocks * IN_BLOCK :]
        first_ns = end_ns - (len(self._words) + (blocks - 1) * IN_BLOCK) * 1000000000 // KIT_HZ
        table = self._by_channel(words[: blocks * IN_BLOCK])
        means = {name: values.reshape(blocks, IN_BLOCK).mean(axis=1) for name, values in table.items()}
        step_ns = IN_BLOCK * 1000000000 // KIT_HZ
        return [
            (first_ns + number * step_ns, {name: float(values[number]) for name, values in means.items()})
            for number in range(blocks)
        ], ""

    def close(self) -> None:
        """Stop measuring and let the port go; what the kit feeds keeps its power."""
        try:
            self._kit.stop_measuring()
            self._kit.ser.close()
        except Exception:
            pass  # it was unplugged

    def _by_channel(self, words: Any) -> Dict[str, Any]:
        """W and A of each sample."""
        amperes = currents(words, self._kit.modifiers, self._kit.adc_mult, self._settings.voltage_mv / 1e3)
        return {"in": amperes * (self._settings.voltage_mv / 1e3), "current": amperes}


def currents(words: Any, modifiers: Dict[str, Any], per_step: float, volts: float) -> Any:
    """A of each sample: bits 0 to 13 are a quarter of its steps, 14 to 16 its range.

    Args:
        words: numpy uint32 [n], as the kit sends them.
        modifiers: its calibration: by quantity, by range as text.
        per_step: volts at the shunt of one step.
        volts: of the supply.
    """
    import numpy

    places = numpy.minimum(words >> 14 & 7, 4)

    def calibration(name: str) -> Any:
        return numpy.array([float(modifiers[name][str(place)]) for place in range(5)])[places]

    steps = (words & 0x3FFF) * 4.0
    plain = (steps - calibration("O")) * per_step / calibration("R")
    offset = calibration("S") * volts + calibration("I")
    return calibration("UG") * (plain * (calibration("GS") * plain + calibration("GI")) + offset)


class Ppk2Probe(StreamingMeter):
    """Power and current of what the kit measures.

    Args:
        address: as it was given.
        settings: what it says.
        link: open.
    """

    def __init__(self, address: str, settings: Settings, link: Link) -> None:
        stated = "its power is the current times the {} mV that the address states".format(
            settings.voltage_mv
        )
        super(Ppk2Probe, self).__init__(
            {
                "kind": "ppk2",
                "address": address,
                "rate_hz": RATE_HZ,
                "averaging_ms": 1e3 / RATE_HZ,
                "resolution": "its ranges' own, 0.2 uA and more",
                "scope": settings.scope,
                "channels": [power_channel("in", MOST_W), CURRENT],
                "absent": {"voltage": "the kit does not measure it: " + stated},
            },
            link,
        )
        self._settings = settings
        self.port = settings.port

    def _open(self) -> Link:
        return Link(self._settings)


def open_probe(address: str) -> Ppk2Probe:
    """The probe of `ppk2:PORT?voltage_mv=MV`, or of `ppk2:?voltage_mv=MV` where one kit is plugged in."""
    settings = Settings(address)
    settings.port = settings.port or _only_port()
    try:
        link = Link(settings)
        until_samples_come(link, settings.port, settings.port)
    except OSError as error:
        raise refusal(settings.port, getattr(error, "errno", None), str(error)) from None
    return Ppk2Probe(address, settings, link)


def _package() -> Any:
    try:
        from ppk2_api.ppk2_api import PPK2_API
    except ImportError as error:
        raise ProbeMissing(
            "the package ppk2-api cannot be loaded: {}".format(error),
            "pip install ppk2-api (it is under GPL-2, so EdgeBench does not bring it)",
            PACKAGE,
        ) from None
    return PPK2_API


def _connected(port: str) -> Any:
    try:
        return _package()(port, timeout=1, write_timeout=1, exclusive=True)
    except OSError as error:  # serial.SerialException is one
        raise refusal(port, getattr(error, "errno", None), str(error)) from None


def _has_calibration(kit: Any) -> bool:
    """Read it; whether what answered had one."""
    try:
        return bool(kit.get_modifiers())
    except ValueError:  # bytes that are no text
        return False


def _only_port() -> str:
    # Releases after 0.9.2 give the serial number too.
    ports = [port if isinstance(port, str) else str(port[0]) for port in _package().list_devices()]
    return the_only(
        ports,
        ProbeMissing(
            "no PPK2 is plugged in",
            "plug it in, or name its port ({}): {}".format(ports_in_words(), EXAMPLE),
        ),
        ProbeMissing(
            "several ports are a PPK2's: {}".format(", ".join(ports)), "name one: {}".format(EXAMPLE), ADDRESS
        ),
    )
