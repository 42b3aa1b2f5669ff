"""What a probe promises the sampler; a probe imports nothing from here, it only has this shape.

A probe is one module, or a package; what they take in as `from .name import ...` travels with them. It is
registered under the entry-point group `edgebench.probes` by its kind, and given on the command line as
`kind:address`. It has Python 3.6 syntax and needs the standard library only, because it is run on the board
(but for one of the host, see PLACE), in a process of its own, on that machine's monotonic clock.
"""

from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from typing import Protocol  # novermin
else:
    Protocol = object

Chunk = Tuple[Sequence[int], Mapping[str, Sequence[float]]]
"""Stamps in ns on the monotonic clock, and by channel a value for each of them."""


class DeviceProbe(Protocol):
    """An open probe.

    Attributes:
        info: `kind`, `address`, `rate_hz`, `resolution`, `scope` (chip, module, board, usb, wall, or "" for
            a monitor) and `channels`, a list of {`name`, `quantity`, `unit`}; perhaps `absent`, what it
            could not find, {name: reason}, and `averaging_ms`, the time before its stamp that a reading is
            the mean over: None, or left out, where that is not known, and for a counter of energy, whose
            readings are of a moment. A channel may have `total`, True for the rail that all others are part
            of, or of several clocks the one that counts, and `range`, [lowest, highest]: a value outside is
            rejected, which is no number from then on, and counted.
        port: may be left out; what it is read from: a node, a file, a program or a library. Who may open it,
            and which other processes have it open, is for the sampler to find out.
        rejected: may be left out; a list of the readings that could not be parsed, verbatim, to which the
            probe appends and from which the sampler takes.
        outages: may be left out; a list to which a probe that loses its device and looks for it appends why,
            and an empty text once it is back. The sampler takes from it.
    """

    info: Dict[str, Any]

    def start(self) -> None:
        """Begin sampling."""

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks, about one every half second.

        Blocks between samples by sleeping. Ends after `stop()`, with one sample taken after it.
        """

    def stop(self) -> None:
        """End the iteration soon; called from a signal handler."""


class ProbeModule(Protocol):
    """The module itself, or its package's `__init__`.

    Attributes:
        PLACE: `board` for a probe that reads the board it is placed on. The environment variable
            EDGEBENCH_WORKER_PID then names the process, and session, of the worker that it watches;
            those of several workers are separated by commas.
            `host` for one that is plugged into the machine that EdgeBench runs on, such as a USB meter: it
            samples there from the first session to the last, with that machine's Python, and its stamps are
            brought to the device's clock. It imports what is not in the standard library inside
            `open_probe`, so that it can be listed where that is not installed.
        RATE_HZ: how many samples a second a meter means to take, the `rate_hz` of its info, known before it
            is opened; None where the address decides. The plan goes by it: idle windows of 100 periods
            of the slowest meter (2 s to 60 s; 2 s for None), and steady parts of 110 (none is lengthened for
            None). What a meter truly delivered decides what its samples are good for. A monitor may leave
            it out.
        MONITOR: True for one that never has a power channel: it decides no key and gets no idle windows.
            May be left out.
    """

    PLACE: str
    RATE_HZ: Optional[float]

    def open_probe(self, address: str) -> DeviceProbe:
        """The probe at that address.

        Any exception means that there is no such probe. One with the attributes `reason`, `fix` and `denied`
        (it is there and may not be read) has words that reach the record. It may have `port`
        as well, and `step`, how far the probe came: `address` is not understood, a `package` is missing, the
        `device` is not there, it lacks the `permission`, the device is `in use`, its `answer` is not such a
        meter's.
        """
