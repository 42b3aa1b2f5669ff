"""Counting of a model's operations, multiply-accumulates and precision, whatever its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from edgebench.vocabulary.model_facts import Precision, Shape


class Malformed(ValueError):
    """The file contradicts itself; the message says how."""


@dataclass
class Tally:
    """What was seen so far, operation by operation."""

    operations: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    precisions: Counter[Precision] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)
    macs: int = 0

    def product(
        self, operation: str, factors: Sequence[Shape], weights: str | None, inputs: str | None
    ) -> None:
        """Count one convolution or matrix product.

        Args:
            operation: its name.
            factors: shapes whose lengths, multiplied, are its multiply-accumulates.
            weights: the dtype in which its weights are stored; None: it has none, two activations meet.
            inputs: the dtype of its activations, as they come in.
        """
        self.counted[operation] += 1
        self.precisions[_precision(weights or inputs, inputs)] += 1
        lengths = [length for shape in factors for length in shape]
        if any(length is None for length in lengths):
            self.hidden(operation, "has no fixed shape")
        else:
            self.macs += prod(length for length in lengths if length is not None)

    def hidden(self, operation: str, why: str) -> None:
        """Note an operation whose work cannot be counted."""
        self.unknown.append(f"{operation} {why}")

    def facts(self, parameters: int, stored: Counter[str], dtypes: Iterable[str]) -> dict[str, Any]:
        """The fields of `ModelFacts` that come from counting.

        Args:
            parameters: numbers in the weights and biases.
            stored: how many of these are of which dtype; where nothing is multiplied, it tells the precision.
            dtypes: of the inputs, which tell it where nothing is stored either.
        """
        if self.precisions:
            precision: Precision = next(iter(self.precisions)) if len(self.precisions) == 1 else "mixed"
        else:
            commonest = stored.most_common(1)
            dtype = commonest[0][0] if commonest else next(iter(dtypes), None)
            precision = _precision(dtype, dtype)
        return {
            "operations": dict(self.operations.most_common()),
            "macs": None if self.unknown else self.macs,
            "macs_reason": _several(self.unknown),
            "macs_counted": dict(self.counted.most_common()),
            "parameters": parameters,
            "precision": precision,
        }


def _precision(weights: str | None, inputs: str | None) -> Precision:
    if weights in ("int8", "uint8"):
        return "int8" if inputs in ("int8", "uint8") else "mixed"
    if weights == "float16":
        return "fp16"
    return "fp32" if (weights, inputs) == ("float32", "float32") else "mixed"


def _several(reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    first = reasons[0]
    more = len(set(reasons)) - 1
    return first + (f", and {more} more" if more else "")
