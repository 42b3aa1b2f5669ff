"""`edgebench meters`: power meters on their own, without anything that is measured."""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgebench.cli.common import (
    JsonOption,
    complete_meter,
    echo_path,
    exit_where,
    say,
    stdout,
    targets_file_setting,
    with_options,
    with_parameters,
)
from edgebench.cli.panels import CommandGroup
from edgebench.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from edgebench.records.session import ProbeInfo
    from edgebench.records.target import Target
    from edgebench.run.measuring.meter_recording import MeterBench, Recording
else:
    MeterBench = Any  # signatures are evaluated, and nothing heavy is imported for that

app = CommandGroup(
    no_args_is_help=True, help="List, check and record power meters; nothing else is measured."
)


def with_board(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that name a board; its first argument is that board's `MeterBench`.

    Its own options come before those.
    """

    @functools.wraps(command)
    def with_bench(**flags: Any) -> None:
        from edgebench.interruption import held_interrupt

        bench = _bench(*(flags.pop(name) for name in ("target", "targets_file", "host", "python")))
        try:
            command(bench, **flags)
        finally:
            with held_interrupt():
                bench.close()

    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    options = with_options(
        *("targets_file", "python"),
        target="The board with the meter, of the targets file.",
        host="The board with the meter, by SSH: USER@BOARD[:PORT].",
    )
    return options(with_parameters(with_bench, own))


@app.command("list")
@with_board
def list_(bench: MeterBench, json_: JsonOption = False) -> None:
    """List the kinds of meters; those that can be read here, or on a board, come first.

    Exit code 1 if no meter can be read.
    """
    from edgebench.report.listings.meters import print_meters
    from edgebench.run.measuring.meter_recording import board_meters

    opened = [bench.record(meter, 0.0) for meter in board_meters()]
    opened.sort(key=lambda recording: recording.info is None)
    print_meters(stdout(), [_unchecked(recording) for recording in opened], as_json=json_)
    exit_where(all(recording.info is None for recording in opened))


@app.command()
@with_board
def check(
    bench: MeterBench,
    meter: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METER...",
            autocompletion=complete_meter,
            help="Meters as KIND[:ADDRESS]. Default: every kind.",
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Sample meters for a moment: rails, total, rate, missing and rejected readings.

    Exit code 1 if no meter, or a named one, can be read.
    """
    from edgebench.report.listings.meters import print_meters
    from edgebench.run.measuring.meter_recording import CHECK_S, board_meters

    for name in meter or ():
        require_meter(name)
    checked = [bench.record(name, CHECK_S) for name in meter or board_meters()]
    rows = [_checked(recording) for recording in checked]
    print_meters(stdout(), rows, as_json=json_)
    unreadable = [not row["readable"] for row in rows]
    exit_where(all(unreadable) or bool(meter and any(unreadable)))


@app.command()
@with_board
def record(
    bench: MeterBench,
    meter: Annotated[
        str,
        typer.Argument(
            metavar="METER",
            autocompletion=complete_meter,
            help="KIND[:ADDRESS], such as ina3221.",
            show_default=False,
        ),
    ],
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="30s, 5m, or seconds. Default: until Ctrl-C"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File of the samples: .csv, else Parquet.",
            show_default=False,
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Record a meter for some time, or until Ctrl-C; what was recorded by then is kept and printed.

    The Parquet file has the columns of a session's probes.parquet, and says what the meter is; a .csv file
    has t_ns and a column for each channel. Energy is by the trapezoid rule from the first sample to the last;
    time without readings has none. Exits with 1, and leaves no file, where the meter cannot be read or gives
    no reading.
    """
    from edgebench.files import require_file_name
    from edgebench.interruption import held_interrupt
    from edgebench.report.listings.meters import print_recording
    from edgebench.run.measuring.meter_recording import RecordingFile
    from edgebench.run.setting import max_time_s

    require_meter(meter)
    if output is not None:
        require_file_name(output, "-o")
    try:
        duration_s = None if duration is None else max_time_s(duration)
    except ValueError as error:
        raise UsageError(f"--duration: {error}", fix="write it like --duration 30s") from error
    figure = _LiveFigure()
    with nullcontext() if output is None else RecordingFile(output) as file:
        try:
            recording = bench.record(meter, duration_s, figure.show, file)
        finally:
            figure.end()
        info = recording.require_readings()
        with held_interrupt():
            print_recording(stdout(), _recorded(recording, info), as_json=json_)
            if file is not None:  # behind the figures, which a full disk is not to take too
                file.keep(info)
    if recording.outage:
        say(recording.outage)
    if recording.ended:
        say(f"{meter} ended: {recording.ended}")
    exit_where(bool(recording.ended))
    if output is not None and not json_:
        echo_path(output)


class _LiveFigure:
    """The newest power on one line of stderr; where that is no terminal, a line every ten seconds."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._said_s = self._began_s
        self._on_terminal = sys.stderr.isatty()
        self._shown = False

    def show(self, channel: str, watts: float) -> None:
        """Show the channel's newest power."""
        from edgebench.suggest import printable

        now_s = time.monotonic()
        text = printable(f"{now_s - self._began_s:6.0f} s  {channel} {watts:.3f} W")
        if self._on_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._shown = True
        elif now_s - self._said_s >= 10.0:
            self._said_s = now_s
            say(text.strip())

    def end(self) -> None:
        """Leave its line."""
        if self._shown:
            sys.stderr.write("\n")


def _bench(
    names: list[str] | None, targets_file: Path | None, host: str | None, python: str | None
) -> MeterBench:
    """The meters of the board that was named, or of this machine."""
    from edgebench.run.measuring.meter_recording import MeterBench
    from edgebench.run.targets_file import read_targets

    if names:
        if host is not None or python is not None or len(names) > 1:
            raise UsageError(
                "--target is one board, with its own host and Python", fix="leave --host and --python out"
            )
        [declared] = read_targets(targets_file_setting(targets_file)).named(names)
        host, python = declared.host, declared.python
    return MeterBench(machine(host, python, "".join(names or ())))


def machine(host: str | None, python: str | None, name: str = "") -> Target:
    """The machine whose meters are asked for; UsageError for what is no address."""
    from edgebench.records.target import Launch, Target, check_address

    if host is not None:
        check_address(host)
    return Target(name=name, device="", host=host, launch=Launch(python=python))


def require_meter(meter: str) -> None:
    """UsageError for what is no meter: an unknown kind, or one that only watches."""
    from edgebench import registry

    registry.probe_module(meter.partition(":")[0])
    if registry.is_monitor(meter):
        fix = "name one of `edgebench meters list`"
        raise UsageError(f"{meter} is not a meter: it says nothing about power", fix=fix)


def _unchecked(recording: Recording) -> dict[str, Any]:
    """The fields of `listings.meters.ListedMeter`, of one that was opened for a moment, or cannot be read."""
    from edgebench import registry

    kind = recording.meter.partition(":")[0]
    readable = recording.info is not None
    return {
        "meter": recording.meter,
        "description": registry.probe_description(kind),
        "place": str(getattr(registry.probe_module(kind), "PLACE", "")),
        "rate_hz": registry.rate_hz(kind),
        "readable": readable,
        "reason": "" if readable else recording.reason,
        "fix": "" if readable else recording.fix,
        **recording.access.model_dump(),
    }


def _checked(recording: Recording) -> dict[str, Any]:
    """Fields of `listings.meters.CheckedMeter`, of what it says of itself and the figures of its rails."""
    info, fields = recording.info, _unchecked(recording)
    if info is None:
        return fields
    try:
        recording.require_readings()
    except UnavailableError as error:
        fields |= {"readable": False, "reason": error.why, "fix": error.fix}
    taken = ("rate_hz", "scope", "averaging_ms", "resolution")
    return fields | {
        **{name: getattr(info, name) for name in taken},
        "channels": tuple(channel.name for channel in info.channels),
        "absent": dict(info.absent),
        "rejected": info.rejected,
        "rejected_first": tuple(info.rejected_first),
        "rails": recording.rails(),
    }


def _recorded(recording: Recording, info: ProbeInfo) -> dict[str, Any]:
    """The fields of `report.listings.meters.RecordedMeter`."""
    return {
        "meter": recording.meter,
        "scope": info.scope,
        "duration_s": recording.figures.duration_s,
        "recorded_s": recording.recorded_s,
        "rejected": info.rejected,
        "rails": recording.rails(),
    }
