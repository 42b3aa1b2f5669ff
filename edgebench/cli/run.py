"""`edgebench run`: measure variants on devices and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import (
    ArtifactOption,
    BoardOption,
    DeviceOption,
    HostOption,
    JsonOption,
    OutputDirOption,
    PortOption,
    PowerModeOption,
    ProfileOption,
    PythonOption,
    StrictOption,
    TargetOption,
    TargetsFileOption,
    read_profiles,
    stderr,
    stdout,
)
from edgebench.cli.model_options import (
    CalibrationOption,
    InputMeanOption,
    InputScaleOption,
    InputShapeOption,
    InputsOption,
    LabelsOption,
    LayoutOption,
    ModelOption,
    WidthOption,
)


def run(
    device: DeviceOption = None,
    target: TargetOption = None,
    targets_file: TargetsFileOption = None,
    host: HostOption = None,
    port: PortOption = None,
    python: PythonOption = None,
    power_mode: PowerModeOption = None,
    board: BoardOption = None,
    artifact: ArtifactOption = None,
    model: ModelOption = None,
    width: WidthOption = None,
    depth: Annotated[
        list[str] | None,
        typer.Option(
            "--depth", metavar="A", help="Depth multiplier: 0.25, 0.5 or 1.0. Repeatable. Default: all"
        ),
    ] = None,
    precision: Annotated[
        list[str] | None,
        typer.Option(
            "--precision", metavar="P", help="fp32, fp16 or int8. Repeatable. Default: what the device takes"
        ),
    ] = None,
    batch: Annotated[
        list[str] | None,
        typer.Option("--batch", metavar="N", help="Patches in one inference. Repeatable. Default: 1"),
    ] = None,
    profile: ProfileOption = None,
    scene: Annotated[
        Path | None,
        typer.Option("--scene", metavar="FILE", help="The picture that is timed. Default: the shipped one"),
    ] = None,
    patch: Annotated[
        str | None,
        typer.Option(
            "--patch",
            metavar="WxH",
            help="How the scene is cut; resized on the device, by the nearest pixel, to the model's input; "
            "what is left over at the edges is not classified. Default: that input's size",
        ),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option("--stride", metavar="N", help="Pixels from patch to patch. Default: side by side"),
    ] = None,
    whole: Annotated[
        bool | None, typer.Option("--whole", help="The scene as one patch, resized on the device.")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="DIR|CSV",
            help="Pictures for accuracy: a folder a class, a CSV of paths and labels, or a folder without "
            "labels; turned upright (EXIF) and resized (bilinear) beforehand. Default: the shipped test set",
        ),
    ] = None,
    labels: LabelsOption = None,
    layout: LayoutOption = None,
    input_scale: InputScaleOption = None,
    input_mean: InputMeanOption = None,
    input_shape: InputShapeOption = None,
    inputs: InputsOption = None,
    calibration: CalibrationOption = None,
    meter: Annotated[
        list[str] | None,
        typer.Option("--meter", metavar="KIND[:ADDRESS]", help="A power meter, such as rapl. Repeatable."),
    ] = None,
    telemetry: Annotated[
        bool | None,
        typer.Option(
            "--telemetry/--no-telemetry",
            help="Clocks, temperatures, throttling and load beside every session, once a second. Default: on",
        ),
    ] = None,
    sessions: Annotated[
        str | None,
        typer.Option(
            "--sessions",
            metavar="N",
            help="Fresh processes a trial. Default: 5; with --target-ci or --decide at most so many, and 30",
        ),
    ] = None,
    target_ci: Annotated[
        str | None,
        typer.Option(
            "--target-ci",
            metavar="SHARE",
            help="End a trial when the half-width of image_s' 95 % interval is so small: 1% or 0.01",
        ),
    ] = None,
    decide: Annotated[
        bool | None,
        typer.Option(
            "--decide/--no-decide",
            help="End a trial when every verdict of the --profile that can be settled is settled. "
            "With --target-ci whichever comes first",
            show_default=False,
        ),
    ] = None,
    max_time: Annotated[
        str | None,
        typer.Option(
            "--max-time",
            metavar="TIME",
            help="Start no session after so much measuring: 30m, 90s, 1h30m, or a number of seconds",
        ),
    ] = None,
    passes: Annotated[
        str | None,
        typer.Option(
            "--passes",
            metavar="N",
            help="Steady passes a session. Default: 10",
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            metavar="S",
            help="A scene every S seconds, as a camera delivers. Default: back to back",
        ),
    ] = None,
    sustained: Annotated[
        str | None,
        typer.Option(
            "--sustained",
            metavar="MIN",
            help="Steady passes for MIN minutes a session, in place of --passes",
        ),
    ] = None,
    retries: Annotated[
        str | None,
        typer.Option(
            "--retries",
            metavar="N",
            help="How often a failed session is repeated. Default: 1",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="--sessions 3 --passes 3, where these flags, --target-ci, --decide and --sustained leave "
            "them open",
        ),
    ] = False,
    output_dir: OutputDirOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the result folder. Default: the time"),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="N", help="Seed of the order of sessions. Default: 7")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the device, such as threads=2. Repeatable; an option that is named "
            "several times is swept: a target for each combination",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the trials and how long they will take.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished run of the same trials.")
    ] = False,
    strict: StrictOption = False,
    json_: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="More progress.")] = False,
) -> None:
    """Measure models on devices, and judge them against profiles.

    Without --model: the variants of MobileNet v1 that come with EdgeBench.
    Each trial (a variant on a device) is measured in several fresh processes.
    The figures and verdicts are printed, and kept in a folder with report.html.

    How many processes is said by --sessions, or decided on the way: until an
    interval is narrow enough (--target-ci) or a verdict is certain (--decide).

    A device is this machine's, or a board's with --host; boards with names,
    launch settings, mass and size stand in targets.toml (--target).

    Exit codes: 0 done, 1 error, 2 usage, 3 a requirement is not met,
    4 undecided (--strict), 5 some trials failed, or a model, depth or precision
    that was named is not supported, 130 interrupted (129 by a terminal that
    hangs up, 143 by SIGTERM).
    """
    from edgebench.cache.objects import Cache
    from edgebench.cache.use import using
    from edgebench.cli.outcome import conclude, print_plan, say_forecast
    from edgebench.measure.campaign import Campaign
    from edgebench.measure.progress import SilentObserver, StderrObserver, warnings_noted
    from edgebench.plan.config import resolve_from_machine
    from edgebench.plan.planner import build
    from edgebench.store.experiment import require_writable
    from edgebench.store.layout import check_name

    flags = {
        "device": device,
        "target": target,
        "targets_file": targets_file,
        "host": host,
        "port": port,
        "python": python,
        "power_mode": power_mode,
        "board": board,
        "artifact": artifact,
        "model": model,
        "width": width,
        "labels": labels,
        "layout": layout,
        "input_scale": input_scale,
        "input_mean": input_mean,
        "input_shape": input_shape,
        "inputs": inputs,
        "calibration": calibration,
        "depth": depth,
        "precision": precision,
        "batch": batch,
        "profile": profile,
        "scene": scene,
        "patch": patch,
        "stride": stride,
        "whole": whole,
        "images": images,
        "meter": meter,
        "telemetry": telemetry,
        "sessions": sessions,
        "target_ci": target_ci,
        "decide": decide,
        "max_time": max_time,
        "passes": passes,
        "period": period,
        "sustained": sustained,
        "retries": retries,
        "output_dir": output_dir,
        "name": name,
        "seed": seed,
        "set": set_,
    }
    resolved = resolve_from_machine(flags, quick=quick)
    profiles = read_profiles(resolved.config.profile)
    observer = SilentObserver() if quiet else StderrObserver(stderr(), verbose=verbose)
    cache = Cache()
    if resolved.config.name is not None:
        check_name(resolved.config.name)
    if not dry_run and not resume:
        require_writable(resolved.config.output_dir)
    with using(cache):
        with warnings_noted(observer):
            built = build(resolved.config, cache, observer.note)
        if dry_run:
            print_plan(stdout(), built, cache, json_=json_)
            return
        say_forecast(observer, built, cache)
        campaign = Campaign(
            built=built,
            resolved=resolved,
            profiles=tuple(profile.as_record() for profile in profiles),
            command=command_line(),
            resume=resume,
            cache=cache,
            observer=observer,
        )
        with warnings_noted(observer):
            try:
                folder, outcome = campaign.carry_out()
            finally:
                observer.close()
    conclude(folder, outcome, profiles, strict=strict, json_=json_)


def command_line() -> tuple[str, ...]:
    """The command as it was typed, with the program's bare name."""
    import sys

    return ("edgebench", *sys.argv[1:])
