"""What every probe promises: its module, what it says of itself, and its samples.

It is run as on a board: by the agent's sampler, in a process of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgebench.records.session import ProbeInfo
from edgebench.testing.probe_kit import ProbeKit
from edgebench.testing.problems import Promise, fail, foreign_imports, promises, runs_on_python_3_6

PLACES = ("board", "host")
SCOPES = ("chip", "module", "board", "usb", "wall")
LEAST_OF_RATE = 0.5
"""The share of its stated rate that a probe has to keep: less is no matter of a busy machine."""
MOST_HZ = 1e5
SAMPLES_DUE = 4
"""As many due in the window and fewer than two seen: it does not keep its rate."""
UNITS = {"power": "W", "energy": "J"}


class ProbeContract:
    """Derive from it, name the probe, and pytest holds it to the contract.

    Attributes:
        probe: `KIND` or `KIND:ADDRESS`, or a module that is not registered yet.
        missing_address: an address at which there is nothing.
        window_s: for how long it samples; two samples or more have to fall into it.
        stop_s: after how long a probe that was stopped counts as hung; the agent waits three seconds, and a
            machine under load is given more.
        skips: tests that are left out, each with the reason that is shown.
    """

    kit_type: ClassVar[Any] = ProbeKit
    probe: ClassVar[str | ModuleType | None] = None
    missing_address: ClassVar[str] = "/no/such/place/of/edgebench"
    window_s: ClassVar[float] = 1.0
    stop_s: ClassVar[float] = 20.0
    skips: ClassVar[Mapping[str, str]] = {}

    @promises()
    def test_it_is_a_probe_module(self, kit: ProbeKit) -> Iterable[Promise]:
        """PLACE, open_probe(address), RATE_HZ of a meter, MONITOR where it never has a power channel."""
        place, opens, monitor, rate_hz = (
            getattr(kit.module, name, default)
            for name, default in (
                ("PLACE", None), ("open_probe", None), ("MONITOR", False), ("RATE_HZ", "missing")
            )
        )  # fmt: skip
        return [
            (
                place in PLACES,
                f"PLACE is {place!r}",
                'write PLACE = "board" where it reads the board, "host" where it is plugged in here',
            ),
            (isinstance(monitor, bool), f"MONITOR is {monitor!r}", "write True, or leave it out"),
            (
                bool(monitor)
                or rate_hz is None
                or (isinstance(rate_hz, int | float) and 0 < rate_hz <= MOST_HZ),
                f"RATE_HZ is {rate_hz!r}",
                "write the samples a second that it means to take; None where its address decides",
            ),
            (
                callable(opens) and _takes_one(opens),
                "there is no open_probe(address)",
                "define it in the module",
            ),
            (
                bool((kit.module.__doc__ or "").strip()),
                "the module has no docstring",
                "say in its first line what is measured: `edgebench devices` shows it",
            ),
        ]

    @promises()
    def test_it_is_python_3_6(self, kit: ProbeKit) -> Iterable[Promise]:
        """The boards' Pythons are old; the summary names the judges."""
        kit.skip_unless(not kit.on_host, "it samples on the host, with this Python")
        return runs_on_python_3_6(kit.files, kit, "write it in the syntax of Python 3.6")

    @promises()
    def test_it_imports_the_standard_library_alone(self, kit: ProbeKit) -> Iterator[Promise]:
        """Its files are all that is sent to a board; one of the host imports others inside open_probe."""
        outside = kit.on_host
        fix = "import it inside open_probe" if outside else "do without it: a board has nothing but Python"
        for file in kit.files:
            for foreign in foreign_imports(file, set(), kit.files, within_functions=not outside):
                yield False, foreign, fix

    @promises()
    def test_hardware_that_is_missing_is_said(self, kit: ProbeKit) -> Iterable[Promise]:
        """open_probe raises with `reason` and `fix`, and both reach the record."""
        address = kit.contract.missing_address
        run = kit.run_at(address, 0.0)
        if run.missing is None:
            fail(
                f"there is nothing at {address!r}, and open_probe opened it {run.problem}".rstrip(),
                "raise an exception with the attributes reason and fix, or name another `missing_address`",
            )
        reason, fix = run.missing.reason, run.missing.fix
        return [
            (bool(reason.strip()), "open_probe failed without a reason", "give it as `reason`"),
            (
                bool(fix.strip()),
                f"open_probe failed without a fix: {reason}",
                "raise an exception of your own with the attributes reason and fix",
            ),
        ]

    @promises()
    def test_what_it_says_of_itself(self, kit: ProbeKit) -> Iterable[Promise]:
        """Kind, rate, scope and channels with their units; a meter has power in W or energy in J."""
        info, rate_hz = kit.info, getattr(kit.module, "RATE_HZ", None)
        return [
            *_info_promises(info, bool(getattr(kit.module, "MONITOR", False))),
            (
                rate_hz in (None, info.rate_hz),
                f"RATE_HZ is {rate_hz!r} and rate_hz is {info.rate_hz!r}",
                "say the same in both, or write RATE_HZ = None where the address decides",
            ),
        ]

    @promises()
    def test_samples(self, kit: ProbeKit) -> Iterator[Promise]:
        """Stamps rise and are of the monotonic clock; one value a channel and stamp."""
        run, stated_hz = kit.live, kit.info.rate_hz
        stamps = np.concatenate([chunk.stamps_ns for chunk in run.chunks] or [np.zeros(0, np.int64)])
        rate_hz = _rate_hz(stamps)
        seen = "no two samples" if rate_hz is None else f"{rate_hz:.1f} samples a second"
        kit.note(f"{kit.name}: {seen}, {stated_hz:g} are stated")
        if run.rejected:
            words = f"{run.rejected} readings were rejected, the first was {run.rejected_first!r}"
            kit.note(f"{kit.name}: {words}")
        if rate_hz is None and stated_hz * kit.contract.window_s >= SAMPLES_DUE:
            rate_hz = len(stamps) / kit.contract.window_s
        yield from (
            (not run.problem, f"it sent no frames: {run.problem}", "write nothing to descriptor 1"),
            (
                run.failed is None,
                f"it failed while it sampled: {run.failed and run.failed.reason}",
                "give a value that is not a number",
            ),
            (len(stamps) > 0, "it gave no sample", "give one after stop() at the latest"),
            (
                # Peaks are judged by the stated rate: they are less well known where it is not kept.
                rate_hz is None or rate_hz >= LEAST_OF_RATE * stated_hz,
                f"{rate_hz or 0.0:.3g} samples a second came and {stated_hz:g} are stated",
                "state the rate that it keeps as rate_hz, or sample as often",
            ),
            (
                bool((np.diff(stamps) > 0).all()),
                "its stamps do not rise",
                "take each stamp after its sample",
            ),
            (
                bool(((stamps >= run.began_ns) & (stamps <= run.ended_ns)).all()),
                "its stamps are not of the monotonic clock: they are outside the run",
                "take time.monotonic() * 1e9 (Python 3.6 has no monotonic_ns), never time.time()",
            ),
        )
        names = {channel.name for channel in kit.info.channels}
        for chunk in run.chunks:
            yield (
                set(chunk.values) == names,
                f"a chunk has the channels {sorted(chunk.values)}, info has {sorted(names)}",
                "give every channel of info in every chunk",
            )
            for name, values in chunk.values.items():
                yield (
                    len(values) == len(chunk.stamps_ns) and not np.isinf(values).any(),
                    f"{name}: {len(values)} values for {len(chunk.stamps_ns)} stamps",
                    "give one number a stamp; not a number where it cannot be read",
                )

    @promises()
    def test_it_ends_when_it_is_told(self, kit: ProbeKit) -> Iterable[Promise]:
        """stop() ends the iteration soon, from a signal handler too."""
        return [
            (
                kit.live.ended,
                f"it still ran {kit.contract.stop_s:g} s after stop()",
                "let stop() set a flag that every round of the loop looks at, and sleep briefly: the agent "
                "kills a probe that stays, and its last samples are lost",
            )
        ]


def _rate_hz(stamps_ns: NDArray[np.int64]) -> float | None:
    """Samples a second from the first to the last; None below two, or where the stamps do not rise."""
    span_ns = int(stamps_ns[-1] - stamps_ns[0]) if len(stamps_ns) else 0
    return (len(stamps_ns) - 1) * 1e9 / span_ns if span_ns > 0 else None


def _info_promises(info: ProbeInfo, monitor: bool) -> Iterator[Promise]:
    names = [channel.name for channel in info.channels]
    totals = [channel.name for channel in info.channels if channel.total]
    quantities = {channel.quantity for channel in info.channels if channel.total}
    yield from (
        (
            0 < info.rate_hz <= MOST_HZ,
            f"rate_hz is {info.rate_hz}",
            "state how many samples a second it means to take",
        ),
        (bool(info.resolution.strip()), "the resolution is empty", "say the smallest step of a value"),
        (len(set(names)) == len(names), f"two channels share a name: {names}", "name them apart"),
        (
            len(totals) == len(quantities),
            f"several channels of one quantity are total: {totals}",
            "mark only the rail that all others are part of",
        ),
        (
            not monitor or (not info.is_meter and info.scope == ""),
            "MONITOR is True, and it has a power or energy channel or a scope",
            "leave MONITOR out of a meter; a monitor's scope is empty",
        ),
        (
            monitor or info.is_meter,
            "no channel is power or energy",
            "a probe without one is a monitor: MONITOR = True",
        ),
        (
            monitor or info.scope in SCOPES,
            f"the scope is {info.scope!r}",
            f"say what the figure covers: {', '.join(SCOPES)}",
        ),
        *(
            (bool(reason.strip()), f"{name} is absent without a reason", "say why")
            for name, reason in info.absent.items()
        ),
    )
    for channel in info.channels:
        due = UNITS.get(channel.quantity)
        yield from (
            (
                all(text.strip() for text in (channel.name, channel.quantity, channel.unit)),
                f"a channel without name, quantity or unit: {channel}",
                "give all three; the unit of a count is 1",
            ),
            (
                due in (None, channel.unit),
                f"{channel.name} is {channel.quantity} in {channel.unit}",
                f"convert to {due}: figures of different boards are in one column",
            ),
            (
                channel.range is None or channel.range[0] < channel.range[1],
                f"{channel.name} has the range {channel.range}",
                "give [lowest, highest]: every value outside is rejected",
            ),
        )


def _takes_one(opens: Any) -> bool:
    try:
        inspect.signature(opens).bind("address")
    except TypeError:
        return False
    return True
