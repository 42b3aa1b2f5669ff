"""Backends and probes by name, found through entry points: nothing imports a backend by hand."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import cast

from edgebench.contract import Backend
from edgebench.errors import UnavailableError, UsageError
from edgebench.installed import name_of, points_of, warn_once, with_relative_imports
from edgebench.suggest import choose

_WORDS = {"edgebench.backends": "device", "edgebench.probes": "meter"}
HOST = "host"
"""The PLACE of a probe that samples on this machine and not on the board."""


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    # EdgeBench's own names stay its own; of other packages the first on Python's path has the name.
    for point in sorted(points_of(group), key=lambda point: not point.value.startswith("edgebench.")):
        first = points.setdefault(point.name, point)
        if first.value != point.value:
            owners = f"{name_of(point.dist)} is left out: {name_of(first.dist)} has one of that name"
            warn_once(f"the {_WORDS[group]} {point.name!r} of {owners}")
    return points


def names(group: str) -> list[str]:
    """The names registered under `edgebench.backends` or `edgebench.probes`, sorted."""
    return sorted(_points(group))


def loadable(group: str) -> list[str]:
    """Those of `names` that can be loaded; each other one is left out with a warning."""
    loaded = []
    for name in names(group):
        try:
            _load(group, name)
        except UnavailableError as error:
            warn_once(f"{error.what}: {error.why}; it is left out ({error.fix})")
        else:
            loaded.append(name)
    return loaded


def _load(group: str, name: str) -> object:
    """A probe's module or a new backend; what a plug-in raises there ends no other's work."""
    what = _WORDS[group]
    point = _points(group).get(name)
    if point is None:
        raise UsageError(f"there is no {what} {name!r}", fix=choose(name, names(group)))
    try:
        loaded = cast(object, point.load())
        return loaded() if group == "edgebench.backends" and callable(loaded) else loaded
    except (Exception, SystemExit) as error:
        raise UnavailableError(
            f"the {what} {name!r} cannot be loaded",
            why=f"{type(error).__name__}: {error}",
            fix=f"reinstall or remove the package that brings it: {name_of(point.dist)}",
        ) from error


def backend(name: str) -> Backend:
    """The backend of that name; UsageError if it does not exist."""
    instance = _load("edgebench.backends", name)
    if not isinstance(instance, Backend):
        raise UnavailableError(f"the entry point {name!r} is not an EdgeBench backend", why=repr(instance))
    return instance


def probe_module(kind: str) -> ModuleType:
    """The device-side module or package of a probe kind; UsageError if it does not exist."""
    module = _load("edgebench.probes", kind)
    if not isinstance(module, ModuleType):
        raise UnavailableError(f"the entry point {kind!r} is not a probe module", why=repr(module))
    return module


def probe_files(module: ModuleType) -> tuple[Path, ...]:
    """What travels to where a probe samples: its module's file, or every file of its package, __init__ first.

    Behind them those that they take in by relative imports.

    Raises:
        UnavailableError: the module is no file.
    """
    if module.__file__ is None:
        raise UnavailableError(
            f"the probe {module.__name__} is no file",
            why="it is sent to the board",
            fix="register one module, or a package with an __init__.py",
        )
    entry = Path(module.__file__)
    own = entry.parent.rglob("*.py") if hasattr(module, "__path__") else ()
    return with_relative_imports((entry, *sorted(path for path in own if path != entry)))


def probe_description(kind: str) -> str:
    """What a kind of probe is, in one line."""
    return ((probe_module(kind).__doc__ or "").strip().splitlines() or [""])[0]


def is_monitor(name: str) -> bool:
    """Whether a probe `kind:address` only watches: its module says MONITOR; False for an unknown one."""
    kind = name.partition(":")[0]
    is_registered = kind in _points("edgebench.probes")
    return is_registered and bool(getattr(probe_module(kind), "MONITOR", False))


def rate_hz(kind: str) -> float | None:
    """How many samples a second a meter means to take, without opening it; None where its address decides."""
    stated = getattr(probe_module(kind), "RATE_HZ", None)
    return None if stated is None else float(stated)


def samples_on_host(name: str) -> bool:
    """Whether a probe `kind:address` samples on this machine, by its PLACE; False for an unknown one."""
    kind = name.partition(":")[0]
    is_registered = kind in _points("edgebench.probes")
    return is_registered and getattr(probe_module(kind), "PLACE", None) == HOST
