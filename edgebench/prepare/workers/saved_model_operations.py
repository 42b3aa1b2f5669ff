"""What a SavedModel would do to this machine, read from its protobuf; only in a process of its own.

Loading a SavedModel carries out its initialisers, and running it the rest: operations that write or read
files, call Python or reach a network are refused before that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgebench.errors import InputError

# Those that hide a graph of their own (Mlir, Dataset, Remote) are among them.
_SIDE_EFFECTS = re.compile(
    r"File(?!name|spec)|Save|Restore|Checkpoint|^Load|Reader|Record|Dataset|LMDB|FixedUnigram|Proto"
    r"|PyFunc|Mlir|CustomCall|HostCompute|TRT|Summary\w*Writer|Dump|^Debug"
    r"|Rpc|Remote|Collective|Send|Recv|Distributed|Heartbeat"
)
_TABLE_OF_FILE = re.compile(r"InitializeTableFromTextFile(V2)?")
_SAVING = frozenset(("SaveV2", "SaveSlices", "Save", "MergeV2Checkpoints"))
_RESTORING = frozenset(("RestoreV2", "RestoreSlice", "Restore"))
_DEEPEST_CALL = 20


def refuse_side_effects(path: Path) -> None:
    """InputError, which names the operation, for a graph that acts on more than its own tensors."""
    from tensorflow.python.saved_model.loader_impl import parse_saved_model

    metas = parse_saved_model(str(path)).meta_graphs
    for meta in metas:
        for asset in meta.asset_file_def:
            if not (path / "assets" / asset.filename).resolve().is_relative_to(path.resolve()):
                raise _refusal(path, f"an asset outside of its folder: {asset.filename}"[:300])
        for operation in _Graph(meta, len(metas) == 1).side_effects():
            raise _refusal(path, f"the operation {operation}"[:300])


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} has {what}",
        why="it acts on files, processes or a network of this machine when the model is loaded or run",
        fix="take it out of the model and export that again, or give the model as .tflite or .onnx",
    )


class _Graph:
    """One graph with its functions; "" is the name of the graph around them."""

    def __init__(self, meta: Any, is_only: bool) -> None:
        graph = meta.graph_def
        self._objects = meta.object_graph_def
        # Objects are loaded in place of the graph around the functions, unless there are several graphs.
        self._is_run = not is_only or not meta.HasField("object_graph_def")
        self._nodes = {"": graph.node} | {
            function.signature.name: function.node_def for function in graph.library.function
        }
        self._arguments = {
            function.signature.name: [argument.name for argument in function.signature.input_arg]
            for function in graph.library.function
        }
        self._assets = {_plain(asset.tensor_info.name) for asset in meta.asset_file_def}
        self._calls: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        for function, nodes in self._nodes.items():
            for node in nodes:
                for called in _called(node):
                    self._calls[called].append((function, node))
        self._restoring, self._saving = self._savers(meta)

    def side_effects(self) -> Iterable[str]:
        """The operations that have one, with the function that they are in."""
        for function, nodes in self._nodes.items():
            for node in nodes:
                if self._acts(function, node):
                    yield node.op + (f" (in {function})" if function else "")

    def _acts(self, function: str, node: Any) -> bool:
        if node.op in ("Print", "PrintV2"):
            stream: bytes = node.attr["output_stream"].s
            return stream.startswith(b"file")
        if _TABLE_OF_FILE.fullmatch(node.op):
            return not self._is_asset(function, node.input[1])
        # Every SavedModel has its own way to a checkpoint; loading takes the one back, and none the other.
        if node.op in _SAVING:
            return not self._is_of(self._saving, function, node)
        if node.op in _RESTORING:
            return not self._is_of(self._restoring, function, node)
        return _SIDE_EFFECTS.search(node.op) is not None

    def _is_of(self, saver: set[str], function: str, node: Any) -> bool:
        """Whether a node is the saver's, or in a function that the saver alone calls."""
        if not function:
            return node.name in saver
        calls = self._calls[function]
        is_object = function in self._objects.concrete_functions
        return bool(calls) and not is_object and all(not by and call.name in saver for by, call in calls)

    def _is_asset(self, function: str, tensor: str, depth: int = 0) -> bool:
        """Whether a file's name is that of an asset, wherever the function that takes it is called."""
        name = _plain(tensor)
        sources = {node.name: node.input[0] for node in self._nodes[function] if node.op == "Identity"}
        if name in sources and depth < _DEEPEST_CALL:
            return self._is_asset(function, sources[name], depth + 1)
        if not function:
            return name in self._assets
        arguments = self._arguments[function]
        if name not in arguments or depth >= _DEEPEST_CALL:
            return False
        place = arguments.index(name)
        answers = []
        if function in self._objects.concrete_functions:
            bound = self._objects.concrete_functions[function].bound_inputs
            at = place - len(arguments) + len(bound)
            answers.append(at >= 0 and self._objects.nodes[bound[at]].WhichOneof("kind") == "asset")
        for by, call in self._calls[function]:
            if by or self._is_run:
                is_plain = call.op in ("PartitionedCall", "StatefulPartitionedCall")
                answers.append(is_plain and self._is_asset(by, call.input[place], depth + 1))
        return bool(answers) and all(answers)

    def _savers(self, meta: Any) -> tuple[set[str], set[str]]:
        """The nodes that take a checkpoint back alone, and those that write one alone."""
        restoring = self._needed([meta.saver_def.restore_op_name])
        saving = self._needed([meta.saver_def.save_tensor_name])
        others = {node.name for node in self._nodes[""]} - restoring - saving
        # A tensor of a signature has one of several fields with its name.
        outputs = re.findall(r'name: "([^"]+)"', " ".join(map(str, meta.signature_def.values())))
        begun = [name for held in meta.collection_def.values() for name in held.node_list.value]
        run = self._needed([*outputs, *begun, *others])
        return restoring - run, saving - run - restoring

    def _needed(self, names: Iterable[str]) -> set[str]:
        """The nodes of the graph around the functions that these take, themselves among them."""
        inputs = {node.name: node.input for node in self._nodes[""]}
        waiting, needed = [_plain(name) for name in names], set()
        while waiting:
            name = waiting.pop()
            if name in inputs and name not in needed:
                needed.add(name)
                waiting += map(_plain, inputs[name])
        return needed


def _called(node: Any) -> set[str]:
    """The functions that a node names; older graphs have a function as the operation."""
    functions = [value.func for value in node.attr.values()]
    functions += [function for value in node.attr.values() for function in value.list.func]
    return {function.name for function in functions if function.name} | {node.op}


def _plain(tensor: str) -> str:
    """The node that a tensor's name, or a control input's, is of."""
    return tensor.removeprefix("^").partition(":")[0]
