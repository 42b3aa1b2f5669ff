"""What a data sheet or a label states of a target that nothing here measures: boot time and temperatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edgebench.vocabulary.declared_power import PowerKind

LONGEST_BOOT_S = 86400.0
COLDEST_C, HOTTEST_C = -273.15, 1000.0

Source = Annotated[str, Field(min_length=1, max_length=4000)]
Celsius = Annotated[float, Field(ge=COLDEST_C, lt=HOTTEST_C)]


@dataclass(frozen=True)
class DeclaredBoot:
    """How long a target takes from power on until a program can be started, by its source's word.

    Attributes:
        seconds: the time.
        kind: `maximum`, which it never exceeds, or `typical`, for whatever else the source says.
        source: where it is from.
    """

    seconds: Annotated[float, Field(gt=0, le=LONGEST_BOOT_S)]
    kind: PowerKind
    source: Source

    def __str__(self) -> str:
        return f"declared {self.kind} boot time of {self.seconds:g} s ({self.source})"


@dataclass(frozen=True)
class DeclaredTemperature:
    """The ambient temperatures at which a target works, by its source's word: from `low_c` to `high_c`."""

    low_c: Celsius
    high_c: Celsius
    source: Source

    def __str__(self) -> str:
        return f"declared temperature range of {self.low_c:g} to {self.high_c:g} °C ({self.source})"
