"""Facts as TOML files state them, each with where it is from: boot time and temperatures.

Written like `boot_s = { value = 21.5, kind = "maximum", source = "its data sheet" }`.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from edgebench.plan.power_declarations import LONGEST_SOURCE
from edgebench.refusals import form, problem
from edgebench.vocabulary.declared_conditions import (
    COLDEST_C,
    HOTTEST_C,
    LONGEST_BOOT_S,
    DeclaredBoot,
    DeclaredTemperature,
)
from edgebench.vocabulary.declared_power import PowerKind

Word = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        json_schema_extra=form("write text of 1 to 1000 characters in quotes, without control characters"),
    ),
]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_BOOT_S, strict=True)]
Celsius = Annotated[float, Field(gt=COLDEST_C, lt=HOTTEST_C, strict=True)]
Value = TypeVar("Value")

BOOT_FORM = "boot_s = { value = 21.5, source = 'its data sheet' }, with kind = 'maximum' where it says so"
TEMPERATURE_FORM = (
    "temperature_c = { value = [0.0, 50.0], source = 'its data sheet' }, in °C, the lower one first"
)


class Stated(BaseModel, Generic[Value]):
    """A fact with where it is from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: Value
    source: Annotated[Word, Field(max_length=LONGEST_SOURCE)]


class StatedBoot(Stated[Seconds]):
    """A boot time; `kind` is maximum where its source says that it never takes longer."""

    kind: PowerKind = "typical"

    @property
    def declared(self) -> DeclaredBoot:
        """The same in the vocabulary's words."""
        return DeclaredBoot(self.value, self.kind, self.source)


class StatedTemperature(Stated[tuple[Celsius, Celsius]]):
    """The ambient temperatures at which something works, lowest and highest."""

    @field_validator("value")
    @classmethod
    def _in_order(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] >= value[1]:
            raise problem("the first temperature is not the lower one", "write the lower one first")
        return value

    @property
    def declared(self) -> DeclaredTemperature:
        """The same in the vocabulary's words."""
        return DeclaredTemperature(*self.value, self.source)
