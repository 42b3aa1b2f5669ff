"""What a probe's device-side module promises; the module imports nothing from here, it has this shape.

A probe is one module, registered under the entry-point group `edgebench.probes` by its kind, and given on
the command line as `kind:address`. It has Python 3.6 syntax and needs the standard library only, because it
is run on the board, in a process of its own, on the board's monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol


class DeviceProbe(Protocol):
    """An open probe.

    Attributes:
        info: `kind`, `address`, `rate_hz`, `resolution`, `scope` (chip, module, board, usb, wall, or "" for
            a monitor) and `channels`, a list of {`name`, `quantity`, `unit`}; perhaps `absent`, what it
            looked for in vain, {name: reason}.
    """

    info: dict[str, Any]

    def start(self) -> None:
        """Begin sampling."""

    def __iter__(self) -> Iterator[tuple[Sequence[int], Mapping[str, Sequence[float]]]]:
        """Chunks, about one every half second: stamps in ns on the monotonic clock, values a channel.

        Blocks between samples by sleeping. Ends after `stop()`, with one sample taken after it.
        """

    def stop(self) -> None:
        """End the iteration soon; called from a signal handler."""


class ProbeModule(Protocol):
    """The module itself.

    Attributes:
        PLACE: `board` for a probe that reads the board it is placed on. The environment variable
            EDGEBENCH_WORKER_PID then names the process, and session, of the worker that it runs beside.
        MONITOR: True for one that never has a power channel: it decides no key and gets no idle window.
            May be left out.
    """

    PLACE: Literal["board"]

    def open_probe(self, address: str) -> DeviceProbe:
        """The probe at that address.

        Any exception means that there is none. One with the attributes `reason`, `fix` and `denied` (it is
        there and may not be read) says so in words, and those words reach the record.
        """
