"""The targets of a run: those that --device makes with its flags, and those of the targets file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.plan.bodies import assemble
from edgebench.plan.targets_file import DeclaredTarget
from edgebench.refusals import refusal
from edgebench.suggest import choose
from edgebench.vocabulary.address import check_address
from edgebench.vocabulary.launch_secrets import masked_launch
from edgebench.vocabulary.probe import probe_name
from edgebench.vocabulary.target import Launch, Target


def make_targets(
    backends: Mapping[str, Backend],
    settings: Sequence[str],
    meters: Sequence[str],
    *,
    devices: Sequence[str] | None = None,
    declared: Sequence[DeclaredTarget] = (),
    host: str | None = None,
    port: str | None = None,
    python: str | None = None,
    power_mode: str | None = None,
    boards: Sequence[str] = (),
) -> tuple[Target, ...]:
    """One target a device, then the declared ones.

    Args:
        backends: by name, those of the devices and of the declared targets.
        settings: `key=value`; each target takes those that its backend's options model knows.
        meters: of every target; a declared target keeps its own where this is empty.
        devices: names of backends; None for all of `backends`.
        declared: targets of the targets file.
        host: where the targets of `devices` are; None for this machine.
        port: at which the targets of `devices` are; None where their backends find them.
        python: of the targets of `devices`.
        power_mode: of every target; a declared target keeps its own where this is None.
        boards: what the targets of `devices` are made of, by their backend's names.

    Raises:
        UsageError: a setting without "=", one that no backend knows, a value that does not fit, a name
            that two targets share, a host for a device that is not reached by SSH, a
            port for one that is at none.
    """
    pairs = dict(_split_setting(setting) for setting in settings)
    _refuse_unknown_settings(pairs, backends)
    names = tuple(backends if devices is None else dict.fromkeys(devices))
    _refuse_flags_without_device(names, declared, host=host, port=port, python=python)
    if boards and not names:
        raise UsageError(
            "--board belongs to --device, and there is none",
            fix="a --target takes its board from the targets file: board = ['NAME']",
        )
    if host is not None:
        check_address(host)
    targets = [
        Target(
            name=name,
            device=name,
            options=_options(backends[name], {}, pairs, ""),
            launch=Launch(python=python),
            power_mode=power_mode,
            meters=_each_once(meters),
            host=host,
            port=port,
            **body_of(boards, backends[name], None, None),
        )
        for name in names
    ]
    targets += [_from_file(one, backends[one.device], pairs, meters, power_mode) for one in declared]
    seen: set[str] = set()
    for target in targets:
        if target.name in seen:
            raise UsageError(
                f"two targets of this run are called {target.name!r}",
                fix="leave --device out where --target names the board, or rename it in the targets file",
            )
        seen.add(target.name)
        if target.host is not None and not backends[target.device].takes_host:
            raise UsageError(
                f"{target.device} is not reached by SSH", fix=f"leave the host of {target.name} out"
            )
        if target.port is not None and not backends[target.device].takes_port:
            raise UsageError(f"{target.device} is not at a port", fix=f"leave the port of {target.name} out")
    return tuple(targets)


def _from_file(
    one: DeclaredTarget,
    backend: Backend,
    pairs: Mapping[str, str],
    meters: Sequence[str],
    power_mode: str | None,
) -> Target:
    return Target(
        name=one.name,
        device=one.device,
        options=_options(backend, one.options, pairs, one.name),
        launch=Launch(one.python, dict(one.launch.env), one.launch.prefix, one.launch.affinity),
        power_mode=power_mode or one.power_mode,
        meters=_each_once(meters or one.meters),
        host=one.host,
        port=one.port,
        **body_of(one.board, backend, one.mass_g, one.size_mm),
    )


def _each_once(meters: Sequence[str]) -> tuple[str, ...]:
    """Meters as they were asked for first: their words decide the keys of trials that are on disk."""
    asked: dict[str, str] = {}
    for meter in meters:
        asked.setdefault(probe_name(meter), meter)
    return tuple(asked.values())


def listed(target: DeclaredTarget) -> dict[str, Any]:
    """A declared target as plain data, with the mass and size that a run takes and where they are from.

    Its launch is masked, as in every report. `device_error` says why a run would refuse its device,
    `body_error` why it would take no mass and size by its board; each is "" where nothing is wrong.
    """
    declared = target.model_dump(mode="json")
    row = {**declared, "launch": masked_launch(declared["launch"]), "body": "", "from_boards": ()}
    row |= {"device_error": "", "body_error": ""}
    try:
        backend = registry.backend(target.device)
    except EdgeBenchError as error:
        return row | {"device_error": _said(error)}
    if not target.board:
        return row
    try:
        body = body_of(target.board, backend, target.mass_g, target.size_mm)
    except EdgeBenchError as error:
        return row | {"body_error": _said(error)}
    return row | {name: body[name] for name in ("mass_g", "size_mm", "body", "from_boards")}


def _said(error: EdgeBenchError) -> str:
    return "; ".join(part for part in (error.what, error.why, error.fix) if part)


def body_of(
    boards: Sequence[str],
    backend: Backend,
    mass_g: float | None,
    size_mm: tuple[float, float, float] | None,
) -> dict[str, Any]:
    """Mass and size as they were declared, else those of the boards, with where they are from.

    They are fields of a Target. UsageError for a board that there is not.
    """
    declared = {"mass_g": mass_g, "size_mm": size_mm}
    if not boards:
        return declared
    assembly = assemble(boards, backend)
    added = {"mass_g": assembly.mass_g, "size_mm": assembly.size_mm}
    from_boards = tuple(
        name for name, figure in added.items() if declared[name] is None and figure is not None
    )
    return {
        **declared,
        **{name: added[name] for name in from_boards},
        "body": assembly.sources,
        "boards": assembly.machines,
        "from_boards": from_boards,
    }


def _refuse_flags_without_device(
    devices: Sequence[str],
    declared: Sequence[DeclaredTarget],
    *,
    host: str | None,
    port: str | None,
    python: str | None,
) -> None:
    for flag, value in (("--host", host), ("--port", port), ("--python", python)):
        if value is not None and declared and not devices:
            raise UsageError(
                f"{flag} belongs to --device, and there is none",
                fix=f"a --target takes its {flag.strip('-')} from the targets file",
            )
    if python is not None and (not python or python.startswith("-")):
        raise UsageError(
            f"--python {python!r} is no interpreter", fix="name a path, such as /usr/bin/python3"
        )


def _split_setting(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--set {setting!r} is not key=value", fix="write it like --set threads=2")
    return name.strip().replace("-", "_"), value.strip()


def _refuse_unknown_settings(pairs: Mapping[str, str], backends: Mapping[str, Backend]) -> None:
    known = {name for backend in backends.values() for name in backend.options_model.model_fields}
    if unknown := set(pairs) - known:
        raise UsageError(
            f"--set: no device here has the option {sorted(unknown)[0]!r}",
            fix=choose(sorted(unknown)[0], sorted(known)),
        )


def _options(
    backend: Backend, declared: Mapping[str, Any], pairs: Mapping[str, str], target: str
) -> dict[str, Any]:
    mine = {name: value for name, value in pairs.items() if name in backend.options_model.model_fields}
    try:
        return backend.options_model.model_validate({**declared, **mine}).model_dump(mode="json")
    except ValidationError as error:
        refused = refusal(error, {**declared, **mine}, backend.options_model)
        name = str(refused.place[0]) if refused.place else ""
        known = ", ".join(backend.options_model.model_fields) or "none"
        if name in mine:
            what = f"--set {name}={mine[name]}: {refused.sentence(skip=1)}"
        elif name:
            at = replace(refused, place=("options", *refused.place))
            what = f"the targets file: target {target!r}: {at.sentence()}"
        else:
            what = f"the options of {target!r}: {refused.sentence()}"
        takes = "" if refused.names_place else f"{backend.name} takes: {known}"
        fix = "; ".join(part for part in (refused.fix, takes, "see `edgebench devices`") if part)
        raise UsageError(what, fix=fix) from error
