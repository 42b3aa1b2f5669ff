"""PPK2: Nordic's Power Profiler Kit II, by the package `ppk2-api`: 1,000 means a second of 100 samples each.

That package is under GPL-2, so EdgeBench neither brings it nor names it as a dependency: it is used where it
is installed. It speaks with the kit and reads its calibration; the samples are converted here, all at once,
because it takes longer for one than the next takes to come. Its filter of spikes is left out: the few samples
after a change of range are taken as they are.

Bits 18 to 23 of a sample count samples, modulo 64. A sample is used only if it continues the count. After
lost bytes the count shows where samples begin and how many are missing. A loss of a multiple of 64 whole
samples leaves no trace.
"""

import time
from typing import Any, Dict, List, Optional, Tuple

from ..basics import (
    ADDRESS,
    ANSWER,
    NAN,
    PACKAGE,
    SCOPES,
    ProbeMissing,
    now_ns,
    one_of,
    split_options,
    the_only,
)
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
COUNTS = 64
RUN = 16  # samples whose counts rise by 1: samples begin there


class CountedSamples:
    """Samples out of bytes of which some may be lost."""

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy
        self._data = b""  # not used yet
        self._is_aligned = False  # whether a sample begins at its first byte
        self._next: Optional[int] = None  # count of the next sample; None before the first
        self._skipped = 0  # bytes since the last sample that was used

    def take(self, fresh: bytes) -> List[Tuple[int, Any]]:
        """Runs of samples, numpy uint32 [n], each with the number of samples that are missing before it."""
        self._data += fresh
        runs: List[Tuple[int, Any]] = []
        while True:
            missing = 0 if self._is_aligned else self._align()
            if missing is None:
                return runs
            words = self._words(0)
            wrong = ((words >> 18) - self._numpy.arange(len(words)) - self._next) % COUNTS != 0
            self._is_aligned = not wrong.any()
            # The sample before a wrong one may be shifted as well, and have the right count by chance.
            used = len(words) if self._is_aligned else max(int(wrong.argmax()) - 1, 0)
            runs.append((missing, words[:used]))
            self._next = ((self._next or 0) + used) % COUNTS
            self._data = self._data[used * WORD_BYTES :]
            if self._is_aligned:
                return runs

    def _align(self) -> Optional[int]:
        """Skip to the next run of counted samples; how many are missing, None where no run has come yet.

        The first of a run is skipped too: it may have the count of one sample and the current of another.
        """
        starts = []
        for offset in range(WORD_BYTES):
            words = self._words(offset)
            rises = self._numpy.diff(words >> 18) % COUNTS == 1
            if len(rises) >= RUN - 1:
                whole = self._numpy.convolve(rises, [1] * (RUN - 1), "valid") == RUN - 1
                starts += [offset + WORD_BYTES * (int(whole.argmax()) + 1)] if whole.any() else []
        # A run may have begun in the last bytes.
        start = min(starts) if starts else max(len(self._data) - RUN * WORD_BYTES, 0)
        self._data = self._data[start:]
        self._skipped += start
        if not starts:
            return None
        count = (self._data[2] >> 2) % COUNTS
        missing = 0
        if self._next is not None:
            missing = self._skipped // WORD_BYTES
            missing += (count - self._next - missing) % COUNTS
        self._next, self._skipped = count, 0
        return missing

    def _words(self, offset: int) -> Any:
        """All whole words from a byte on."""
        count = max(len(self._data) - offset, 0) // WORD_BYTES
        return self._numpy.frombuffer(self._data[offset : offset + count * WORD_BYTES], "<u4")


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
        self._samples = CountedSamples()
        self._amperes = numpy.zeros(0)  # of a block that is not complete
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
        """The blocks that are complete, each with the stamp of its end; a gap where samples are missing."""
        fresh = self._kit.get_data()
        arrived_ns = now_ns()
        runs = self._samples.take(fresh) if fresh else []
        if not runs:
            return [], ""
        parts, volts = [self._amperes], self._settings.voltage_mv / 1e3
        for missing, words in runs:
            parts.append(self._numpy.full(missing, NAN))
            parts.append(currents(words, self._kit.modifiers, self._kit.adc_mult, volts))
        amperes = self._numpy.concatenate(parts)
        came = len(amperes) - len(self._amperes)
        end_ns = self._pace.end_ns(arrived_ns, came * 1000000000 // KIT_HZ)
        blocks = len(amperes) // IN_BLOCK
        self._amperes = amperes[blocks * IN_BLOCK :]
        first_ns = end_ns - (len(self._amperes) + (blocks - 1) * IN_BLOCK) * 1000000000 // KIT_HZ
        means = amperes[: blocks * IN_BLOCK].reshape(blocks, IN_BLOCK).mean(axis=1).tolist()
        step_ns = IN_BLOCK * 1000000000 // KIT_HZ
        lost = sum([missing for missing, _ in runs])
        return [
            (first_ns + number * step_ns, {"in": mean * volts, "current": mean})
            for number, mean in enumerate(means)
        ], "{} samples are missing: bytes were lost".format(lost) if lost else ""

    def close(self) -> None:
        """Stop measuring and let the port go; what the kit feeds keeps its power."""
        try:
            self._kit.stop_measuring()
            self._kit.ser.close()
        except Exception:
            pass  # it was unplugged


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
