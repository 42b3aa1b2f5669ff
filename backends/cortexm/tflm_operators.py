"""A model's operators as TFLM's resolver names them: only those are linked."""

from __future__ import annotations

from collections.abc import Iterable

from edgebench.errors import UnsupportedError

_OTHERWISE = {
    "BATCH_MATMUL": "BatchMatMul",
    "CUMSUM": "CumSum",
    "PADV2": "PadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
}


def resolver_names(operations: Iterable[str], variant: str) -> tuple[str, ...]:
    """Of builtin operators, such as `Conv2D` of `CONV_2D`, in order; UnsupportedError for a custom one.

    Whether TFLM has it is known where the firmware is compiled.
    """
    names = []
    for operation in operations:
        if not operation.replace("_", "").isalnum():
            raise UnsupportedError(
                f"{variant} cannot be run by TFLM's builtin operators",
                why=f"it has the operator {operation}",
                fix="take a model without custom operators",
            )
        names.append(_OTHERWISE.get(operation) or _camel_case(operation))
    return tuple(sorted(names))


def _camel_case(operation: str) -> str:
    return "".join(word if word[:1].isdigit() else word.capitalize() for word in operation.split("_"))
