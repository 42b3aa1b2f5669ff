"""A variant: a model at a depth multiplier and a precision, and its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgebench.errors import UsageError

DEPTH_MULTIPLIERS = (0.25, 0.5, 1.0)
PRECISIONS = ("fp32", "fp16", "int8")
FAMILY = "mobilenet_v1"
_NAME = re.compile(r"(?P<family>[a-z0-9_]+)-(?P<depth>\d+(?:\.\d+)?)-(?P<precision>[a-z0-9]+)")


@dataclass(frozen=True, order=True)
class Variant:
    """One model at one precision, named like `mobilenet_v1-0.25-int8`."""

    depth_multiplier: float
    precision: str
    family: str = FAMILY

    @property
    def name(self) -> str:
        """The name used in tables, folders and on the command line."""
        return f"{self.family}-{self.depth_multiplier}-{self.precision}"

    @classmethod
    def parse(cls, name: str) -> Variant:
        """The variant that `name` stands for; UsageError when it is not such a name."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(f"{name!r} is not a variant", fix="write it like mobilenet_v1-0.25-int8")
        return cls(float(match["depth"]), match["precision"], match["family"])
