"""The settings of a run, each with its origin: flag, environment, project file, user file or default."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from edgebench.errors import UsageError
from edgebench.plan.amounts import duration_s, share
from edgebench.refusals import problem, refusal
from edgebench.suggest import choose
from edgebench.toml_files import read_toml

PROJECT_FILE = "edgebench.toml"
QUICK = "--quick"
QUICK_SESSIONS = 3
QUICK_PASSES = 3
MIN_SESSIONS = 3
"""An interval takes so many: no rule ends a trial before."""

MOST_SESSIONS = 30
"""The most sessions of a trial whose end a rule decides, where nothing names another number."""

_LISTS = (
    "device",
    "depth",
    "precision",
    "batch",
    "profile",
    "meter",
    "set",
    "target",
    "model",
    "width",
    "input_shape",
    "board",
    "power_mode",
)

_HOW_MANY_PASSES = frozenset({"passes", "sustained"})
_ONE_SOURCE = (frozenset({"device", "target"}), _HOW_MANY_PASSES)
"""Settings that say one thing together, so that the first source with any of them says it alone:
`--target nano` does not add to the project's devices, `--passes 5` ends a project's `sustained`."""


def _listed(value: Any) -> Any:
    """A single text as a list of one."""
    return [value] if isinstance(value, str) else value


class RunConfig(BaseModel):
    """Everything that `edgebench run` can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    targets_file: Path | None = None
    host: str | None = None
    port: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    python: str | None = None
    power_mode: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    board: tuple[str, ...] = ()  # what the devices are made of, by their backend's names
    artifact: Path | None = None  # a file that is compiled already, or a folder of them
    model: tuple[str, ...] = ()
    width: tuple[float, ...] = ()
    labels: Path | None = None
    layout: Literal["NHWC", "NCHW"] | None = None
    input_scale: tuple[float, ...] | None = None
    input_mean: tuple[float, ...] | None = None
    input_shape: tuple[str, ...] = ()
    inputs: Path | None = None
    calibration: Path | None = None
    depth: tuple[float, ...] = ()
    precision: tuple[str, ...] = ()
    batch: tuple[int, ...] = ()  # empty: each device's own
    profile: tuple[str, ...] = ()
    meter: tuple[str, ...] = ()
    telemetry: bool = True
    set: tuple[str, ...] = ()
    scene: Path | None = None
    patch: tuple[int, int] | None = None  # width, height
    stride: int | None = Field(None, ge=1, le=100_000)
    whole: bool = False
    images: Path | None = None
    sessions: int = Field(5, ge=1, le=1000)  # at most so many with target_ci or decide
    target_ci: Annotated[float | None, BeforeValidator(share)] = None  # half-width of image_s, as its share
    decide: bool = False
    max_time: Annotated[float | None, BeforeValidator(duration_s)] = None  # seconds
    passes: int = Field(10, ge=1, le=100_000)
    period: float | None = Field(None, gt=0, le=86_400, allow_inf_nan=False)  # seconds
    sustained: float | None = Field(None, gt=0, le=10_080, allow_inf_nan=False)  # minutes
    retries: int = Field(1, ge=0, le=100)
    seed: int = Field(7, ge=0)
    output_dir: Path = Path("results")
    name: str | None = None

    @field_validator("input_scale", "input_mean", mode="before")
    @classmethod
    def _one_or_three(cls, value: Any) -> Any:
        return _numbers(value, float, ",", (1, 3), "one number, or three with commas between them")

    @field_validator("patch", mode="before")
    @classmethod
    def _width_by_height(cls, value: Any) -> Any:
        return _numbers(value, int, "x", (2,), "WIDTHxHEIGHT, such as 224x224")

    @field_validator("input_scale", "input_mean", "patch")
    @classmethod
    def _in_range(cls, value: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        if value is not None:
            least = {"input_scale": 1e-9, "patch": 1}.get(str(info.field_name), -1e9)
            if not all(math.isfinite(one) and least <= one <= 1e9 for one in value):
                raise ValueError(f"a number is out of range ({least:g} to 1e+09)")
        return value

    @field_validator("target_ci")
    @classmethod
    def _part_of_the_value(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value < 1:
            fix = "write a share above 0% and below 100%, such as 1% or 0.01"
            raise problem(f"{100 * value:g}% is out of range", fix)
        return value

    @field_validator("max_time")
    @classmethod
    def _up_to_a_year(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value <= 31_536_000:
            raise problem(
                f"{value:g} s is out of range", "write more than 0, at most 365d, such as 30m or 1h30m"
            )
        return value

    @field_validator("batch")
    @classmethod
    def _batch_in_range(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not all(batch >= 1 for batch in value):
            raise problem(f"a batch of {min(value)} patches is none", "write 1 or more")
        return value

    @property
    def names_variants(self) -> bool:
        """Whether models, widths, precisions or batches were named: one that cannot be made is an error."""
        return bool(self.model or self.depth or self.width or self.precision) or self.batch not in ((), (1,))

    @property
    def adaptive(self) -> bool:
        """Whether a rule ends a trial, with `sessions` as the most."""
        return self.target_ci is not None or self.decide


def _numbers(
    value: Any, kind: Callable[[str], float], between: str, counts: tuple[int, ...], said: str
) -> Any:
    """Text of a flag or the environment as numbers; lists of a file as they are."""
    if not isinstance(value, str | list | tuple):
        return value if value is None else (value,)
    parts = value.lower().split(between) if isinstance(value, str) else list(value)
    try:
        found = tuple(kind(str(part).strip()) for part in parts)
    except ValueError:
        raise ValueError(f"write {said}") from None
    if len(found) not in counts:
        raise ValueError(f"write {said}")
    return found


@dataclass(frozen=True)
class Resolved:
    """A configuration and the origin of each of its values."""

    config: RunConfig
    origins: Mapping[str, str]

    def as_record(self) -> dict[str, dict[str, Any]]:
        """`{setting: {value, origin}}`, as plain JSON values."""
        values = self.config.model_dump(mode="json")
        return {name: {"value": values[name], "origin": self.origins[name]} for name in values}


def resolve(
    flags: Mapping[str, Any],
    *,
    quick: bool = False,
    env: Mapping[str, str] | None = None,
    project: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
) -> Resolved:
    """The configuration from all sources, the first that names a setting wins; UsageError if it is bad.

    A flag that is None or an empty list was not given. `quick` stands for flags of sessions and passes: it
    yields to those flags themselves, and beats the environment and the files. Where a rule ends the trials
    (target_ci, decide) the default of sessions is the most that it may take.
    """
    typed = {name: value for name, value in flags.items() if value is not None and value != []}
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("flag", typed),
        (QUICK, _of_quick(typed) if quick else {}),
        ("environment", _from_environment(env or {})),
        (f"project file {PROJECT_FILE}", project or {}),
        ("user file", user or {}),
    ]
    values: dict[str, Any] = {}
    origins = dict.fromkeys(RunConfig.model_fields, "default")
    for origin, layer in layers:
        _require_known(layer, origin)
        _refuse_passes_and_sustained(layer, origin)
        settled = {name for group in _ONE_SOURCE if not group.isdisjoint(values) for name in group}
        for name, value in layer.items():
            if name not in values and name not in settled:
                values[name] = value
                origins[name] = origin
    try:
        config = RunConfig.model_validate(values)
    except ValidationError as error:
        refused = refusal(error, values, RunConfig)
        setting, *rest = refused.place or ("the configuration",)
        name = str(setting)
        raise UsageError(
            replace(refused, place=(_as_written(name, origins.get(name, "")), *rest)).sentence(),
            why=f"it came from the {origins.get(name, 'configuration')}",
            fix="; ".join(part for part in (refused.fix, "see `edgebench run --help`") if part),
        ) from error
    if config.adaptive:
        config = _with_most_sessions(config, origins)
    if config.sustained is not None:
        origins["passes"] = "not used with sustained"
    return Resolved(config, origins)


def _as_written(name: str, origin: str) -> str:
    """A setting under the name that its source has for it."""
    if origin == "environment":
        return f"EDGEBENCH_{name.upper()}"
    return f"--{name.replace('_', '-')}" if origin == "flag" else name


def _of_quick(typed: Mapping[str, Any]) -> dict[str, int]:
    """What --quick sets beside these flags; a rule among them decides the number of sessions."""
    passes = {"passes": QUICK_PASSES}
    ruled = "target_ci" in typed or bool(typed.get("decide"))
    return passes if ruled else {"sessions": QUICK_SESSIONS, **passes}


def _require_known(layer: Mapping[str, Any], origin: str) -> None:
    for name in layer:
        if name not in RunConfig.model_fields:
            raise UsageError(
                f"the {origin} sets {name!r}, which is no setting",
                fix=choose(name.replace("-", "_"), RunConfig.model_fields),
            )


def _refuse_passes_and_sustained(layer: Mapping[str, Any], origin: str) -> None:
    if layer.keys() >= _HOW_MANY_PASSES:
        raise UsageError(
            "passes and sustained exclude each other",
            why=f"both came from the {origin}; passes is a number of steady passes, sustained goes on for "
            "some minutes, however many passes that takes",
            fix="leave one of them out",
        )


def _with_most_sessions(config: RunConfig, origins: dict[str, str]) -> RunConfig:
    """The configuration of a run whose trials a rule ends; UsageError for fewer than an interval takes."""
    if origins["sessions"] == "default":
        rule = "target-ci" if config.target_ci is not None else "decide"
        origins["sessions"] = f"default with {rule}"
        return config.model_copy(update={"sessions": MOST_SESSIONS})
    if config.sessions < MIN_SESSIONS:
        raise UsageError(
            f"sessions: {config.sessions} is less than the {MIN_SESSIONS} that an interval takes",
            why=f"it came from the {origins['sessions']}, and target-ci and decide need an interval",
            fix=f"allow at least {MIN_SESSIONS} sessions, or leave the number out: {MOST_SESSIONS}",
        )
    return config


def read_config_files() -> tuple[dict[str, Any], dict[str, Any]]:
    """The project's and the user's settings ({} where there is no such file)."""
    user_file = Path(platformdirs.user_config_dir("edgebench")) / "config.toml"
    return _read_toml(Path(PROJECT_FILE)), _read_toml(user_file)


def _read_toml(path: Path) -> dict[str, Any]:
    # os.path's answer is no, and no error, for a folder that may not be read.
    return read_toml(path, fix="mend or remove the file").tables if os.path.lexists(path) else {}


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """`EDGEBENCH_SESSIONS=5` and the like; lists are separated by commas."""
    found: dict[str, Any] = {}
    for name in RunConfig.model_fields:
        text = env.get(f"EDGEBENCH_{name.upper()}")
        if text:
            found[name] = [part.strip() for part in text.split(",")] if name in _LISTS else text
    return found


def resolve_from_machine(flags: Mapping[str, Any], *, quick: bool) -> Resolved:
    """`resolve` with this process's environment and the two files."""
    project, user = read_config_files()
    return resolve(flags, quick=quick, env=os.environ, project=project, user=user)


def resolve_one(name: str, flag: Any) -> RunConfig:
    """The configuration of which one setting counts, by its sources; what else they set is not looked at.

    For commands that measure nothing: a mistake elsewhere in a configuration file is not theirs. UsageError
    where the setting itself is bad.
    """
    files = [{key: value for key, value in file.items() if key == name} for file in read_config_files()]
    env = {key: value for key, value in os.environ.items() if key == f"EDGEBENCH_{name.upper()}"}
    return resolve({name: flag}, env=env, project=files[0], user=files[1]).config
