"""Facts of a .tflite file, from its flatbuffer alone: no runtime is loaded."""

from __future__ import annotations

import lzma
import mmap
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgebench.files import require_bounded
from edgebench.records.model import Precision, Shape, TensorFacts

# Counting of a model's operations, multiply-accumulates and precision, whatever its format.


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
    is_16x8: bool = False

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
        self.is_16x8 = self.is_16x8 or (weights, inputs) == ("int8", "int16")
        lengths = [length for shape in factors for length in shape]
        if any(length is None for length in lengths):
            self.hidden(operation, "has no fixed shape")
        else:
            self.macs += prod(length for length in lengths if length is not None)

    def hidden(self, operation: str, why: str) -> None:
        """Note an operation whose work cannot be counted."""
        self.unknown.append(f"{operation} {why}")

    def facts(
        self, stored: Counter[str], inputs: Sequence[TensorFacts], outputs: Sequence[TensorFacts]
    ) -> dict[str, Any]:
        """The fields of `ModelFacts` that a format's file tells.

        Args:
            stored: how many numbers in weights and biases have each dtype; where nothing is multiplied, it
                tells the precision.
            inputs: their dtypes tell it where nothing is stored either.
            outputs: of the model.
        """
        if any(length is None for tensor in inputs for length in tensor.shape[1:]):
            self.hidden("an input", "has no fixed shape")
        if self.precisions:
            precision: Precision = next(iter(self.precisions)) if len(self.precisions) == 1 else "mixed"
        else:
            commonest = stored.most_common(1)
            dtype = commonest[0][0] if commonest else next((tensor.dtype for tensor in inputs), None)
            precision = _precision(dtype, dtype)
        return {
            "inputs": [asdict(tensor) for tensor in inputs],
            "outputs": [asdict(tensor) for tensor in outputs],
            "operations": dict(self.operations.most_common()),
            "macs": None if self.unknown else self.macs,
            "macs_reason": _several(self.unknown),
            "macs_counted": dict(self.counted.most_common()),
            "parameters": sum(stored.values()),
            "precision": precision,
            "is_16x8": self.is_16x8,
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


_Item = TypeVar("_Item")

_MAX_ITEMS = 200_000  # tensors, operations or buffers of one file
_MAX_RANK = 16
_NAME = 200
_BITS = {
    "float32": 32, "float16": 16, "float64": 64, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16,
    "int32": 32, "uint32": 32, "int64": 64, "uint64": 64, "bool": 8, "int4": 4,
}  # fmt: skip
# Work that their shapes do not tell: recurrent cells, other graphs, and what a compiler put into one.
_HIDDEN = {
    "LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "RNN", "SVDF",
    "BIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "WHILE", "IF", "CALL",
    "CONV_3D_TRANSPOSE", "DELEGATE",
}  # fmt: skip
_COMPILED = ("custom:edgetpu-custom-op", "custom:ethos-u")  # their weights are in what the compiler wrote


@dataclass(frozen=True)
class _Tensor:
    name: str
    dtype: str
    shape: Shape
    open: Shape  # as the signature has it: None where the axis may have any length
    stored: bool  # a constant of the file
    variable: bool  # keeps its value from one inference to the next
    quantised: bool
    scale: float | None
    zero_point: int | None

    def facts(self) -> TensorFacts:
        return TensorFacts(self.name, self.dtype, self.open, self.scale, self.zero_point)


def read(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; Malformed for another file or one that contradicts itself."""
    from ai_edge_litert import schema_py_generated as schema

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[4:8] != b"TFL3":
            raise Malformed("it does not begin like a .tflite file")
        try:
            model = schema.Model.GetRootAs(content, 0)
            return {**_read(schema, model, len(content)), **_metadata(model, path)}
        except (struct.error, IndexError, UnicodeDecodeError, OverflowError, TypeError) as error:
            raise Malformed(f"its flatbuffer is damaged ({error})") from error


def products(path: Path) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Weights and biases of the convolutions and dense layers of a shipped fp32 file, in their order.

    Weights are [out, height, width, in], [1, height, width, channels] where depthwise, [out, in] where dense.
    """
    from ai_edge_litert import schema_py_generated as schema

    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        model = schema.Model.GetRootAs(file.read(), 0)
    graph = model.Subgraphs(0)
    for place in range(graph.OperatorsLength()):
        operator = graph.Operators(place)
        name = _operation(schema, model.OperatorCodes(operator.OpcodeIndex()))
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            tensors = [graph.Tensors(operator.Inputs(at)) for at in (1, 2)]
            kernel, bias = (
                model.Buffers(tensor.Buffer()).DataAsNumpy().view(np.float32).reshape(tensor.ShapeAsNumpy())
                for tensor in tensors
            )
            yield kernel, bias


def _read(schema: Any, model: Any, size: int) -> dict[str, Any]:
    if not _count(model.SubgraphsLength(), "graphs"):
        raise Malformed("it holds no graph")
    buffers = [
        model.Buffers(index).DataLength() or model.Buffers(index).Size()
        for index in range(_count(model.BuffersLength(), "buffers"))
    ]
    codes = [
        _operation(schema, model.OperatorCodes(index))
        for index in range(_count(model.OperatorCodesLength(), "operation codes"))
    ]
    tally = Tally()
    stored: Counter[str] = Counter()
    variables: list[str] = []
    for number in range(model.SubgraphsLength()):
        graph = model.Subgraphs(number)
        tensors = [
            _tensor(schema, graph.Tensors(index), buffers, size)
            for index in range(_count(graph.TensorsLength(), "tensors"))
        ]
        operators = [graph.Operators(index) for index in range(_count(graph.OperatorsLength(), "operations"))]
        sources: dict[int, int] = {}  # the constant that a dequantised or densified tensor comes from
        for operator in operators:
            name = _at(codes, operator.OpcodeIndex(), "operation codes")
            tally.operations[name] += 1
            if number == 0:
                _tally(name, operator, tensors, sources, tally)
        for tensor in tensors:
            if tensor.variable:
                variables.append(tensor.name)
            # Numbers, not the shapes and axes that operations take as small integer tensors.
            if tensor.stored and tensor.shape and (tensor.quantised or tensor.dtype.startswith("float")):
                stored[tensor.dtype] += prod(length or 0 for length in tensor.shape)
        if number == 0:
            inputs = [
                _at(tensors, graph.Inputs(place), "tensors").facts()
                for place in range(_count(graph.InputsLength(), "inputs"))
            ]
            outputs = [
                _at(tensors, graph.Outputs(place), "tensors").facts()
                for place in range(_count(graph.OutputsLength(), "outputs"))
            ]
    facts = tally.facts(stored, inputs, outputs)
    if hidden := [name for name in tally.operations if name in _COMPILED]:
        facts |= {"parameters": None, "parameters_reason": f"those in {hidden[0]} cannot be counted"}
    return {**facts, "states": variables}


def _tally(name: str, operator: Any, tensors: list[_Tensor], sources: dict[int, int], tally: Tally) -> None:
    """Layouts as in TensorFlow Lite's kernels: a convolution's weights are [out, height, width, in]."""

    def input_at(place: int) -> _Tensor:
        if place >= operator.InputsLength():
            raise Malformed(f"{name} lacks input {place}")
        return _at(tensors, operator.Inputs(place), "tensors")

    def stored(place: int) -> str | None:
        index = operator.Inputs(place)
        tensor = _at(tensors, sources.get(index, index), "tensors")
        return tensor.dtype if tensor.stored else None

    def output_shape() -> Shape:
        if not operator.OutputsLength():
            raise Malformed(f"{name} has no output")
        return _at(tensors, operator.Outputs(0), "tensors").shape

    if name in ("DEQUANTIZE", "DENSIFY") and operator.OutputsLength():
        input_at(0)
        sources[operator.Outputs(0)] = sources.get(operator.Inputs(0), operator.Inputs(0))
    elif name in ("CONV_2D", "FULLY_CONNECTED"):
        tally.product(name, [output_shape(), input_at(1).shape[1:]], stored(1), input_at(0).dtype)
    elif name == "DEPTHWISE_CONV_2D":
        tally.product(name, [output_shape(), input_at(1).shape[1:3]], stored(1), input_at(0).dtype)
    elif name == "CONV_3D":
        tally.product(name, [output_shape(), input_at(1).shape[:4]], stored(1), input_at(0).dtype)
    elif name == "TRANSPOSE_CONV":
        tally.product(name, [input_at(2).shape, input_at(1).shape[:3]], stored(1), input_at(2).dtype)
    elif name == "BATCH_MATMUL":
        # Of either orientation, the inner length is what the left one has beside the rows of the result.
        left, result = input_at(0).shape, output_shape()
        if len(left) < 2 or len(result) < 2:
            raise Malformed(f"{name} of fewer than two axes")
        inner = left[-2] if _adjoint(operator) else left[-1]
        tally.product(name, [result, (inner,)], stored(1), input_at(0).dtype)
    elif name in _HIDDEN or name.startswith(("custom:", "STABLEHLO_")):
        tally.hidden(name, "does not tell its work")


def _adjoint(operator: Any) -> bool:
    from ai_edge_litert import schema_py_generated as schema

    table = operator.BuiltinOptions()
    if table is None or operator.BuiltinOptionsType() != schema.BuiltinOptions.BatchMatMulOptions:
        return False
    options = schema.BatchMatMulOptions()
    options.Init(table.Bytes, table.Pos)
    return bool(options.AdjX())


def _tensor(schema: Any, tensor: Any, buffers: list[int], size: int) -> _Tensor:
    dtype = _names(schema.TensorType).get(tensor.Type(), f"type {tensor.Type()}").lower()
    rank = tensor.ShapeLength()
    if rank > _MAX_RANK:
        raise Malformed(f"a tensor of {rank} axes")
    shape = tuple(int(tensor.Shape(axis)) for axis in range(rank))
    if any(length < 0 for length in shape):
        raise Malformed(f"a tensor of shape {list(shape)}")
    open_ = tuple(
        int(tensor.ShapeSignature(axis)) for axis in range(min(rank, tensor.ShapeSignatureLength()))
    )
    stored_bytes = _at(buffers, tensor.Buffer(), "buffers")
    if stored_bytes > size:
        raise Malformed("a buffer is longer than the file")
    if stored_bytes and tensor.Sparsity() is None and prod(shape) * _BITS.get(dtype, 0) > stored_bytes * 8:
        raise Malformed(f"a tensor of shape {list(shape)} has {stored_bytes} bytes of numbers")
    quantisation = tensor.Quantization()
    scales = 0 if quantisation is None else quantisation.ScaleLength()
    is_per_tensor = scales == 1 and quantisation.ZeroPointLength() <= 1
    return _Tensor(
        name=(tensor.Name() or b"").decode(errors="replace")[:_NAME],
        dtype=dtype,
        shape=shape,
        open=tuple(None if length < 0 else length for length in open_) if len(open_) == rank else shape,
        stored=stored_bytes > 0,
        variable=bool(tensor.IsVariable()),
        quantised=scales > 0,
        scale=float(quantisation.Scale(0)) if is_per_tensor else None,
        zero_point=(int(quantisation.ZeroPoint(0)) if quantisation.ZeroPointLength() else 0)
        if is_per_tensor
        else None,
    )


def _operation(schema: Any, code: Any) -> str:
    # Files of before schema 3a have the short field alone, later ones may have the placeholder in it.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == schema.BuiltinOperator.CUSTOM:
        return f"custom:{(code.CustomCode() or b'?').decode(errors='replace')[:_NAME]}"
    return _names(schema.BuiltinOperator).get(number, f"operation {number}")


@cache
def _names(enumeration: type) -> Mapping[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


def _count(claimed: int, what: str) -> int:
    if claimed > _MAX_ITEMS:
        raise Malformed(f"it claims {claimed:,} {what}")
    return claimed


def _at(items: list[_Item], index: int, what: str) -> _Item:
    if not 0 <= index < len(items):
        raise Malformed(f"it has {len(items)} {what} and asks for number {index}")
    return items[index]


# Metadata: a FlatBuffer in a buffer of the model, and the files that it names in a ZIP archive at the end.
#
# Fields and numbers are those of tflite-support's metadata_schema.fbs.


_MOST_METADATA_BYTES = 4 << 20
_MOST_UNFOLDED_BYTES = 64 << 20  # of all associated files
_NORMALISATION = 1  # of the union ProcessUnitOptions
_AXIS_LABELS = 2  # of AssociatedFileType
_PIXEL_CHANNELS = (1, 3)  # numbers of a normalisation: one for all channels, or one a channel


class _Table:
    """A table of a FlatBuffer that no generated class reads; fields by their number in the schema."""

    def __init__(self, data: bytes, position: int) -> None:
        from flatbuffers.table import Table  # type: ignore[import-untyped]

        self._data, self._table = data, Table(data, position)

    def _place(self, field: int) -> int | None:
        offset = self._table.Offset(4 + 2 * field)
        return self._table.Pos + offset if offset else None

    def byte(self, field: int) -> int:
        """A number of 8 bits. Default: 0."""
        place = self._place(field)
        return 0 if place is None else self._data[place]

    def text(self, field: int) -> str:
        """A string. Default: an empty one."""
        place = self._place(field)
        return "" if place is None else bytes(self._table.String(place)).decode()

    def tables(self, field: int) -> list[_Table]:
        """A vector of tables."""
        return [_Table(self._data, self._table.Indirect(place)) for place in self._places(field)]

    def union(self, field: int) -> _Table:
        """A union's value."""
        return _Table(self._data, self._table.Indirect(self._place(field)))

    def floats(self, field: int) -> list[float]:
        """A vector of float32."""
        return [struct.unpack_from("<f", self._data, place)[0] for place in self._places(field)]

    def _places(self, field: int) -> range:
        """Positions of a vector's elements, 4 bytes each."""
        offset = self._table.Offset(4 + 2 * field)
        start = self._table.Vector(offset) if offset else 0
        count = _count(self._table.VectorLen(offset), "items of metadata") if offset else 0
        return range(start, start + 4 * count, 4)


def _metadata(model: Any, path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts` that the metadata tell, or why they tell nothing: runtimes ignore them."""
    try:
        entries = [model.Metadata(number) for number in range(_count(model.MetadataLength(), "metadata"))]
        buffers = [entry.Buffer() for entry in entries if entry.Name() == b"TFLITE_METADATA"]
        return _told(model.Buffers(buffers[0]), path) if buffers else {}
    except Exception as error:  # those of flatbuffers, zipfile and zlib are of many kinds
        return {"metadata_reason": (str(error) or type(error).__name__).splitlines()[0][:_NAME]}


def _told(buffer: Any, path: Path) -> dict[str, Any]:
    """Pixels by the first input's NormalizationOptions, class names by a label file of the one output."""
    if not 0 < buffer.DataLength() <= _MOST_METADATA_BYTES:
        raise Malformed(f"the metadata have {buffer.DataLength():,} bytes")
    data = buffer.DataAsNumpy().tobytes()
    (graph, *_) = _Table(data, struct.unpack_from("<I", data)[0]).tables(3)
    inputs, outputs = graph.tables(2), graph.tables(3)
    facts: dict[str, Any] = {}
    for unit in inputs[0].tables(4) if inputs else ():
        if unit.byte(0) == _NORMALISATION:
            mean, std = unit.union(1).floats(0), unit.union(1).floats(1)
            is_known = {len(mean), len(std)} <= set(_PIXEL_CHANNELS) and 0 not in std
            if not is_known or not np.isfinite([*mean, *std]).all():
                raise Malformed(f"they normalise by mean {mean} and std {std}")
            facts |= {"pixel_mean": mean, "pixel_std": std}
    files = outputs[0].tables(6) if len(outputs) == 1 else []
    if files := [file for file in files if file.byte(2) == _AXIS_LABELS]:
        # Files with a locale translate the names of the one without.
        facts["class_names"] = _labels(path, min(files, key=lambda file: file.text(3)).text(0))
    return facts


def _labels(path: Path, name: str) -> tuple[str, ...]:
    """Names in a label file of the archive at the end of a model file; nothing is unpacked to disk."""
    from edgebench.prepare.labels import labels_of

    with zipfile.ZipFile(path) as archive:
        require_bounded(archive, _MOST_UNFOLDED_BYTES)
        member = archive.getinfo(name)
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Malformed(f"{name} is compressed by another method than deflate")
        with archive.open(member) as file:  # with a count no more is unfolded than the archive states
            return labels_of(file.read(member.file_size), name)
