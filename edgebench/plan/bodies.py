"""What targets are made of: what boards weigh, measure and draw by their makers; sticks with their hosts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.contract import Backend
from edgebench.errors import UsageError
from edgebench.suggest import choose
from edgebench.vocabulary.declared_power import KINDS, DeclaredPower, PowerKind
from edgebench.vocabulary.target import Body, DeclaredBoard

Size = tuple[float, float, float]

_PI_SIZE: Size = (85.0, 56.0, 17.0)
_PI = "mechanical drawing of its maker; the height is that of the USB and Ethernet sockets"

HOSTS: Mapping[str, Body] = {
    "raspberry-pi-3b": Body(
        "Raspberry Pi 3 Model B",
        45.0,
        _PI_SIZE,
        f"{_PI}; mass by Wikidata, Q25519213",
        models=("Raspberry Pi 3 Model B",),
    ),
    "raspberry-pi-3b-plus": Body(
        "Raspberry Pi 3 Model B+", None, _PI_SIZE, _PI, models=("Raspberry Pi 3 Model B Plus",)
    ),
    "raspberry-pi-4b": Body(
        "Raspberry Pi 4 Model B",
        46.0,
        _PI_SIZE,
        f"{_PI}; mass as weighed by G. Halfacree, Medium, June 2019",
        models=("Raspberry Pi 4 Model B",),
    ),
    "raspberry-pi-5": Body("Raspberry Pi 5", None, _PI_SIZE, _PI, models=("Raspberry Pi 5 Model B",)),
}
"""Hosts that sticks and cards are plugged into, without case, cooler and power supply."""


@dataclass(frozen=True)
class Assembly:
    """Of a target: the figures that all its parts have, in words what they add up from, and its machines."""

    mass_g: float | None
    size_mm: Size | None
    power: tuple[DeclaredPower, ...]
    sources: str
    machines: tuple[DeclaredBoard, ...]


def assemble(names: Sequence[str], backend: Backend) -> Assembly:
    """The sum of some boards; UsageError for a name that neither the backend nor `HOSTS` has.

    Masses are added, and so are powers of one kind. The size is that of a box in which the parts lie on each
    other, each on its largest face. A figure that one part lacks is lacking for all.
    """
    known = {**HOSTS, **backend.bodies()}
    bodies = [_known(name, known, backend) for name in names]
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
    for kind in KINDS:
        silent = [body.title for body in bodies if not _power_of(body, kind)]
        if 0 < len(silent) < len(bodies):
            sources += (
                f"; no {kind} power: no source gives that of {', '.join(silent)} "
                "(declared_power in the targets file)"
            )
    return Assembly(
        sum(mass for mass in masses if mass is not None) if not lacking else None,
        _stacked([size for size in sizes if size is not None]) if not unsized else None,
        tuple(power for kind in KINDS for power in _added_power(bodies, kind)),
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


def _known(name: str, known: Mapping[str, Body], backend: Backend) -> Body:
    if name in known:
        return known[name]
    raise UsageError(
        f"there is no board {name!r} for {backend.name}",
        fix=f"{choose(name, sorted(known))}; or write mass_g and size_mm into the targets file",
    )


def _described(body: Body) -> str:
    mass = "mass not known" if body.mass_g is None else f"{body.mass_g:g} g"
    size = (
        "size not known" if body.size_mm is None else " x ".join(f"{side:g}" for side in body.size_mm) + " mm"
    )
    return f"{body.title} ({mass}, {size}: {body.source})"


def _stacked(sizes: Sequence[Size]) -> Size:
    turned = [sorted(size, reverse=True) for size in sizes]
    return (
        max(size[0] for size in turned),
        max(size[1] for size in turned),
        sum(size[2] for size in turned),
    )
