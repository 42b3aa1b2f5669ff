"""The settings of a run, each with its origin: flag, environment, project file, user file or default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import MASK
from edgebench.refusals import refusal
from edgebench.run.setting import environment_name
from edgebench.run.settings import RunConfig, run_settings
from edgebench.suggest import choose

PROJECT_FILE = "edgebench.toml"
QUICK = "--quick"
QUICK_SESSIONS = 3
QUICK_PASSES = 3
MIN_SESSIONS = 3
"""An interval takes so many: no rule ends a trial before."""

MOST_SESSIONS = 30
"""The most sessions of a trial whose end a rule decides, where nothing names another number."""

_HOW_MANY_PASSES = frozenset({"passes", "sustained"})
_METERS = frozenset({"meter", "no_meter"})
_ONE_SOURCE = (
    frozenset({"device", "target"}),
    frozenset({"workers", "with_"}),
    _HOW_MANY_PASSES,
    _METERS,
)
"""Settings that say one thing together, so that the first source with any of them says it alone:
`--target nano` does not add to the project's devices, `--passes 5` ends a project's `sustained`."""


@dataclass(frozen=True)
class Resolved:
    """A configuration and the origin of each of its values."""

    config: RunConfig
    origins: Mapping[str, str]

    def as_record(self) -> dict[str, dict[str, Any]]:
        """`{setting: {value, origin}}`, as plain JSON values."""
        values = _adapter().dump_python(self.config, mode="json")
        return {name.rstrip("_"): {"value": values[name], "origin": self.origins[name]} for name in values}


@cache
def _adapter() -> TypeAdapter[RunConfig]:
    return TypeAdapter(with_config(ConfigDict(extra="forbid", allow_inf_nan=False))(RunConfig))


def run_config(values: Mapping[str, Any]) -> RunConfig:
    """The settings of these values and the defaults of all others.

    ValidationError for a value that does not fit: for values that a program puts together.
    """
    return _adapter().validate_python(dict(values))


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
    # What --quick sets beside these flags; a rule among them decides the number of sessions.
    ruled = "target_ci" in typed or bool(typed.get("decide"))
    of_quick = {"passes": QUICK_PASSES} | ({} if ruled else {"sessions": QUICK_SESSIONS})
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("flag", typed),
        (QUICK, of_quick if quick else {}),
        ("environment", _from_environment(env or {})),
        (f"project file {PROJECT_FILE}", project or {}),
        ("user file", user or {}),
    ]
    values: dict[str, Any] = {}
    origins = dict.fromkeys(run_settings(), "default")
    names = {setting.key: name for name, setting in run_settings().items()}
    for origin, given in layers:
        layer = {names.get(key, key): value for key, value in given.items()}
        for name in layer:
            if name not in run_settings():
                raise UsageError(
                    f"the {origin} sets {name!r}, which is no setting",
                    fix=choose(name.replace("-", "_"), run_settings()),
                )
        _refuse_contradictions(layer, origin)
        settled = {name for group in _ONE_SOURCE if not group.isdisjoint(values) for name in group}
        for name, value in layer.items():
            if name not in values and name not in settled:
                values[name] = value
                origins[name] = origin
    try:
        config = run_config(values)
    except ValidationError as error:
        refused = refusal(error, values, RunConfig)
        setting, *rest = refused.place or ("the configuration",)
        name = str(setting)
        origin = origins.get(name, "")
        # Under the name that its source has for it.
        written = environment_name(name) if origin == "environment" else name.rstrip("_")
        written = run_settings()[name].flag if origin == "flag" else written
        raise UsageError(
            replace(refused, place=(written, *rest)).sentence(),
            why=f"it came from the {origin or 'configuration'}",
            fix="; ".join(part for part in (refused.fix, "see `edgebench run --help`") if part),
        ) from error
    if config.adaptive:
        config = _with_most_sessions(config, origins)
    if origins["passes"] == QUICK and (config.patches or 0) > (config.passes or 0):
        # Nobody typed that number: there is a window for each patch that was asked for.
        config = replace(config, passes=config.patches)
        origins["passes"] = f"{QUICK}, raised to patches"
    if config.sustained is not None:
        origins["passes"] = "not used with sustained"
    return Resolved(config, origins)


def _refuse_contradictions(layer: Mapping[str, Any], origin: str) -> None:
    if layer.keys() >= _METERS:
        raise UsageError(
            "meter and no_meter exclude each other",
            why=f"both came from the {origin}",
            fix="leave one of them out",
        )
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
        return replace(config, sessions=MOST_SESSIONS)
    if config.sessions < MIN_SESSIONS:
        raise UsageError(
            f"sessions: {config.sessions} is less than the {MIN_SESSIONS} that an interval takes",
            why=f"it came from the {origins['sessions']}, and target-ci and decide need an interval",
            fix=f"allow at least {MIN_SESSIONS} sessions, or leave the number out: {MOST_SESSIONS}",
        )
    return config


def read_config_files() -> tuple[dict[str, Any], dict[str, Any]]:
    """The project's and the user's settings ({} where there is no such file)."""
    project, user = (
        # os.path's answer is no, and no error, for a folder that may not be read.
        read_toml(path, fix="correct or remove the file").tables if os.path.lexists(path) else {}
        for path in (Path(PROJECT_FILE), Path(platformdirs.user_config_dir("edgebench")) / "config.toml")
    )
    return project, user


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """`EDGEBENCH_SESSIONS=5` and the like; lists are separated by commas."""
    values: dict[str, Any] = {}
    for name, setting in run_settings().items():
        text = env.get(setting.environment)
        if text:
            values[name] = [item.strip() for item in text.split(",")] if setting.is_list else text
    return values


def resolve_from_machine(flags: Mapping[str, Any], *, quick: bool) -> Resolved:
    """`resolve` with this process's environment and the two files."""
    project, user = read_config_files()
    return resolve(flags, quick=quick, env=os.environ, project=project, user=user)


def resolve_stored(record: ExperimentRecord, output_dir: Path) -> Resolved:
    """The configuration that a stored experiment was begun with, for `run --resume` alone.

    Records keep no addresses in their settings. Host and port of a single device come from its target.
    Raises UsageError for other addresses.
    """
    values = {name: setting["value"] for name, setting in record.config.items()}
    target = record.targets[0]
    for name, stored in (("host", target.host), ("port", target.port)):
        if values.get(name) == MASK:
            values[name] = stored
    if masked := [name for name, value in values.items() if MASK in str(value)]:
        raise UsageError(
            f"{record.name} cannot go on by --resume alone",
            why=f"its record keeps no addresses, and {', '.join(masked)} had one",
            fix=f"repeat the command that it was begun with, and --resume: {' '.join(record.command)}",
        )
    names = {setting.key: name for name, setting in run_settings().items()}
    config = run_config({names[key]: value for key, value in values.items()} | {"output_dir": output_dir})
    return Resolved(config, {names[key]: setting["origin"] for key, setting in record.config.items()})


def resolve_one(name: str, flag: Any) -> RunConfig:
    """The configuration for one setting, by its sources; what else they set is not looked at.

    For commands that measure nothing: a mistake elsewhere in a configuration file is not theirs. UsageError
    where the setting itself is bad.
    """
    files = [{key: value for key, value in file.items() if key == name} for file in read_config_files()]
    env = {key: value for key, value in os.environ.items() if key == environment_name(name)}
    return resolve({name: flag}, env=env, project=files[0], user=files[1]).config
