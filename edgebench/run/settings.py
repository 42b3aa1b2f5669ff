"""The settings of `edgebench run`, each declared once: the one place where a setting is added.

From a declaration come its flag and help (edgebench/cli/common.py), its key in edgebench.toml, its
environment variable, its validation (edgebench/run/config.py) and its line in docs/settings.md.
Imports nothing heavy: the command line's help is made of it. For the same reason its annotations are no texts
(`from __future__ import annotations`), each of which would be compiled whenever a command starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from edgebench.records.values import SESSIONS_LIMIT, ResizeMode
from edgebench.run import setting as setting_values
from edgebench.run.setting import (
    DeclaredSetting,
    Panel,
    Setting,
    SettingBounds,
    declared_settings,
    environment_name,
)
from edgebench.suggest import nearest

WHAT: Panel = "What is measured"
DEVICE: Panel = "On what device"
HOW_LONG: Panel = "For how long"
PICTURES: Panel = "Pictures and model"
OUTPUT: Panel = "Results and output"
PANELS: tuple[Panel, ...] = (WHAT, DEVICE, HOW_LONG, PICTURES, OUTPUT)
MOST_WORKERS = 64
OTHER_VARIABLES = (
    "BOARD_DIR", "BOARD_LOCK", "BOARD_ROOT", "CACHE_DIR", "CPU_QUOTA", "DEBUG", "LOCK_WAIT_S",
    "RECONNECT_S", "RESULTS", "RKNN_PYTHON", "RUN_TOKEN", "SESSION_NUMBER", "SPAWNED_NS", "SSH_CONFIG",
    "STAGE_TIMEOUT_S", "TEST_ARM", "TEST_CLOCK", "TEST_ROOT", "TFLM", "WORKER", "WORKER_PID",
)  # fmt: skip
"""Environment variables EDGEBENCH_... that are no settings of a run."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that `edgebench run` can be asked for; see the declarations for units and forms."""

    model: Annotated[
        tuple[str, ...],
        Setting(
            WHAT,
            "A family's name or a file: .tflite, .onnx, .xml, .keras, SavedModel folder, weights (.npz).",
            "FILE|NAME",
            "mobilenet_v1",
            short="-m",
        ),
    ] = ()
    width: Annotated[tuple[float, ...], Setting(WHAT, "Width of a family, like --depth.", "A")] = ()
    depth: Annotated[tuple[float, ...], Setting(WHAT, "Depth multiplier: 0.25, 0.5 or 1.0.", "A", "all")] = ()
    precision: Annotated[
        tuple[str, ...], Setting(WHAT, "fp32, fp16 or int8.", "P", "what the device takes")
    ] = ()
    batch: Annotated[
        tuple[int, ...],
        Setting(WHAT, "Patches in one inference.", "N", "the device's, often 1", read=setting_values.batches),
    ] = ()
    artifact: Annotated[
        Path | None,
        Setting(
            WHAT,
            "A model that the device's own compiler made, or a folder of them.",
            "FILE|DIR",
        ),
    ] = None
    workers: Annotated[
        Annotated[int, SettingBounds(ge=2, le=MOST_WORKERS)] | None,
        Setting(WHAT, "Workers that measure each variant at once.", "N", "1"),
    ] = None
    with_: Annotated[
        tuple[str, ...],
        Setting(
            WHAT,
            "A further worker's variant, such as '1.0 int8'.",
            "VARIANT",
        ),
    ] = ()
    share: Annotated[
        tuple[Literal["naive", "cores"], ...],
        Setting(
            WHAT,
            "Cores of several workers: naive (no limits) or cores (an equal part each). Repeatable; each "
            "value makes a target.",
            "HOW",
            "naive",
        ),
    ] = ()
    meter: Annotated[
        tuple[str, ...],
        Setting(
            WHAT,
            "A power meter, KIND[:ADDRESS], such as rapl (`edgebench meters list`).",
            "METER",
            "the device's or the targets file's, if any",
            completion="meter",
        ),
    ] = ()
    no_meter: Annotated[bool, Setting(WHAT, "No power meter, even of the device or the targets file.")] = (
        False
    )
    telemetry: Annotated[
        bool,
        Setting(
            WHAT,
            "Clocks, temperatures, throttling and load, once a second.",
            default_text="on",
            switch_off=True,
        ),
    ] = True

    device: Annotated[
        tuple[str, ...],
        Setting(DEVICE, "What is measured (`edgebench devices`).", "NAME", short="-d", completion="device"),
    ] = ()
    target: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "A board of the targets file (`edgebench targets list`). Repeatable; combines with --device.",
            "NAME",
            short="-t",
            completion="target",
        ),
    ] = ()
    targets_file: Annotated[
        Path | None,
        Setting(
            DEVICE,
            "Where --target looks.",
            "FILE",
            "./targets.toml, or the user's",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        Setting(
            DEVICE,
            "A fleet's scheduler, such as tcp://127.0.0.1:8786, for --target.",
            "ADDRESS",
        ),
    ] = None
    insecure: Annotated[bool, Setting(DEVICE, "A scheduler elsewhere without TLS.")] = False
    host: Annotated[
        str | None,
        Setting(DEVICE, "SSH address of --device: USER@BOARD[:PORT].", "ADDRESS", "this machine"),
    ] = None
    port: Annotated[
        Annotated[str, SettingBounds(min_length=1, max_length=1000)] | None,
        Setting(
            DEVICE,
            "Port of --device, such as /dev/ttyACM0.",
            "PORT",
            completion="port",
        ),
    ] = None
    python: Annotated[
        str | None,
        Setting(DEVICE, "Python 3.6 or newer there.", "PATH", "python3 on a board", read=None),
    ] = None
    board: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "The board of --device (mass, size, power), such as coral-usb.",
            "NAME",
            completion="board",
        ),
    ] = ()
    declared_power: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "Power that decides if no meter does: 9.5:maximum:'its label'.",
            "POWER",
        ),
    ] = ()
    declared: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "Mass, size or boot time, such as mass_g:180:weighed.",
            "FIGURE",
        ),
    ] = ()
    set: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "An option of the device, such as threads=2. Repeatable; each value makes a target.",
            "KEY=VALUE",
            completion="option",
        ),
    ] = ()
    build: Annotated[bool, Setting(DEVICE, "Build the device's firmware first.")] = False
    flash: Annotated[bool, Setting(DEVICE, "Flash the device's firmware first.")] = False
    power_mode: Annotated[
        tuple[str, ...],
        Setting(
            DEVICE,
            "The nvpmodel mode (number or name) that the board must be in. Repeatable: trials of other modes "
            "fail until the board is in theirs and the run is resumed.",
            "MODE",
            read=lambda value: value if isinstance(value, list | tuple) else [value],
        ),
    ] = ()
    set_power_mode: Annotated[
        bool,
        Setting(
            DEVICE,
            "Set each --power-mode by nvpmodel, pin the clocks by jetson_clocks, restore both at the end. "
            "Requires sudo without a password for both. Never reboots.",
        ),
    ] = False

    sessions: Annotated[
        int,
        SettingBounds(ge=1, le=SESSIONS_LIMIT),
        Setting(
            HOW_LONG,
            "Fresh processes per trial.",
            "N",
            "5; with --target-ci or --decide at most 30",
        ),
    ] = 5
    passes: Annotated[
        Annotated[int, SettingBounds(ge=1, le=100_000)] | None,
        Setting(
            HOW_LONG,
            "Steady passes (or windows) per session; more if a slow meter needs them.",
            "N",
            "the device's, 10 or 5",
        ),
    ] = None
    patches: Annotated[
        Annotated[int, SettingBounds(ge=1, le=1_000_000)] | None,
        Setting(
            HOW_LONG,
            "Patches of the scene, for devices that measure windows or a part of it.",
            "N",
            "the device's",
        ),
    ] = None
    target_ci: Annotated[
        float | None,
        Setting(
            HOW_LONG,
            "End a trial when the half-width of its image_s interval (infer_s of windows) is this share of "
            "the value: 1% or 0.01; not before 12 sessions",
            "SHARE",
            read=setting_values.target_ci,
        ),
    ] = None
    decide: Annotated[
        bool,
        Setting(
            HOW_LONG,
            "End a trial when all verdicts of --profile that can be settled are settled; before 12 sessions "
            "only with margins above 10 %.",
            switch_off=True,
        ),
    ] = False
    max_time: Annotated[
        float | None,
        Setting(
            HOW_LONG,
            "Start no session after this time: 30m, 90s, 1h30m, or seconds.",
            "TIME",
            read=setting_values.max_time_s,
        ),
    ] = None
    period: Annotated[
        float | None,
        SettingBounds(gt=0, le=86_400),
        Setting(HOW_LONG, "A scene every S seconds, as a camera delivers.", "S", "back to back"),
    ] = None
    sustained: Annotated[
        float | None,
        SettingBounds(gt=0, le=10_080),
        Setting(HOW_LONG, "Steady passes for MIN minutes per session, instead of --passes.", "MIN"),
    ] = None
    retries: Annotated[
        int,
        SettingBounds(ge=0, le=100),
        Setting(HOW_LONG, "How often a failed session is repeated.", "N", "1"),
    ] = 1
    seed: Annotated[
        int,
        SettingBounds(ge=0),
        Setting(HOW_LONG, "Seed for the order of sessions and for --accuracy-images.", "N", "7"),
    ] = 7

    scene: Annotated[
        Path | None, Setting(PICTURES, "The picture that is timed.", "FILE", "the shipped one")
    ] = None
    patch: Annotated[
        tuple[int, int] | None,
        Setting(
            PICTURES,
            "Size of the patches that the scene is cut into; the device resizes them to the model's input by "
            "the nearest pixel.",
            "WxH",
            "the input's size",
            read=setting_values.patch_size,
        ),
    ] = None
    stride: Annotated[
        int | None,
        SettingBounds(ge=1, le=100_000),
        Setting(PICTURES, "Pixels from patch to patch.", "N", "the patch's size"),
    ] = None
    whole: Annotated[bool, Setting(PICTURES, "The scene as one patch, resized on the device.")] = False
    images: Annotated[
        Path | None,
        Setting(
            PICTURES,
            "Pictures for accuracy: a folder per class, a CSV of paths and labels, or an unlabelled folder.",
            "DIR|CSV",
            "the shipped test set",
        ),
    ] = None
    resize: Annotated[
        ResizeMode,
        Setting(
            PICTURES,
            "Resize pictures: stretch, crop (middle, as PyTorch) or pad.",
            "MODE",
            "stretch",
        ),
    ] = "stretch"
    crop_share: Annotated[
        Annotated[float, SettingBounds(gt=0, le=1)] | None,
        Setting(
            PICTURES,
            "Share that a crop keeps.",
            "SHARE",
            "0.875",
            read=setting_values.share,
        ),
    ] = None
    accuracy_images: Annotated[
        Annotated[int, SettingBounds(ge=1, le=10_000_000)] | None,
        Setting(
            PICTURES,
            "Use N of --images or labelled --inputs, evenly per class.",
            "N",
            "the device's, often all",
        ),
    ] = None
    skip_unreadable: Annotated[
        bool,
        Setting(PICTURES, "Go on without pictures that cannot be read; the report counts them."),
    ] = False
    inputs: Annotated[
        Path | None,
        Setting(
            PICTURES,
            "Inputs for a model that takes no picture: a .npz or .npy files, one array per input, with "
            "`labels` for accuracy; or a CSV of files and labels.",
            "DIR|FILE",
            "random ones",
        ),
    ] = None
    calibration: Annotated[
        Path | None,
        Setting(
            PICTURES,
            "Pictures (a folder or CSV) or inputs (as --inputs) for int8 calibration, none of them tested.",
            "DIR",
        ),
    ] = None
    labels: Annotated[
        Path | None, Setting(PICTURES, "The model's classes, one name a line, in order.", "FILE")
    ] = None
    label_offset: Annotated[
        Annotated[int, SettingBounds(ge=-1_000, le=1_000)] | None,
        Setting(
            PICTURES,
            "Added to labels that are class numbers; 1 for models whose class 0 is the background.",
            "N",
        ),
    ] = None
    layout: Annotated[
        Literal["NHWC", "NCHW"] | None,
        Setting(PICTURES, "NHWC or NCHW, if the input's shape is ambiguous.", "L"),
    ] = None
    input_scale: Annotated[
        tuple[float, ...] | None,
        Setting(
            PICTURES,
            "A pixel p becomes (p - mean) / scale; one number, or one per channel.",
            "S[,S,S]",
            "read from the model, else -1..1",
            read=setting_values.input_scale,
        ),
    ] = None
    input_mean: Annotated[
        tuple[float, ...] | None,
        Setting(
            PICTURES,
            "The mean of --input-scale.",
            "M[,M,M]",
            "0 if only a scale is given",
            read=setting_values.input_mean,
        ),
    ] = None
    input_shape: Annotated[
        tuple[str, ...],
        Setting(
            PICTURES,
            "An input's shape if the model leaves it open, batch included.",
            "[NAME=]N,N",
            "1 per side",
        ),
    ] = ()

    keep_state: Annotated[
        bool,
        Setting(
            PICTURES,
            "Samples are a stream in order: a .tflite keeps its state.",
            default_text="reset before each inference",
        ),
    ] = False

    profile: Annotated[
        tuple[str, ...],
        Setting(
            OUTPUT,
            "A requirement profile: a name (`edgebench profiles list`) or a TOML file.",
            "P",
            short="-p",
            completion="profile",
        ),
    ] = ()
    output_dir: Annotated[
        Path,
        Setting(OUTPUT, "Folder where results go; created if missing.", "DIR", "results", short="-o"),
    ] = Path("results")
    name: Annotated[str | None, Setting(OUTPUT, "Name of the result folder.", "NAME", "the time in UTC")] = (
        None
    )

    @property
    def names_variants(self) -> bool:
        """Return True if models, widths, precisions or batches were named, and must be made."""
        return bool(self.model or self.depth or self.width or self.precision) or self.batch not in ((), (1,))

    @property
    def adaptive(self) -> bool:
        """Return True if a rule ends a trial, with `sessions` as the most."""
        return self.target_ci is not None or self.decide


@cache
def run_settings() -> Mapping[str, DeclaredSetting]:
    """The settings of a run by name."""
    return declared_settings(RunConfig)


def unknown_variables(environment: Iterable[str]) -> dict[str, str]:
    """Names `EDGEBENCH_...` that nothing reads, each with the nearest known names as a question, or ""."""
    prefix = environment_name("")
    unknown = {name.removeprefix(prefix) for name in environment if name.startswith(prefix)}
    unknown -= {*OTHER_VARIABLES, ""}
    if not unknown:
        return {}
    known = [setting.environment.removeprefix(prefix) for setting in run_settings().values()]
    known += OTHER_VARIABLES
    return {
        f"{prefix}{name}": nearest(name, known).replace(" '", f" '{prefix}").strip()
        for name in sorted(unknown.difference(known))
    }
