"""What targets are made of: what boards weigh, measure and draw by their makers; sticks with their hosts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.plan.board_catalogue import read_board, shipped_boards
from edgebench.suggest import nearest, short
from edgebench.vocabulary.declared_conditions import DeclaredBoot, DeclaredTemperature
from edgebench.vocabulary.declared_power import KINDS, DeclaredPower, PowerKind
from edgebench.vocabulary.target import Body, DeclaredBoard

Size = tuple[float, float, float]


@dataclass(frozen=True)
class Assembly:
    """Of a target: the figures that all its parts have, in words what they add up from, and its machines."""

    mass_g: float | None
    size_mm: Size | None
    power: tuple[DeclaredPower, ...]
    boot_s: DeclaredBoot | None
    temperature_c: DeclaredTemperature | None
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
    other, each on its largest face. The temperatures are those at which all work, and the boot time is the
    longest of a machine: what is plugged in boots with its host. A figure that one part lacks is lacking for
    all, and power is that of a target as a whole: sticks without a host have none.
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
    temperature, boot = _common_temperature(bodies), _longest_boot(bodies)
    for figure, word in (("temperature_c", "temperature range"), ("boot_s", "boot time")):
        of = bodies if figure == "temperature_c" else [body for body in bodies if not body.plugged_in]
        silent = [body.title for body in of if getattr(body, figure) is None]
        if 0 < len(silent) < len(of):
            sources += (
                f"; no {word}: no source gives that of {', '.join(silent)} ({figure} in the targets file)"
            )
        elif not silent and figure == "temperature_c" and temperature is None:
            sources += "; no temperature range: at no temperature do all parts work by their sources"
    return Assembly(
        sum(mass for mass in masses if mass is not None) if not lacking else None,
        _stacked([size for size in sizes if size is not None]) if not unsized else None,
        () if without_host else tuple(power for kind in KINDS for power in _added_power(bodies, kind)),
        boot,
        temperature,
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


def _common_temperature(bodies: Sequence[Body]) -> DeclaredTemperature | None:
    """At what all of them work; None where one does not say, or there is no such temperature."""
    ranges = [body.temperature_c for body in bodies if body.temperature_c is not None]
    if len(ranges) < len(bodies):
        return None
    low_c, high_c = max(low for low, _ in ranges), min(high for _, high in ranges)
    if len(bodies) == 1:
        return DeclaredTemperature(low_c, high_c, bodies[0].source_of("temperature_c"))
    parts = zip(bodies, ranges, strict=True)
    source = " + ".join(
        f"{body.title}: {low:g} to {high:g} °C, {body.source_of('temperature_c')}"
        for body, (low, high) in parts
    )
    return DeclaredTemperature(low_c, high_c, source) if low_c < high_c else None


def _longest_boot(bodies: Sequence[Body]) -> DeclaredBoot | None:
    """Of the machines among them, all of which say; a maximum only where it is one of all of them."""
    machines = [body for body in bodies if not body.plugged_in]
    boots = [
        DeclaredBoot(body.boot_s, body.boot_kind, body.source_of("boot_s"))
        for body in machines
        if body.boot_s is not None
    ]
    if not boots or len(boots) < len(machines):
        return None
    longest = max(boots, key=lambda boot: boot.seconds)
    return replace(longest, kind="maximum" if all(boot.kind == "maximum" for boot in boots) else "typical")


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
