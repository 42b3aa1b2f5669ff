"""ONNX fp32 to int8, by ONNX Runtime's static quantisation; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.models.workers.feeds import picture_feeds
from edgebench.models.workers.onnx import graph
from edgebench.models.workers.onnx.integers import integer_input

MULTIPLYING = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# What `OnnxForm.explicit` asks for, in the quantiser's words.
EXPLICIT = {
    "op_types_to_quantize": MULTIPLYING,
    "extra_options": {
        "ActivationSymmetric": True,
        "AddQDQPairToWeight": True,
        "QuantizeBias": False,
        "OpTypesToExcludeOutputQuantization": list(MULTIPLYING),
    },
}


def quantise(
    source: Path,
    output: Path,
    calibration: NDArray[np.uint8],
    spec: Mapping[str, Any],
    form: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the int8 file: weights per channel, activations by their least and largest values.

    Args:
        source: ONNX fp32 at a static batch.
        output: a new file.
        calibration: uint8 [n, height, width, 3].
        spec: the float32 input, as `InputSpec` has it.
        form: `int8`, `activations`, `exclude`, `integer_input` and `explicit` of `OnnxForm`.

    Returns:
        What of the input is other than in `spec`: nothing, or `dtype`, `scale` and `zero_point`.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model = onnx.load(source)
    graph.name_all(model)
    (tensor,) = graph.inputs_of(model)
    excluded = graph.names_to_exclude(model, form["exclude"])
    name, shape = tensor.name, tuple(side.dim_value for side in tensor.type.tensor_type.shape.dim)

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # the package has no types
        def __init__(self) -> None:
            # The last batch is filled up from the front: minima and maxima stay those of the whole set.
            self._feeds = picture_feeds(calibration, shape, spec, cycle=True)

        def get_next(self) -> dict[str, NDArray[np.float32]] | None:
            feed = next(self._feeds, None)
            return None if feed is None else {name: feed[0]}

    integers = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
    with TemporaryDirectory() as folder:
        named, inferred = Path(folder) / "named.onnx", Path(folder) / "inferred.onnx"
        onnx.save(model, named)
        # What the runtime's guide asks for first; the symbolic part is for transformers.
        quant_pre_process(named, inferred, skip_symbolic_shape=True)
        quantize_static(
            inferred,
            output,
            Reader(),
            quant_format=QuantFormat.QDQ if form["int8"] == "qdq" else QuantFormat.QOperator,
            activation_type=integers[form["activations"]],
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=excluded,
            **(EXPLICIT if form.get("explicit") else {}),
        )
    quantised = onnx.load(output)
    quantisation = integer_input(quantised) if form["integer_input"] else None
    graph.keep_used_domains(quantised)
    onnx.save(quantised, output)
    return quantisation or {}
