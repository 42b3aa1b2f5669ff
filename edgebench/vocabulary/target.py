"""What is measured, as it was declared: a target, how its workers start, what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from edgebench.vocabulary.declared_conditions import DeclaredBoot, DeclaredTemperature
from edgebench.vocabulary.declared_power import DeclaredPower, PowerKind
from edgebench.vocabulary.values import Json

BoardFigure = Literal["mass_g", "size_mm", "declared_power", "boot_s", "temperature_c"]
BOARD_FIGURES: Mapping[str, str] = {
    "mass_g": "mass",
    "size_mm": "size",
    "declared_power": "declared power",
    "boot_s": "boot time",
    "temperature_c": "temperature range",
}
"""What the boards of a target may bring, with its word."""


@dataclass(frozen=True)
class Launch:
    """How a worker process is started; part of the settings and of a trial's key."""

    python: str | None = None  # None: the interpreter that runs the harness
    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()  # for instance ("nice", "-n", "-5")
    affinity: tuple[int, ...] = ()  # CPU numbers; empty: wherever the system puts it


@dataclass(frozen=True)
class DeclaredBoard:
    """A machine that a target was declared to be, so that what it says of itself can be held against it.

    Attributes:
        title: what it is called by its maker.
        models: what its device tree or DMI calls it, without a revision; empty where no source tells.
    """

    title: str
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What is measured, as it was declared: a backend with its options, meters and body.

    `settings` are those of its options, and its power mode, in which it differs from the other targets of a
    sweep; its name then ends with them: `cpu[threads=2]`.
    """

    name: str
    device: str
    options: Mapping[str, Json] = field(default_factory=dict)  # validated by the backend's options model
    launch: Launch = field(default_factory=Launch)
    power_mode: str | None = None
    set_power_mode: bool = False  # whether its board is put into it, else it has to be there already
    meters: tuple[str, ...] = ()  # KIND[:ADDRESS], as asked for
    preferred_meters: tuple[str, ...] = ()  # its backend's, where none was asked for: the first readable one
    mass_g: float | None = None
    size_mm: tuple[float, float, float] | None = None
    declared_power: tuple[DeclaredPower, ...] = ()  # at most one of each kind, of the target as a whole
    boot_s: DeclaredBoot | None = None
    temperature_c: DeclaredTemperature | None = None
    host: str | None = None  # user@board[:port], reached by SSH; None: this machine
    port: str | None = None  # of this machine, such as /dev/ttyACM0; None: where its backend finds the device
    body: str = ""  # where its boards' figures are from
    boards: tuple[DeclaredBoard, ...] = ()  # the machines among what it is made of
    from_boards: tuple[BoardFigure, ...] = ()  # which figures are the boards', not its own
    settings: Mapping[str, Json] = field(default_factory=dict)
    places: tuple[str, ...] = ()  # options that say where its board is

    @property
    def declared_name(self) -> str:
        """The name without the settings of a sweep: what a target of these settings alone is called."""
        return self.name.partition("[")[0] if self.settings else self.name

    @property
    def connection(self) -> Target:
        """What an open device depends on: targets of equal connections differ in options at most.

        Options reach the device with each session, unless they say where it is; what was declared of it does
        not.
        """
        places = {name: self.options[name] for name in self.places if name in self.options}
        undeclared: Any = {"declared_power": (), "boot_s": None, "temperature_c": None}
        return replace(self, name="", options=places, settings={}, **undeclared)


BODY_FACTS: Mapping[str, str] = {
    "processor": "processor",
    "memory": "memory",
    "mass_g": "mass",
    "size_mm": "size",
    "supply": "power supply",
    "boot_s": "boot time",
    "temperature_c": "temperature range",
    "runtime": "runtime",
}
"""What is known of a body beside its power, with its word."""


@dataclass(frozen=True)
class Body:
    """One thing that a target is made of, and what is known of it: None or "" where no source was at hand.

    Attributes:
        title: what it is called by its maker.
        mass_g, size_mm: without case, cooler and power supply.
        source: of the facts that `sources` does not have.
        models: what its device tree or DMI calls it, without a revision; empty where no source tells.
        plugged_in: a stick or card, whose host is a body of its own.
        power: what it draws, at most one figure of each kind, without what is plugged into it; empty where no
            source was at hand.
        processor, memory, runtime: in words; the runtime is the one that its maker names.
        supply: the power supply that its maker asks for, in words. Its rating bounds nothing that is drawn.
        boot_s: from power on until a program can be started.
        boot_kind: `maximum` where the source says that it never takes longer.
        temperature_c: the ambient temperatures, lowest and highest, at which it works.
        sources: of a fact, by its name in `BODY_FACTS`.
        note: why some of it is not known, or what else has to be known of it.
    """

    title: str
    mass_g: float | None
    size_mm: tuple[float, float, float] | None
    source: str
    models: tuple[str, ...] = ()
    plugged_in: bool = False
    power: tuple[DeclaredPower, ...] = ()
    processor: str = ""
    memory: str = ""
    supply: str = ""
    boot_s: float | None = None
    boot_kind: PowerKind = "typical"
    temperature_c: tuple[float, float] | None = None
    runtime: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def source_of(self, fact: str) -> str:
        """Where a fact of that name is from."""
        return self.sources.get(fact, self.source)
