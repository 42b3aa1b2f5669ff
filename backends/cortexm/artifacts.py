"""The int8 artifacts that firmware carries: a .tflite for TFLM, or integer operations for generated C."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.contract import Backend
from edgebench.errors import UnsupportedError
from edgebench.link.window_session import input_bytes
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain, refusal_of_16x8
from edgebench.prepare.formats import format_of, is_named_as_model, refusal
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.values import Json, Progress, Variant
from edgebench.run.model_choice import resolve_sources, with_golden

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


def refusal_of(request: PrepareRequest) -> UnsupportedError | None:
    """Why firmware does not take what is asked for; None: it may."""
    if refusal := refusal_of_16x8(request, "cortex-m"):
        return refusal
    is_int8 = request.variant.precision == "int8"
    if is_int8 and request.batch == 1:
        return None
    return UnsupportedError(
        f"{request.variant.name} at batch {request.batch} is not taken by cortex-m",
        why="its firmware takes int8, one patch at a time",
        fix="leave --batch out"
        if is_int8
        else "take int8 (--precision int8); `edgebench models prepare --device cortex-m --model FILE.keras "
        "--calibration DIR` makes an int8 .tflite of a Keras model",
    )


def with_printed_tolerance(outcome: Prepared) -> Prepared:
    """The artifact with the tolerance of scores that are printed with three decimals.

    UnsupportedError in its place where it takes several inputs. The tolerance is the artifact's own and that
    half of a decimal, whatever the firmware: TFLM agrees with LiteRT's reference kernels bit for bit,
    generated C with ONNX Runtime, and a vendor's runtime with neither.
    """
    if not isinstance(outcome, Artifact):
        return outcome
    if outcome.state not in ("none", "reset"):
        return UnsupportedError(
            f"{outcome.variant} is not taken by cortex-m with a state that is kept",
            why="the firmware stays on the board: its state would be that of the session before",
            fix="leave --keep-state out; resource variables (VAR_HANDLE) are taken by the device cpu",
        )
    if len(outcome.tensors) > 1:
        return UnsupportedError(
            f"{outcome.variant} is not taken by cortex-m",
            why=f"it has {len(outcome.tensors)} inputs, and the line carries one",
            fix="take a model with one input",
        )
    golden = outcome.golden
    return outcome.model_copy(
        update={
            "golden": golden.model_copy(
                update={
                    "tolerance": golden.tolerance + PRINTED_ROUNDING,
                    "exact_with": (),
                    "outputs": tuple(
                        output
                        if output.tolerance is None
                        else output.model_copy(update={"tolerance": output.tolerance + PRINTED_ROUNDING})
                        for output in golden.outputs
                    ),
                }
            )
        }
    )


def tensor_of(artifact: Artifact, patch: NDArray[Any]) -> bytes:
    """The artifact's input as the board's memory has it, little-endian.

    Args:
        artifact: with one input.
        patch: a picture uint8 [height, width, 3], or a sample in the input's own type and shape.
    """
    if not artifact.tensors:
        return input_bytes(artifact.input, patch)
    dtype = np.dtype(artifact.input_type).newbyteorder("<")
    return np.ascontiguousarray(patch, dtype).tobytes()


def prepared(
    model: str, engine: str, preparer: Chain | Backend, cache: Cache, progress: Progress
) -> Artifact:
    """A model's artifact, prepared without a run.

    Args:
        model: a variant's name, or the path of a user's file.
        engine: that is to carry it.
        preparer: of the artifact.
        cache: that keeps it, and the samples of a model that takes no picture.
        progress: called with what is read and made.

    Raises:
        UsageError: there is no such variant.
        InputError: the file is no model.
        EdgeBenchError: it cannot be prepared.
    """
    [outcome] = preparer.prepare([request_of(model, engine, cache, progress)], cache, progress)
    if not isinstance(outcome, Artifact):
        raise outcome
    return outcome


def request_of(model: str, engine: str, cache: Cache, progress: Progress) -> PrepareRequest:
    """What is prepared of a user's file, or of a variant of a family; errors as `prepared` has them."""
    options: dict[str, Json] = {"engine": engine}
    path = Path(model).expanduser()
    if not is_named_as_model(path) and not path.exists():
        return PrepareRequest(Variant.parse(model), 1, options)
    if refused := refusal(path, format_of(path).kind, "cortex-m", chain_of(options).formats):
        raise refused
    [chosen] = resolve_sources([model], cache=cache, progress=progress)
    source = with_golden(chosen, cache, None, None).source
    precision = source.model.precision if source.model else "int8"
    return PrepareRequest(Variant(chosen.widths[0], precision, source.name), 1, options, source)
