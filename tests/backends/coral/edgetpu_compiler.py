"""A stand-in for Google's `edgetpu_compiler` 16.0: its command line, its words, its log and its file.

What it writes holds the custom operation `edgetpu-custom-op` in place of what is "mapped", with the model's
own inputs and outputs; no runtime can run it, but `played_tpu` finds the model within. `install`
puts it into a folder for the PATH; `BEHAVIOURS` are what it can be told to do with what it is given.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

VERSION = "16.0.384591198"
CUSTOM_OP = "edgetpu-custom-op"
MARK = b"stand-in for an executable of the Edge TPU:"  # then the length, 8 bytes, and the model itself
MAPPED = "Mapped to Edge TPU"
SECOND_GRAPH = "More than one subgraph is not supported"
UNSPECIFIED = "Operation is otherwise supported, but not mapped due to some unspecified limitation"

BEHAVIOURS = {
    "whole": "maps every operation",
    "partial": "leaves the last two on the processor",
    "nothing": "leaves all of them on the processor",
    "large": "finds the model's activations too large",
    "internal": "gives up with an error of its own",
    "aborts": "dies by a signal",
    "hangs": "never ends",
    "silent": "says nothing, writes nothing, and ends well",
}

_ON_CHIP_BYTES = int(7.5 * 1024 * 1024)
_NOT_ALL = (
    "Model successfully compiled but not all operations are supported by the Edge TPU. A percentage of "
    "the model will instead run on the CPU, which is slower. If possible, consider updating your model to "
    "use only operations supported by the Edge TPU. For details, visit g.co/coral/model-reqs."
)


def install(folder: Path, behaviour: str = "whole", version: str = VERSION) -> Path:
    """Write an executable `edgetpu_compiler` that behaves so; its calls are written beside it, one a line."""
    assert behaviour in BEHAVIOURS, behaviour
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "edgetpu_compiler"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> "{folder}/calls"\n'
        f'exec "{sys.executable}" "{Path(__file__)}" {behaviour} {version} "$@"\n'
    )
    program.chmod(0o755)
    return program


def calls(program: Path) -> list[str]:
    """What an installed one was called with."""
    written = program.with_name("calls")
    return written.read_text().splitlines() if written.exists() else []


def compiled(content: bytes, left: int = 0) -> tuple[bytes, list[tuple[str, str]]]:
    """A .tflite whose first operations, all but the last `left`, are one custom operation.

    Returns the file, and name and status of every operation of the original.
    """
    import flatbuffers  # type: ignore[import-untyped]
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(content, 0)
    graph = model.subgraphs[0]
    cut = max(0, len(graph.operators) - left)
    statuses = [
        (name, MAPPED if place < cut else UNSPECIFIED if place == cut else SECOND_GRAPH)
        for place, name in enumerate(_names(schema, model))
    ]
    if cut:
        code = schema.OperatorCodeT()
        code.builtinCode, code.customCode = schema.BuiltinOperator.CUSTOM, CUSTOM_OP
        code.deprecatedBuiltinCode = code.builtinCode
        custom = schema.OperatorT()
        custom.opcodeIndex = len(model.operatorCodes)
        model.operatorCodes.append(code)
        after = {tensor for operator in graph.operators[cut:] for tensor in operator.inputs}
        produced = {tensor for operator in graph.operators[:cut] for tensor in operator.outputs}
        custom.inputs = list(graph.inputs)
        custom.outputs = sorted(produced & (after | set(graph.outputs)))
        within = MARK + len(content).to_bytes(8, "little") + content
        custom.customOptions = np.frombuffer(within, np.uint8)
        graph.operators = [custom, *graph.operators[cut:]]
        _keep_what_is_used(schema, model)
    model.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output()), statuses


def _names(schema: Any, model: Any) -> list[str]:
    by_code = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    return [by_code[codes[operator.opcodeIndex]] for operator in model.subgraphs[0].operators]


def _keep_what_is_used(schema: Any, model: Any) -> None:
    """Leave out tensors, buffers and operation codes that went into the custom operation."""
    graph = model.subgraphs[0]
    used = {
        tensor
        for operator in graph.operators
        for tensor in (*operator.inputs, *operator.outputs)
        if tensor >= 0
    }
    kept = sorted(used | set(graph.inputs) | set(graph.outputs))
    place = {tensor: number for number, tensor in enumerate(kept)} | {-1: -1}
    graph.tensors = [graph.tensors[tensor] for tensor in kept]
    buffers = [schema.BufferT()]
    for tensor in graph.tensors:
        if model.buffers[tensor.buffer].data is None:
            tensor.buffer = 0
        else:
            buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = len(buffers) - 1
    model.buffers, model.metadata, model.metadataBuffer = buffers, None, None
    codes = sorted({operator.opcodeIndex for operator in graph.operators})
    model.operatorCodes = [model.operatorCodes[code] for code in codes]
    for operator in graph.operators:
        operator.opcodeIndex = codes.index(operator.opcodeIndex)
        operator.inputs = [place[tensor] for tensor in operator.inputs]
        operator.outputs = [place[tensor] for tensor in operator.outputs]
    graph.inputs = [place[tensor] for tensor in graph.inputs]
    graph.outputs = [place[tensor] for tensor in graph.outputs]


def _size(count: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f}{unit}"
    return f"{count:.2f}B"


def _table(statuses: Sequence[tuple[str, str]]) -> str:
    rows = [f"{name:<31}{count:<11}{status}" for (name, status), count in Counter(statuses).items()]
    return "\n".join([f"{'Operator':<31}{'Count':<11}Status", "", *rows, ""])


def _is_quantised(content: bytes) -> bool:
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)
    input_type = graph.Tensors(graph.Inputs(0)).Type()
    return input_type in (schema.TensorType.INT8, schema.TensorType.UINT8)


def _compile(source: Path, folder: Path, behaviour: str, version: str, shown: bool) -> None:
    content = source.read_bytes()
    result = folder / f"{source.stem}_edgetpu.tflite"
    log = result.with_suffix(".log")
    left = {"partial": 2, "nothing": sys.maxsize}.get(behaviour, 0)
    output, statuses = compiled(content, left)
    result.write_bytes(output)
    table = _table(statuses)
    log.write_text(f"Edge TPU Compiler version {version}\nInput: {source}\nOutput: {result}\n\n{table}")
    mapped = sum(status == MAPPED for _, status in statuses)
    used = min(len(content), _ON_CHIP_BYTES) if mapped else 0
    streamed = len(content) - used if mapped else 0
    print("\nModel compiled successfully in 63 ms.\n")
    print(f"Input model: {source}\nInput size: {_size(len(content))}")
    print(f"Output model: {result}\nOutput size: {_size(len(output))}")
    print(f"On-chip memory used for caching model parameters: {_size(used)}")
    print(f"On-chip memory remaining for caching model parameters: {_size(_ON_CHIP_BYTES - used)}")
    print(f"Off-chip memory used for streaming uncached model parameters: {_size(streamed)}")
    print(f"Number of Edge TPU subgraphs: {int(mapped > 0)}\nTotal number of operations: {len(statuses)}")
    print(f"Operation log: {log}\n")
    if mapped < len(statuses):
        print(f"{_NOT_ALL}\nNumber of operations that will run on Edge TPU: {mapped}")
        print(f"Number of operations that will run on CPU: {len(statuses) - mapped}\n")
    print(table if shown else "See the operation log file for individual operation details.")


def main(words: Sequence[str]) -> int:
    """As `edgetpu_compiler`, after the stand-in's own two words: behaviour and version."""
    behaviour, version, *rest = words
    parser = argparse.ArgumentParser(prog="edgetpu_compiler")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("-o", "--out_dir", type=Path, default=Path())
    parser.add_argument("-m", "--min_runtime_version", type=int, default=14)
    parser.add_argument("-s", "--show_operations", action="store_true")
    parser.add_argument("-t", "--timeout_sec", type=int, default=180)
    parser.add_argument("-a", "--enable_multiple_subgraphs", action="store_true")
    parser.add_argument("-d", "--search_delegate", action="store_true")
    parser.add_argument("-k", "--delegate_search_step", type=int)
    parser.add_argument("-n", "--num_segments", type=int)
    parser.add_argument("-i", "--intermediate_tensors")
    parser.add_argument("-v", "--version", action="store_true")
    asked = parser.parse_args(rest)
    if asked.version or behaviour != "silent":
        print(f"Edge TPU Compiler version {version}", flush=True)
    if asked.version or behaviour == "silent":
        return 0
    print(f"Started a compilation timeout timer of {asked.timeout_sec} seconds.", flush=True)
    for source in asked.models:
        if not source.is_file() or not asked.out_dir.is_dir() or not _is_quantised(source.read_bytes()):
            print(f"Invalid model: {source}\nModel not quantized")
            return 1
        if behaviour == "hangs":
            signal.pause()
        if behaviour == "aborts":
            signal.raise_signal(signal.SIGABRT)
        if behaviour in {"large", "internal"}:
            why = "Compilation failed due to large activation tensors in model."
            print(
                f"Compilation failed: {why}"
                if behaviour == "large"
                else "Internal compiler error. Aborting! "
            )
            print("Compilation child process completed within timeout period.\nCompilation failed! ")
            return 1
        _compile(source, asked.out_dir, behaviour, version, asked.show_operations)
    print("Compilation child process completed within timeout period.\nCompilation succeeded! ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
