"""What targets are made of: what boards weigh, measure and draw by their makers; sticks with their hosts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.plan.board_catalogue import read_board, shipped_boards
from edgebench.suggest import nearest, short
from edgebench.vocabulary.declared_power import KINDS, DeclaredPower, PowerKind
from edgebench.vocabulary.target import Body, DeclaredBoard

Size = tuple[float, float, float]


@dataclass(frozen=True)
class Assembly:
    """Of a target: the figures that all its parts have, in words what they add up from, and its machines."""

    mass_g: float | None
    size_mm: Size | None
    power: tuple[DeclaredPower, ...]
    sources: str
    machines: tuple[DeclaredBoard, ...]


def known_bodies(backend: Backend | None = None) -> dict[str, Body]:
    """The boards of the catalogue and the backend's own, by name; the backend's come first.

    Without a backend those of all that are installed.
    """
    backends = [backend] if backend else []
    if backend is None:
        for name in registry.names("edgebench.backends"):
            with suppress(EdgeBenchError):  # one that cannot be loaded hides no other's boards
                backends.append(registry.backend(name))
    known = dict(shipped_boards())
    for each in backends:
        known |= each.bodies()
    return known


def known_body(name: str, backend: Backend | None = None) -> Body:
    """The board of that name, or the one in that TOML file; UsageError where there is none."""
    if name.endswith(".toml"):
        return read_board(Path(name))
    known = known_bodies(backend)
    if name in known:
        return known[name]
    of_device = f" for {backend.name}" if backend else ""
    raise UsageError(
        f"there is no board {short(name)}{of_device}",
        fix=f"{nearest(name, sorted(known))}`edgebench boards list` names all; or name a TOML file "
        "with a board of your own, or write mass_g and size_mm into the targets file",
    )


def assemble(names: Sequence[str], backend: Backend | None = None) -> Assembly:
    """The sum of some boards; UsageError as `known_body`.

    Masses are added, and so are powers of one kind. The size is that of a box in which the parts lie on each
    other, each on its largest face. A figure that one part lacks is lacking for all, and power is that of a
    target as a whole: sticks without a host have none.
    """
    bodies = [known_body(name, backend) for name in names]
    masses = [body.mass_g for body in bodies]
    sizes = [body.size_mm for body in bodies]
    sources = " + ".join(_described(body) for body in bodies)
    lacking = [body.title for body in bodies if body.mass_g is None]
    if lacking:
        sources += f"; no mass: no source gives that of {', '.join(lacking)} (mass_g in the targets file)"
    unsized = [body.title for body in bodies if body.size_mm is None]
    if unsized:
        sources += f"; no size: no source gives that of {', '.join(unsized)} (size_mm in the targets file)"
    elif len(bodies) > 1:
        sources += "; the size is of the parts lying on each other"
    without_host = all(body.plugged_in for body in bodies)
    if without_host and any(body.power for body in bodies):
        sources += "; no declared power: it is that of a target as a whole, and no host is among these"
    for kind in () if without_host else KINDS:
        silent = [body.title for body in bodies if not _power_of(body, kind)]
        if 0 < len(silent) < len(bodies):
            sources += (
                f"; no {kind} power: no source gives that of {', '.join(silent)} "
                "(declared_power in the targets file)"
            )
    return Assembly(
        sum(mass for mass in masses if mass is not None) if not lacking else None,
        _stacked([size for size in sizes if size is not None]) if not unsized else None,
        () if without_host else tuple(power for kind in KINDS for power in _added_power(bodies, kind)),
        sources,
        tuple(DeclaredBoard(body.title, body.models) for body in bodies if not body.plugged_in),
    )


def _power_of(body: Body, kind: PowerKind) -> list[DeclaredPower]:
    return [power for power in body.power if power.kind == kind]


def _added_power(bodies: Sequence[Body], kind: PowerKind) -> list[DeclaredPower]:
    """The sum of that kind, of bodies that all have one; none otherwise."""
    powers = [(body.title, power) for body in bodies for power in _power_of(body, kind)]
    if len(powers) < len(bodies):
        return []
    source = " + ".join(f"{title}: {power.watts:g} W, {power.source}" for title, power in powers)
    return [DeclaredPower(math.fsum(power.watts for _, power in powers), kind, source)]


def _described(body: Body) -> str:
    mass = "mass not known" if body.mass_g is None else f"{body.mass_g:g} g"
    size = (
        "size not known" if body.size_mm is None else " x ".join(f"{side:g}" for side in body.size_mm) + " mm"
    )
    sources = "; ".join(text for text in (body.source, body.note) if text)
    return f"{body.title} ({mass}, {size}{f': {sources}' if sources else ''})"


def _stacked(sizes: Sequence[Size]) -> Size:
    turned = [sorted(size, reverse=True) for size in sizes]
    return (
        max(size[0] for size in turned),
        max(size[1] for size in turned),
        sum(size[2] for size in turned),
    )
