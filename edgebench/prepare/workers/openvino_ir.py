"""An OpenVINO IR, in a process of its own: `python -m edgebench.prepare.workers.openvino_ir`.

`read` gives its facts. A job that comes in as a line of JSON (see `edgebench.prepare.workers.processes`)
makes an artifact of it as it is::

    {"what": text, "path": path, "batch": 1, "shapes": [[...]], "input": InputSpec or null,
     "tensors": [TensorInput], "golden": path, "n": 5, "outputs": {"fp32": path}}

The note of the output is that of an .onnx (see `edgebench.prepare.workers.onnx_steps`).
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from edgebench.agent.timed import ScoreRows
from edgebench.errors import UnsupportedError
from edgebench.prepare.workers.checking import (
    Feed,
    Scored,
    golden_feeds,
    note_or_refusal,
    outputs_of,
    require_finite,
)
from edgebench.prepare.workers.onnx_file import external_file
from edgebench.prepare.workers.processes import Job, Report, serve
from edgebench.prepare.workers.tflite_file import Malformed, Tally
from edgebench.records.model import TensorFacts

_ROOTS = ("net 10", "net 11")  # the first element and its version
_NAME = 200
_KINDS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}  # of numbers, before their bits
_MULTIPLYING = (
    "MatMul", "Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData",
)  # fmt: skip
# Operations between where a number is stored, or quantised, and where it is multiplied.
_PASSED = {
    "FakeQuantize", "Convert", "Multiply", "Subtract", "Reshape", "Transpose", "Squeeze", "Unsqueeze",
    "MaxPool",
}  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; Malformed for another file, or one that contradicts its .bin."""
    weights = external_file(path, path.with_suffix(".bin").name)
    pixels = _checked(path, weights)
    try:
        facts = _facts(_core().read_model(path, weights))
    except RuntimeError as error:
        raise Malformed(f"OpenVINO cannot read it: {_in_one_line(error)}") from error
    return {**facts, **pixels, "external_files": [weights.name]}


def _core() -> Any:
    """OpenVINO's core."""
    # Its package sends a note to its maker when it is imported, unless this one is missing.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino.Core()


def _in_one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:_NAME] if lines else type(error).__name__


def _checked(path: Path, weights: Path) -> dict[str, Any]:
    """`pixel_mean` and `pixel_std` where a converter put the pixels' mean or scale into the model.

    Malformed for XML that is no IR, is cut off, names weights beyond the end of the .bin or declares a
    document type, which may define entities.
    """
    size_bytes, root, pixels = weights.stat().st_size, "", {}
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise Malformed("its XML declares a document type, which no IR has")

    def begin(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal root, pixels
        root = root or f"{name} {attributes.get('version')}"
        if root not in _ROOTS:
            raise Malformed(
                f"it begins with {root[:_NAME]!r}, and an IR with {' or '.join(map(repr, _ROOTS))}"
            )
        if name == "data" and "offset" in attributes:
            end = int(attributes["offset"]) + int(attributes["size"])
            if end > size_bytes:
                raise Malformed(
                    f"its weights end at byte {end:,} and {weights.name} has {size_bytes:,}: that is cut "
                    "off, or of another model"
                )
        if name in ("mean_values", "scale_values") and re.search("[0-9]", attributes.get("value", "")):
            pixels = {"pixel_mean": [0.0], "pixel_std": [1.0]}  # pixels as they are

    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, begin
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except (expat.ExpatError, KeyError, ValueError) as error:
        raise Malformed(f"its XML is damaged ({str(error)[:_NAME]})") from error
    return pixels


def _facts(model: Any) -> dict[str, Any]:
    tally = Tally()
    for layer in model.get_ordered_ops():
        kind, inputs = layer.get_type_name(), layer.input_values()
        if kind not in ("Constant", "Parameter", "Result"):
            tally.operations[kind] += 1
        if kind in _MULTIPLYING:
            tally.product(kind, [], weights=_dtype(inputs[1]), inputs=_dtype(inputs[0]))
    inputs, outputs = ([_tensor(port) for port in ports] for ports in (model.inputs, model.outputs))
    not_counted = dict.fromkeys(("macs", "parameters"))
    reasons = {f"{name}_reason": "not counted in an OpenVINO IR" for name in not_counted}
    return {**tally.facts(Counter(), inputs, outputs), **not_counted, **reasons, "macs_counted": {}}


def _tensor(port: Any) -> TensorFacts:
    name = min(port.get_names(), default=port.get_node().get_friendly_name())
    dtype, shape = port.get_element_type().get_type_name(), port.get_partial_shape()
    if shape.rank.is_dynamic:
        raise Malformed(f"{name[:_NAME]} leaves the number of its axes open")
    found = re.fullmatch("(f|bf|i|u)([0-9]{1,2})", dtype)
    lengths = tuple(None if side.is_dynamic else side.get_length() for side in shape)
    return TensorFacts(name[:_NAME], f"{_KINDS[found[1]]}{found[2]}" if found else dtype[:_NAME], lengths)


def _dtype(port: Any) -> str:
    """The dtype in which a weight is stored or an activation comes in: int8 where it is quantised."""
    quantised = False
    for _ in range(8):
        node = port.get_node()
        if node.get_type_name() not in _PASSED:
            break
        quantised = quantised or node.get_type_name() == "FakeQuantize"
        port = node.input_value(0)
    dtype = _tensor(port).dtype
    return "int8" if quantised and dtype.startswith("float") else dtype


_IN_F32 = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
_BETWEEN_ROUNDINGS = {"LP_TRANSFORMS_MODE": "NO"}  # an internal property, which a release may refuse


def make(job: Job, report: Report) -> dict[str, Any]:
    """Copy the .xml and compute its golden scores."""
    ((precision, file),) = job["outputs"].items()
    report(f"checking {job['what']}")
    return {precision: note_or_refusal(partial(_as_it_is, job, precision, Path(file)))}


def _as_it_is(job: Job, precision: str, output: Path) -> dict[str, Any]:
    shutil.copyfile(job["path"], output)
    feeds = golden_feeds(Path(job["golden"]), job["shapes"], job["input"], job["tensors"])
    core = _core()
    what = f"OpenVINO {core.get_versions('CPU')['CPU'].build_number.split('-')[0]}, CPU in f32"
    try:
        model = core.read_model(output, Path(job["path"]).with_suffix(".bin"))
        if model.get_variables():
            raise UnsupportedError(
                f"{job['what']} is not measured",
                why="it keeps a state (ReadValue) from one inference to the next, which nothing resets",
                fix="export it with its state as inputs and outputs",
            )
        model.reshape(dict(enumerate(job["shapes"])))
        device = _scores(core.compile_model(model, "CPU", _IN_F32), feeds, job)
    except RuntimeError as error:
        raise UnsupportedError(
            f"{job['what']} cannot be run by OpenVINO",
            why=_in_one_line(error),
            fix="export it again, or give the .onnx that it was made from",
        ) from error
    try:
        exact = _scores(core.compile_model(model, "CPU", {**_IN_F32, **_BETWEEN_ROUNDINGS}), feeds, job)
        reference = f"{what} between the roundings"
    except RuntimeError:
        exact, reference = device, f"{what}, integers included (LP_TRANSFORMS_MODE is refused)"
    if precision != "int8":
        reference = f"{what}: a check of other devices and releases, not of this one"
    require_finite(exact.rows, str(job["what"]))
    return {
        "scores": exact.rows.tolist(),
        "reference": reference,
        "outputs": outputs_of(exact.rows, [exact, device]),
        "input": job["input"],
        "checks": [],
    }


def _scores(compiled: Any, feeds: Sequence[Feed], job: Job) -> Scored:
    rows = ScoreRows(int(job["batch"]))
    results = [compiled(list(feed)) for feed in feeds]
    scores = [rows.of([result[port] for port in compiled.outputs]) for result in results]
    return Scored(np.concatenate(scores)[: job["n"]], rows.widths)


if __name__ == "__main__":
    serve(make)
