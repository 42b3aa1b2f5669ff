"""The targets of a run: those that --device makes with its flags, and those of the targets file."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from edgebench import registry
from edgebench.board_catalogue import body_of, with_declared
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.records.session import probe_name
from edgebench.records.target import Launch, Target, check_address, masked_launch
from edgebench.records.values import Json
from edgebench.refusals import refusal
from edgebench.run.meters import with_meters
from edgebench.run.settings import RunConfig
from edgebench.run.targets_file import DeclaredTarget
from edgebench.suggest import choose

# Swept settings: several values of an option, or of the power mode, are a target for each combination.


MAX_COMBINATIONS = 200
"""Of one target's settings: a mistyped sweep is refused before days of measuring are planned."""

POWER_MODE = "power_mode"
_READABLE = re.compile(r"[A-Za-z0-9._+-]{1,32}")
_NOT_READABLE = re.compile(r"[^A-Za-z0-9._+-]+")
# Names of targets are in every report and export: of a path the folders, or a home, may name a user.
_FOLDERS = re.compile(r"(?:.*/)?(?:home|Users)/[^/]+/?$|.*/(?=[^/])", re.DOTALL)


def alternatives(options: Mapping[str, Any], model: type[BaseModel]) -> dict[str, list[Any]]:
    """The values of each declared option: a list sweeps, unless it is empty or the option takes lists.

    `allow-cpu` is `allow_cpu`, as in BackendOptions.
    """
    named = {name.replace("-", "_"): value for name, value in options.items()}
    return {
        name: list(dict.fromkeys(value)) if _sweeps(value, model, name) else [value]
        for name, value in named.items()
    }


def _sweeps(value: Any, model: type[BaseModel], name: str) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(v, str | int | float) for v in value):
        return False
    option = model.model_fields.get(name)
    return option is not None and not _takes_lists(option.annotation)


def _takes_lists(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return kind in (list, tuple, set, frozenset, Sequence) or any(map(_takes_lists, get_args(annotation)))


def combinations(values: Mapping[str, Sequence[Any]], name: str) -> Iterator[dict[str, Any]]:
    """Every combination of the values, the last setting changing fastest; UsageError for too many."""
    count = 1
    for choices in values.values():
        count *= len(choices)
    if count > MAX_COMBINATIONS:
        raise UsageError(
            f"the settings of {name} make {count} combinations",
            why=f"each is a target of its own, and at most {MAX_COMBINATIONS} are taken",
            fix="sweep fewer settings at a time",
        )
    for chosen in itertools.product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def swept(target: Target, settings: Sequence[tuple[Mapping[str, Json], str | None]]) -> tuple[Target, ...]:
    """The target under each of several options and power modes, equal ones once.

    Where they differ, the settings that differ end the name and stand in `settings`; a single one leaves
    the target's name, and so its trials' keys, as they are.
    """
    different: list[tuple[Mapping[str, Json], str | None]] = []
    for candidate in settings:
        if candidate not in different:
            different.append(candidate)
    named = [{**options, POWER_MODE: mode} for options, mode in different]
    differing = [
        setting for setting in named[0] if any(values[setting] != named[0][setting] for values in named)
    ]
    targets = []
    for (options, mode), values in zip(different, named, strict=True):
        variant = replace(target, options=dict(options), power_mode=mode)
        if own := {setting: values[setting] for setting in differing}:
            variant = replace(variant, name=f"{target.name}[{settings_text(own)}]", settings=own)
        targets.append(variant)
    return tuple(targets)


def declared_once(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Each declared target under its first combination of settings, for commands that measure nothing."""
    first: dict[str, Target] = {}
    for target in targets:
        first.setdefault(target.declared_name, target)
    return tuple(replace(target, name=name, settings={}) for name, target in first.items())


def require_unswept(targets: Sequence[Target]) -> Target:
    """The only target, for what takes one; UsageError where settings have several values."""
    if len(targets) > 1:
        raise UsageError(
            f"several values of {', '.join(targets[0].settings)} were given",
            why="this command takes one combination of settings",
            fix="name each setting once; `edgebench run` measures several",
        )
    return targets[0]


def settings_text(settings: Mapping[str, Json]) -> str:
    """Settings as they stand in names: `threads=2,power_mode=MAXN`."""
    return ",".join(f"{name}={_value_text(value)}" for name, value in settings.items())


def _value_text(value: Json) -> str:
    """A value as a part of a name; of a long or unusual one its end, of a path the file's, and a digest."""
    text = _text_of(value)
    if _READABLE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:6]
    end = _NOT_READABLE.sub("-", _FOLDERS.sub("", text, count=1))[-20:].strip("-")
    return f"{end}~{digest}"


def _text_of(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def make_targets(
    backends: Mapping[str, Backend], config: RunConfig, declared: Sequence[DeclaredTarget] = ()
) -> tuple[Target, ...]:
    """One target per device of a configuration, then the declared ones; one per combination of a sweep.

    Args:
        backends: by name, those of the devices and of the declared targets.
        config: its settings of devices, boards, meters, options and power modes. `--set` values go to each
            target whose backend has the option; `--meter` and `--power-mode` override the targets file.
        declared: targets of the targets file.

    Raises:
        UsageError: a setting without "=", an unknown option, a value that does not fit, two targets of one
            name, a host or port for a device that takes none, a power mode to set that is not named or
            cannot be set.
    """
    typed = _typed_values(config, backends)
    names = tuple(dict.fromkeys(config.device))
    _refuse_flags_without_device(names, declared, config)
    targets: list[Target] = []
    for name in names:
        plain = Target(
            name=name,
            device=name,
            launch=Launch(python=config.python),
            meters=_each_once(config.meter),
            host=config.host,
            port=config.port,
            **body_of(config.board),
        )
        plain = with_meters(plain, backends[name], no_meter=config.no_meter)
        targets += _swept(plain, backends[name], {}, typed, config.power_mode)
    for entry in declared:
        backend, launch = backends[entry.device], entry.launch
        plain = Target(
            name=entry.name,
            device=entry.device,
            launch=Launch(entry.python, dict(launch.env), launch.prefix, launch.affinity),
            meters=_each_once(config.meter or entry.meters),
            host=entry.host,
            port=entry.port,
            set_power_mode=entry.set_power_mode,
            **_body_of_entry(entry),
        )
        plain = with_meters(plain, backend, no_meter=config.no_meter)
        modes = config.power_mode or entry.power_modes
        targets += _swept(plain, backend, entry.options, typed, modes)
    if config.set_power_mode:
        if all(target.power_mode is None for target in targets):
            raise UsageError(
                "--set-power-mode does not say which",
                fix="add --power-mode MODE, once for each mode to measure in",
            )
        targets = [replace(target, set_power_mode=target.power_mode is not None) for target in targets]
    aliases = {target.name: (target.name, target.declared_name) for target in targets}
    targets = list(with_declared(targets, config.declared_power, config.declared, aliases))
    seen: set[str] = set()
    for target in targets:
        if target.set_power_mode and not backends[target.device].takes_host:
            raise UsageError(
                f"{target.device} has no board whose power mode could be set",
                fix="leave --set-power-mode (or set_power_mode in the targets file) out",
            )
        if target.name in seen:
            raise UsageError(
                f"two targets of this run are called {target.name!r}",
                fix="leave --device out where --target names the board, or rename it in the targets file",
            )
        seen.add(target.name)
    of_several = "; several devices have theirs in targets.toml, and are named by --target"
    fix = "leave --{} out" + (of_several if len(names) > 1 else "")
    for name in names:
        _refuse_address(backends[name], config.host, config.port, fix)
    for entry in declared:
        address = f"leave the {{}} of target {entry.name!r} out of the targets file"
        _refuse_address(backends[entry.device], entry.host, entry.port, address)
    return tuple(targets)


def _refuse_address(backend: Backend, host: str | None, port: str | None, fix: str) -> None:
    """UsageError for a device that is not reached so; `{}` in the fix becomes `host` or `port`."""
    if host is not None and not backend.takes_host:
        raise UsageError(f"{backend.name} is not reached by SSH", fix=fix.format("host"))
    if port is not None and not backend.takes_port:
        raise UsageError(f"{backend.name} is not at a port", fix=fix.format("port"))


def _swept(
    target: Target,
    backend: Backend,
    declared: Mapping[str, Any],
    typed: Mapping[str, Sequence[str]],
    power_modes: Sequence[str],
) -> tuple[Target, ...]:
    """The target for each combination of its options and power modes; what was typed beats the file."""
    mine = {name: values for name, values in typed.items() if name in backend.options_model.model_fields}
    values = {**alternatives(declared, backend.options_model), **mine}
    places = backend.options_model.places
    for name in sorted(backend.options_model.not_in_key | places):
        if len(values.get(name, ())) > 1:
            raise UsageError(
                f"{name} has several values for {target.name}",
                why="it decides no result: trials that differ in it alone are the same trial",
                fix="name it once",
            )
    options = [
        _options(backend, chosen, {name: chosen[name] for name in mine}, target.name)
        for chosen in combinations(values, target.name)
    ]
    modes = power_modes or (None,)
    target = replace(target, places=tuple(sorted(places)))
    return swept(target, [(chosen, mode) for mode in modes for chosen in options])


def _each_once(meters: Sequence[str]) -> tuple[str, ...]:
    """Meters as they were asked for first: their words decide the keys of trials that are on disk."""
    asked: dict[str, str] = {}
    for meter in meters:
        asked.setdefault(probe_name(meter), meter)
    return tuple(asked.values())


def listed(target: DeclaredTarget) -> dict[str, Any]:
    """A declared target as plain data, with mass, size and power that a run takes and where they are from.

    Its launch is masked, as in every report. `sweeps` has the settings of several values, each combination of
    which is a target of its own. `device_error` says why a run would refuse its device, `body_error` why it
    would take no figures by its board; each is "" where nothing is wrong.
    """
    declared = target.model_dump(mode="json") | {"boot_s": target.boot_s and asdict(target.boot_s.declared)}
    row = {**declared, "launch": masked_launch(declared["launch"]), "body": "", "from_boards": ()}
    row |= {"sweeps": {}, "device_error": "", "body_error": ""}
    try:
        backend = registry.backend(target.device)
        _refuse_address(backend, target.host, target.port, "leave its {} out")
    except EdgeBenchError as error:
        return row | {"device_error": error.one_line}
    settings = {
        **alternatives(target.options, backend.options_model),
        POWER_MODE: dict.fromkeys(target.power_modes),
    }
    row["sweeps"] = {name: list(values) for name, values in settings.items() if len(values) > 1}
    if not target.board:
        return row
    try:
        body = _body_of_entry(target)
    except EdgeBenchError as error:
        return row | {"body_error": error.one_line}
    powers = [asdict(power) for power in body.get("declared_power", ())]
    return (
        row
        | {name: body.get(name) for name in ("mass_g", "size_mm", "body", "from_boards")}
        | {"boot_s": body.get("boot_s") and asdict(body["boot_s"]), "declared_power": powers}
    )


def _body_of_entry(entry: DeclaredTarget) -> dict[str, Any]:
    return body_of(
        entry.board,
        {
            "mass_g": entry.mass_g,
            "size_mm": entry.size_mm,
            "declared_power": tuple(figure.power for figure in entry.declared_power),
            "boot_s": entry.boot_s and entry.boot_s.declared,
        },
    )


def _refuse_flags_without_device(
    devices: Sequence[str], declared: Sequence[DeclaredTarget], config: RunConfig
) -> None:
    flags = {"host": config.host, "port": config.port, "python": config.python}
    for flag, value in flags.items():
        if value is not None and declared and not devices:
            raise UsageError(
                f"--{flag} belongs to --device, and there is none",
                fix=f"a --target takes its {flag} from the targets file",
            )
    if config.board and not devices:
        raise UsageError(
            "--board belongs to --device, and there is none",
            fix="a --target takes its board from the targets file: board = ['NAME']",
        )
    if config.python is not None and (not config.python or config.python.startswith("-")):
        raise UsageError(
            f"--python {config.python!r} is no interpreter", fix="name a path, such as /usr/bin/python3"
        )
    if config.host is not None and devices:
        check_address(config.host)


def _typed_values(config: RunConfig, backends: Mapping[str, Backend]) -> dict[str, list[str]]:
    """The values of each option on the command line, each once, in the order in which they were typed.

    Options with flags of their own override --set. UsageError for an option that no device has.
    """
    known = {name for backend in backends.values() for name in backend.options_model.model_fields}
    values: dict[str, list[str]] = {}
    for setting in config.set:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise UsageError(f"--set {setting!r} is not key=value", fix="write it like --set threads=2")
        chosen = values.setdefault(name.replace("-", "_"), [])
        if value not in chosen:
            chosen.append(value)
    if unknown := sorted(set(values) - known):
        raise UsageError(
            f"--set: no device here has the option {unknown[0]!r}", fix=choose(unknown[0], sorted(known))
        )
    flagged = {"artifact": config.artifact, "build": config.build, "flash": config.flash}
    for name, flag in flagged.items():
        if flag is None or flag is False:
            continue
        if name not in known:
            raise UsageError(
                f"--{name}: no device here has that option",
                why=f"{', '.join(backends)} {'takes' if len(backends) == 1 else 'take'} no {name}",
                fix=f"leave --{name} out; `edgebench devices` lists the options of each device",
            )
        values[name] = ["true" if flag is True else str(flag)]
    return values


def _options(
    backend: Backend, options: Mapping[str, Any], typed: Mapping[str, str], target: str
) -> dict[str, Any]:
    """The options of one combination, validated; those of `typed` came from the command line."""
    try:
        return backend.options_model.model_validate(dict(options)).model_dump(mode="json")
    except ValidationError as error:
        refused = refusal(error, dict(options), backend.options_model)
        name = str(refused.place[0]) if refused.place else ""
        known = ", ".join(backend.options_model.model_fields) or "none"
        if name in typed:
            what = f"--set {name}={typed[name]}: {refused.sentence(skip=1)}"
        elif name:
            at = replace(refused, place=("options", *refused.place))
            what = f"the targets file: target {target!r}: {at.sentence()}"
        else:
            what = f"the options of {target!r}: {refused.sentence()}"
        takes = "" if refused.names_place else f"{backend.name} takes: {known}"
        fix = "; ".join(part for part in (refused.fix, takes, "see `edgebench devices`") if part)
        raise UsageError(what, fix=fix) from error
