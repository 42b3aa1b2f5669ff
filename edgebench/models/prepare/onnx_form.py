"""How a backend wants its ONNX: layout, the form of int8, and what of it stays float."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Layout = Literal["NHWC", "NCHW"]


@dataclass(frozen=True)
class OnnxForm:
    """Parameters of the steps; the same form and the same model make the same file.

    Attributes:
        layout: of the input; None: a family's is NHWC, a file's stays what it is.
        int8: QuantizeLinear/DequantizeLinear pairs round float operations (`qdq`), or integer operations
            (`qoperator`).
        activations: the integers of everything that is no weight. ONNX Runtime asks for int8 with `qdq`;
            integer operations on int8 are several times slower on x86-64 than on uint8.
        exclude: kinds of operations (`Softmax`) or names of single ones that int8 leaves float.
        integer_input: int8 takes integers, so that preprocessing is one step as for .tflite; else float32.
        explicit: pairs as TensorRT's explicit quantisation takes them: before the inputs of what multiplies
            and nowhere else, every zero point 0, weights as floats with a pair of their own, biases as
            floats. Its parser refuses any zero point but 0 and pairs of int32.
    """

    layout: Layout | None = None
    int8: Literal["qdq", "qoperator"] = "qdq"
    activations: Literal["int8", "uint8"] = "int8"
    exclude: tuple[str, ...] = ()
    integer_input: bool = True
    explicit: bool = False

    def quantisation(self) -> dict[str, Any]:
        """What of it decides an int8 file, as plain data for a key."""
        fields = asdict(self)
        del fields["layout"]
        if not self.explicit:  # it came when files were kept under keys without it
            del fields["explicit"]
        return {**fields, "exclude": sorted(self.exclude), "per_channel": True}
