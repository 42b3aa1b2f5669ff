"""Swept settings: several values of an option, or of the power mode, are a target for each combination."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from edgebench.errors import UsageError
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

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
    return tuple(
        _as_swept(
            replace(target, options=dict(options), power_mode=mode),
            {setting: values[setting] for setting in differing},
        )
        for (options, mode), values in zip(different, named, strict=True)
    )


def _as_swept(target: Target, settings: Mapping[str, Json]) -> Target:
    if not settings:
        return target
    return replace(target, name=f"{target.name}[{settings_text(settings)}]", settings=dict(settings))


class Connection(NamedTuple):
    """A declared target as it is opened, in one power mode, and its combinations of options."""

    target: Target
    swept: tuple[Target, ...]


def connections(targets: Sequence[Target]) -> tuple[Connection, ...]:
    """One for each declared target and power mode, for commands that measure nothing."""
    swept: dict[str, list[Target]] = {}
    for target in targets:
        swept.setdefault(_of_any_options(target).name, []).append(target)
    return tuple(Connection(_of_any_options(alike[0]), tuple(alike)) for alike in swept.values())


def _of_any_options(target: Target) -> Target:
    mode = {name: value for name, value in target.settings.items() if name == POWER_MODE}
    return _as_swept(replace(target, name=target.declared_name, settings={}), mode)


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


def whole_settings_text(settings: Mapping[str, Json]) -> str:
    """Settings with whole values, however long, as a table's cell has them: `delegate=~/lib/x.so`."""
    return ",".join(f"{name}={_text_of(value)}" for name, value in settings.items())


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
