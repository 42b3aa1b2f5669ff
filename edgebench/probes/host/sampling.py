"""What the meters of the host share: chunks, gaps, the stop, and words for what is missing or denied."""

import os
import select
import time
from typing import Any, Dict, List, Optional, Sequence, Union
from urllib.parse import unquote

from ..basics import ADDRESS, ANSWER, Probe, ProbeMissing, Samples

LOOK_S = 0.5  # between two looks for a device that is gone
POLL_S = 0.01  # between two looks at a meter that cannot be waited for
SILENCE_S = 1.0  # without a sample, of a meter that sends them by itself
FIRST_SAMPLES_S = 3.0
MOST_MISSES = 4  # answers that did not come, one after the other: the device is opened anew
SHOWN = 200  # characters of a reading that is none
SHOWN_BYTES = 16
GONE = "it has hung up, as one that was unplugged"
SLACK = 1.001  # how much slower than stated a meter's clock may be
LATE_SHARE = 0.875  # of a block: a reader is held up for so long at most


class Pace:
    """Stamps of what is sampled evenly and comes in blocks, which are read late and never early.

    By the meter's own pace stamps do not jump with their reader's; a block that comes later by almost its
    length is no late one: the one before it was lost.
    """

    def __init__(self) -> None:
        self._end_ns = 0

    def end_ns(self, arrived_ns: int, length_ns: int) -> int:
        """When the last sample of a block was taken that is as long as this and has arrived now."""
        due_ns = self._end_ns + int(length_ns * SLACK)
        was_lost = arrived_ns - due_ns > LATE_SHARE * length_ns
        self._end_ns = arrived_ns if was_lost else min(arrived_ns, due_ns)
        return self._end_ns


class PluggedMeter(Probe):
    """A meter that can be unplugged: the time for which it is gone is a row of gaps while it is looked for.

    One derives from it and supplies `_open` and `_converse`. A device that answers nothing for a while is
    opened again, as one that was unplugged.

    Attributes:
        outages: why it was lost, and an empty text for each time that it came back, in their order.

    Args:
        info: what it says of itself.
        link: the open device, which has a method `close`.
        rejected: readings that could not be parsed before it samples.
    """

    def __init__(self, info: Dict[str, Any], link: Any, rejected: Sequence[str] = ()) -> None:
        super(PluggedMeter, self).__init__(info, rejected)
        self._link: Optional[Any] = link
        self.outages: List[str] = []
        self._is_lost = False
        self._looked_s = 0.0
        self._misses = 0

    def _open(self) -> Any:
        """The device, opened again; ProbeMissing or OSError where it is not there."""
        raise NotImplementedError

    def _converse(self, link: Any, samples: Samples, end_s: float) -> None:
        """As `_take`, with the open device; OSError where it is gone."""
        raise NotImplementedError

    def _take(self, samples: Samples, end_s: float) -> None:
        if self._link is None:
            self._look_again(samples, end_s)
            return
        try:
            self._converse(self._link, samples, end_s)
        except OSError as error:
            # Whatever a driver calls a device that hung up.
            self._lose(os.strerror(error.errno) if error.errno else str(error) or GONE, samples)

    def _look_again(self, samples: Samples, end_s: float) -> None:
        due_s = self._looked_s + LOOK_S
        if time.monotonic() < due_s:
            self._wait(min(due_s, end_s))
            return
        self._looked_s = time.monotonic()
        try:
            self._link = self._open()
        except (ProbeMissing, OSError):
            samples.add_gap()

    def _lose(self, why: str, samples: Samples) -> None:
        """Mark a gap, and from now on look for the device; the reason is reported once."""
        self._close()
        if not self._is_lost:
            self._is_lost = True
            self.outages.append(why[:SHOWN])
        samples.add_gap()

    def _hear(self) -> None:
        """A reading came: the device is there."""
        self._misses = 0
        if self._is_lost:
            self._is_lost = False
            self.outages.append("")

    def _miss(self, why: str, samples: Samples) -> None:
        """A reading is missing: a gap; OSError after MOST_MISSES in a row."""
        self._reject([why])
        self._misses += 1
        if self._misses >= MOST_MISSES:
            self._misses = 0
            raise OSError("it answered nothing {} times in a row: {}".format(MOST_MISSES, why))
        samples.add_gap()

    def _reject(self, texts: Sequence[str]) -> None:
        """Keep what was no reading; empty texts are nothing."""
        self.rejected += [text[:SHOWN] for text in texts if text]

    def _close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()


class StreamingMeter(PluggedMeter):
    """A meter whose samples come by themselves; one derives from it and supplies `_open`.

    Its link has:

    - `descriptor`, to wait for what comes; None for one that is polled;
    - `read()`, which gives the samples that have come, each with its stamp, and in words what was no sample,
      which is a gap among them where there are any;
    - `ask_again()`, called after silence;
    - `close()`. Each raises OSError where the device is gone.
    """

    def __init__(self, info: Dict[str, Any], link: Any, rejected: Sequence[str] = ()) -> None:
        super(StreamingMeter, self).__init__(info, link, rejected)
        self._silent_s = time.monotonic() + SILENCE_S  # from when on nothing has come for too long

    def _look_again(self, samples: Samples, end_s: float) -> None:
        super(StreamingMeter, self)._look_again(samples, end_s)
        self._silent_s = time.monotonic() + SILENCE_S

    def _converse(self, link: Any, samples: Samples, end_s: float) -> None:
        polled_s = time.monotonic() + POLL_S if link.descriptor is None else self._silent_s
        self._wait(min(polled_s, end_s), link.descriptor)
        readings, why = link.read()
        self._reject([why])
        if why and not readings:
            samples.add_gap()
        for stamp_ns, values in readings:
            self._hear()
            samples.add(stamp_ns, values)
        is_silent = not readings and time.monotonic() >= self._silent_s
        if readings or is_silent:
            self._silent_s = time.monotonic() + SILENCE_S
        if is_silent:
            link.ask_again()
            self._miss("no sample for {:g} s".format(SILENCE_S), samples)


def until_samples_come(link: Any, name: str, port: str = "") -> List[str]:
    """What a streaming meter's link gave before its first samples.

    Args:
        link: open; closed where no sample comes.
        name: of the meter, for messages.
        port: what it is read from.

    Raises:
        ProbeMissing: no sample came within FIRST_SAMPLES_S.
        OSError: it is gone.
    """
    rejected: List[str] = []
    end_s = time.monotonic() + FIRST_SAMPLES_S
    try:
        while True:
            readings, why = link.read()
            rejected += [why] if why else []
            if readings:
                return rejected
            if time.monotonic() >= end_s:
                break
            watched = [] if link.descriptor is None else [link.descriptor]
            select.select(watched, [], [], POLL_S)
        what = "what {} sends is no sample: {}".format(name, rejected[0][:SHOWN]) if rejected else ""
        raise ProbeMissing(
            what or "{} sends no sample".format(name),
            "end whatever else reads the meter, and plug it in again",
            ANSWER,
            port,
        )
    except BaseException:
        link.close()
        raise


VOLTAGE = {"name": "voltage", "quantity": "voltage", "unit": "V"}
CURRENT = {"name": "current", "quantity": "current", "unit": "A"}


def power_channel(name: str, most_w: float) -> Dict[str, Any]:
    """The channel of a meter's power in W; the headline of its channels."""
    channel = {"name": name, "quantity": "power", "unit": "W", "total": True}
    return dict(channel, range=[-most_w, most_w])


def shown(data: Union[bytes, bytearray]) -> str:
    """The first bytes as hexadecimal numbers."""
    text = " ".join("{:02x}".format(byte) for byte in data[:SHOWN_BYTES])
    return text + (" ..." if len(data) > SHOWN_BYTES else "")


def positive(values: Dict[str, str], option: str) -> Optional[float]:
    """The number of an option; None where it is not stated, ProbeMissing where it is not above 0."""
    if option not in values:
        return None
    try:
        number = float(values[option])
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ProbeMissing(
            "{}={} is no number above 0".format(option, values[option]),
            "write it like {}=20".format(option),
            ADDRESS,
        )
    return number


def stated_rate_hz(address: str) -> Optional[float]:
    """The `rate_hz` among the options of an address; None without one above 0."""
    options = dict(part.partition("=")[::2] for part in address.partition("?")[2].split("&"))
    try:
        return positive({name: unquote(value) for name, value in options.items()}, "rate_hz")
    except ProbeMissing:
        return None
