"""The int8 artifacts that firmware carries: a .tflite for TFLM, or integer operations for generated C."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.errors import UnsupportedError
from edgebench.models.prepare.chain import Chain
from edgebench.models.prepare.onnx import OnnxChain
from edgebench.models.prepare.onnx_form import OnnxForm
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import Prepared
from edgebench.vocabulary.values import Json

PRINTED_ROUNDING = 0.0005
"""Half of the last of the three decimals that a score is printed with."""

# Generators need the shapes of what is quantised, and after a quantised pooling there are none; the float
# tail is a thousandth of the work.
_FLOAT_TAIL = ("Gemm", "GlobalAveragePool", "Softmax", "Squeeze")

# Integer sums of uint8 are exact in any order, so that C and ONNX Runtime agree to the last bit.
FORM = OnnxForm(int8="qoperator", activations="uint8", exclude=_FLOAT_TAIL)

CHAIN = OnnxChain(lambda _: FORM)
TFLITE = TfliteChain()


def chain_of(options: Mapping[str, Json]) -> Chain:
    """How the artifacts of an engine are prepared."""
    return CHAIN if options.get("engine") == "generated" else TFLITE


def with_printed_tolerance(outcome: Prepared) -> Prepared:
    """The artifact with the tolerance of scores that are printed with three decimals.

    UnsupportedError in its place where it takes no picture. The tolerance is the artifact's own and that half
    of a decimal, whatever the firmware: TFLM agrees with LiteRT's reference kernels bit for bit, generated C
    with ONNX Runtime, and a vendor's runtime with neither.
    """
    if not isinstance(outcome, Artifact):
        return outcome
    if outcome.tensors:
        return UnsupportedError(
            f"{outcome.variant} is not taken by cortex-m",
            why="its input is no picture, and the line carries one picture at a time",
            fix="take a model with one picture as its input",
        )
    golden = outcome.golden
    return outcome.model_copy(
        update={
            "golden": golden.model_copy(
                update={"tolerance": golden.tolerance + PRINTED_ROUNDING, "exact_with": ()}
            )
        }
    )
