"""A variant: a model at a depth multiplier and a precision, and its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgebench.errors import UsageError

DEPTH_MULTIPLIERS = (0.25, 0.5, 1.0)
PRECISIONS = ("fp32", "fp16", "int8")
FAMILY = "mobilenet_v1"
_NAME = re.compile(
    r"(?P<family>[A-Za-z0-9_.-]{1,100}?)(?:-(?P<depth>\d{1,2}\.\d{1,4}))?-(?P<precision>[a-z0-9]{1,16})"
)


@dataclass(frozen=True)
class Variant:
    """One model at one precision, named like `mobilenet_v1-0.25-int8` or `tower-1a2b3c4d-fp32`.

    `depth_multiplier` is None for a model that comes in one width only.
    """

    depth_multiplier: float | None
    precision: str
    family: str = FAMILY

    @property
    def name(self) -> str:
        """The name used in tables, folders and on the command line."""
        return f"{self.model}-{self.precision}"

    @property
    def model(self) -> str:
        """The name without the precision."""
        depth = "" if self.depth_multiplier is None else f"-{self.depth_multiplier}"
        return f"{self.family}{depth}"

    @classmethod
    def parse(cls, name: str) -> Variant:
        """The variant that `name` stands for; UsageError when it is not such a name."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(f"{name!r} is not a variant", fix="write it like mobilenet_v1-0.25-int8")
        depth = None if match["depth"] is None else float(match["depth"])
        return cls(depth, match["precision"], match["family"])
