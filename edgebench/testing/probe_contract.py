"""What every probe promises: its module, what it says of itself, and its samples.

It is run as on a board: by the agent's sampler, in a process of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from edgebench.records.session import ProbeInfo
from edgebench.testing.backend_kit import skip_where_asked
from edgebench.testing.plugin import NOTE
from edgebench.testing.probe_kit import ProbeKit
from edgebench.testing.problems import Problems, fail, foreign_imports, judge_syntax, problems

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
        skips: tests that are left out, each with the reason that is shown.
    """

    probe: ClassVar[str | ModuleType | None] = None
    missing_address: ClassVar[str] = "/no/such/place/of/edgebench"
    window_s: ClassVar[float] = 1.0
    skips: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture(autouse=True)
    def _leave_out(self, request: pytest.FixtureRequest) -> None:
        skip_where_asked(type(self), request.node.originalname, request.config)

    def test_it_is_a_probe_module(self, edgebench_probe: ProbeKit) -> None:
        """PLACE, open_probe(address), RATE_HZ of a meter, MONITOR where it never has a power channel."""
        module = edgebench_probe.module
        place = getattr(module, "PLACE", None)
        opens = getattr(module, "open_probe", None)
        monitor = getattr(module, "MONITOR", False)
        with problems() as faults:
            faults.unless(
                place in PLACES,
                f"PLACE is {place!r}",
                'write PLACE = "board" where it reads the board, "host" where it is plugged in here',
            )
            faults.unless(isinstance(monitor, bool), f"MONITOR is {monitor!r}", "write True, or leave it out")
            faults.unless(
                bool(monitor) or _is_rate(getattr(module, "RATE_HZ", "missing")),
                f"RATE_HZ is {getattr(module, 'RATE_HZ', 'missing')!r}",
                "write the samples a second that it means to take, or None where its address decides",
            )
            faults.unless(
                callable(opens) and _takes_one(opens),
                "there is no open_probe(address)",
                "define it in the module",
            )
            faults.unless(
                bool((module.__doc__ or "").strip()),
                "the module has no docstring",
                "say in its first line what is measured: `edgebench devices` shows it",
            )

    def test_it_is_python_3_6(
        self, edgebench_probe: ProbeKit, record_property: Callable[[str, object], None]
    ) -> None:
        """The boards' Pythons are old; who looked stands in the summary."""
        if edgebench_probe.on_host:
            pytest.skip("it samples on the host, with this Python")
        with problems() as faults:
            for file in edgebench_probe.files:
                verdict = judge_syntax(file)
                judges = ", ".join(verdict.judges)
                record_property(
                    NOTE, f"{edgebench_probe.name}: {file.name} was held to Python 3.6 by {judges}"
                )
                for problem in verdict.problems:
                    faults.add(
                        f"{file.name} is not valid Python 3.6: {problem}",
                        "write it in the syntax of Python 3.6",
                    )

    def test_it_imports_the_standard_library_alone(self, edgebench_probe: ProbeKit) -> None:
        """Its files are all that is sent to a board; one of the host imports others inside open_probe."""
        kit = edgebench_probe
        fix = (
            "import it inside open_probe" if kit.on_host else "do without it: a board has nothing but Python"
        )
        with problems() as faults:
            for file in kit.files:
                for foreign in foreign_imports(file, set(), kit.files, within_functions=not kit.on_host):
                    faults.add(foreign, fix)

    def test_hardware_that_is_missing_is_said(self, edgebench_probe: ProbeKit) -> None:
        """open_probe raises with `reason` and `fix`, and both reach the record."""
        address = edgebench_probe.subject.missing_address
        run = edgebench_probe.run_at(address, 0.0)
        if run.missing is None:
            fail(
                f"there is nothing at {address!r}, and open_probe opened it {run.problem}".rstrip(),
                "raise an exception with the attributes reason and fix, or name another `missing_address`",
            )
        with problems() as faults:
            faults.unless(
                bool(run.missing.reason.strip()), "open_probe failed without a reason", "give it as `reason`"
            )
            faults.unless(
                bool(run.missing.fix.strip()),
                f"open_probe failed without a fix: {run.missing.reason}",
                "raise an exception of your own with the attributes reason and fix",
            )

    def test_what_it_says_of_itself(self, edgebench_probe: ProbeKit) -> None:
        """Kind, rate, scope and channels with their units; a meter has power in W or energy in J."""
        run = edgebench_probe.live
        info = run.info
        if info is None:
            fail(f"it reported no info: {run.problem or run.stderr[-2000:]}", "set `info` in open_probe")
        monitor = bool(getattr(edgebench_probe.module, "MONITOR", False))
        with problems() as faults:
            _check_info(faults, info, monitor)
            rate_hz = getattr(edgebench_probe.module, "RATE_HZ", None)
            faults.unless(
                rate_hz in (None, info.rate_hz),
                f"RATE_HZ is {rate_hz!r} and rate_hz is {info.rate_hz!r}",
                "say the same in both, or write RATE_HZ = None where the address decides",
            )

    def test_samples(self, edgebench_probe: ProbeKit, record_property: Callable[[str, object], None]) -> None:
        """Stamps rise and are of the monotonic clock; one value a channel and stamp."""
        run = edgebench_probe.live
        if run.info is None:
            fail(f"it reported no info: {run.problem or run.stderr[-2000:]}", "set `info` in open_probe")
        stamps = np.concatenate([chunk.stamps_ns for chunk in run.chunks] or [np.zeros(0, np.int64)])
        rate_hz = _rate_hz(stamps)
        seen = "no two samples" if rate_hz is None else f"{rate_hz:.1f} samples a second"
        record_property(NOTE, f"{edgebench_probe.name}: {seen}, {run.info.rate_hz:g} are stated")
        names = {channel.name for channel in run.info.channels}
        if run.rejected:
            words = f"{run.rejected} readings were rejected, the first was {run.rejected_first!r}"
            record_property(NOTE, f"{edgebench_probe.name}: {words}")
        with problems() as faults:
            faults.unless(
                not run.problem, f"it sent no frames: {run.problem}", "write nothing to descriptor 1"
            )
            if run.failed is not None:
                faults.add(
                    f"it failed while it sampled: {run.failed.reason}", "give a value that is not a number"
                )
            faults.unless(len(stamps) > 0, "it gave no sample", "give one after stop() at the latest")
            _check_rate(faults, stamps, run.info.rate_hz, edgebench_probe.subject.window_s)
            faults.unless(
                bool((np.diff(stamps) > 0).all()),
                "its stamps do not rise",
                "take each stamp after its sample",
            )
            faults.unless(
                bool(((stamps >= run.began_ns) & (stamps <= run.ended_ns)).all()),
                "its stamps are not of the monotonic clock: they lie outside the run",
                "take time.monotonic() * 1e9 (Python 3.6 has no monotonic_ns), never time.time()",
            )
            for chunk in run.chunks:
                faults.unless(
                    set(chunk.values) == names,
                    f"a chunk has the channels {sorted(chunk.values)}, info has {sorted(names)}",
                    "give every channel of info in every chunk",
                )
                for name, values in chunk.values.items():
                    faults.unless(
                        len(values) == len(chunk.stamps_ns) and not np.isinf(values).any(),
                        f"{name}: {len(values)} values for {len(chunk.stamps_ns)} stamps",
                        "give one number a stamp; not a number where it cannot be read",
                    )

    def test_it_ends_when_it_is_told(self, edgebench_probe: ProbeKit) -> None:
        """stop() ends the iteration soon, from a signal handler too."""
        run = edgebench_probe.live
        if not run.ended:
            fail(
                f"it still ran {edgebench_probe.subject.stop_s:g} s after stop()",
                "let stop() set a flag that every round of the loop looks at, and sleep briefly: the agent "
                "kills a probe that stays, and its last samples are lost",
            )


def _rate_hz(stamps_ns: NDArray[np.int64]) -> float | None:
    """Samples a second from the first to the last; None below two, or where the stamps do not rise."""
    span_ns = int(stamps_ns[-1] - stamps_ns[0]) if len(stamps_ns) else 0
    return (len(stamps_ns) - 1) * 1e9 / span_ns if span_ns > 0 else None


def _check_rate(faults: Problems, stamps_ns: NDArray[np.int64], stated_hz: float, window_s: float) -> None:
    """Peaks are judged by the stated rate: they are less well known where it is not kept."""
    rate_hz = _rate_hz(stamps_ns)
    if rate_hz is None and stated_hz * window_s >= SAMPLES_DUE:
        rate_hz = len(stamps_ns) / window_s
    faults.unless(
        rate_hz is None or rate_hz >= LEAST_OF_RATE * stated_hz,
        f"{rate_hz or 0.0:.3g} samples a second came and {stated_hz:g} are stated",
        "state the rate that it keeps as rate_hz, or sample as often",
    )


def _check_info(faults: Problems, info: ProbeInfo, monitor: bool) -> None:
    faults.unless(
        0 < info.rate_hz <= MOST_HZ,
        f"rate_hz is {info.rate_hz}",
        "state how many samples a second it means to take",
    )
    faults.unless(
        bool(info.resolution.strip()), "the resolution is empty", "say the smallest step of a value"
    )
    names = [channel.name for channel in info.channels]
    faults.unless(len(set(names)) == len(names), f"two channels share a name: {names}", "name them apart")
    for channel in info.channels:
        faults.unless(
            all(text.strip() for text in (channel.name, channel.quantity, channel.unit)),
            f"a channel without name, quantity or unit: {channel}",
            "give all three; the unit of a count is 1",
        )
        due = UNITS.get(channel.quantity)
        faults.unless(
            due in (None, channel.unit),
            f"{channel.name} is {channel.quantity} in {channel.unit}",
            f"convert to {due}: figures of different boards stand in one column",
        )
        faults.unless(
            channel.range is None or channel.range[0] < channel.range[1],
            f"{channel.name} has the range {channel.range}",
            "give [lowest, highest]: every value outside is rejected",
        )
    totals = [channel.name for channel in info.channels if channel.total]
    quantities = {channel.quantity for channel in info.channels if channel.total}
    faults.unless(
        len(totals) == len(quantities),
        f"several channels of one quantity are total: {totals}",
        "mark the rail that all others are part of, or none",
    )
    if monitor:
        faults.unless(
            not info.is_meter and info.scope == "",
            "MONITOR is True, and it has a power or energy channel or a scope",
            "leave MONITOR out of a meter; a monitor's scope is empty",
        )
    else:
        faults.unless(
            info.is_meter, "no channel is power or energy", "a probe without one is a monitor: MONITOR = True"
        )
        faults.unless(
            info.scope in SCOPES,
            f"the scope is {info.scope!r}",
            f"say what the figure covers: {', '.join(SCOPES)}",
        )
    for name, reason in info.absent.items():
        faults.unless(bool(reason.strip()), f"{name} is absent without a reason", "say why")


def _is_rate(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and 0 < value <= MOST_HZ)


def _takes_one(opens: Any) -> bool:
    try:
        inspect.signature(opens).bind("address")
    except TypeError:
        return False
    return True
