"""Whether a .tflite file is compiled for the Edge TPU, what stays on the processor, and whether it fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import InputError
from edgebench.models.inspect.model_file import inspect_model
from edgebench.vocabulary.model_facts import ModelFacts, TensorFacts

CUSTOM_OP = "custom:edgetpu-custom-op"


@dataclass(frozen=True)
class Compiled:
    """What the flatbuffer of a .tflite file says.

    Attributes:
        edgetpu: how many parts of the graph are on the Edge TPU; 0 for a model that is not compiled.
        cpu: the operations that stay on the processor, and how many of each.
        facts: everything else that is known of the file.
    """

    edgetpu: int
    cpu: Mapping[str, int]
    facts: ModelFacts

    def as_record(self) -> dict[str, object]:
        """Plain data for what an artifact says of its making."""
        return {"edgetpu": self.edgetpu, "cpu": dict(self.cpu)}


def read(path: Path) -> Compiled:
    """Read a .tflite file's flatbuffer, in a process of its own.

    InputError for one that is none or is damaged; UnavailableError where its reader is not installed.
    """
    facts = inspect_model(path)
    cpu = {name: count for name, count in facts.operations.items() if name != CUSTOM_OP}
    return Compiled(facts.operations.get(CUSTOM_OP, 0), cpu, facts)


def require_fit(compiled: Compiled, base: Compiled, path: Path, variant: str, device: str) -> None:
    """InputError where a file has other inputs or outputs than the model that it should be compiled of.

    The message names the device that it was given for.
    """
    sides = (
        ("input", compiled.facts.inputs, base.facts.inputs),
        ("output", compiled.facts.outputs, base.facts.outputs),
    )
    for side, have, due in sides:
        if len(have) != len(due) or not all(
            _alike(tensor, expected) for tensor, expected in zip(have, due, strict=False)
        ):
            raise InputError(
                f"{path} is not compiled of {variant}",
                why=f"its {side} is {_listed(have)}, and {variant} has {_listed(due)}",
                fix=f"compile the file that `edgebench models prepare --device {device}` names, or ask for "
                "the model that this one was compiled of (--model, --depth)",
            )


def _alike(first: TensorFacts, second: TensorFacts) -> bool:
    if (first.dtype, first.shape, first.zero_point) != (second.dtype, second.shape, second.zero_point):
        return False
    if first.scale is None or second.scale is None:
        return first.scale == second.scale
    return math.isclose(first.scale, second.scale, rel_tol=1e-4)


def _listed(tensors: tuple[TensorFacts, ...]) -> str:
    return ", ".join(
        f"{tensor.dtype} {list(tensor.shape)}"
        + (
            ""
            if tensor.scale is None
            else f" with scale {tensor.scale:.6g} and zero point {tensor.zero_point}"
        )
        for tensor in tensors[:4]
    )
