"""LiteRT on the processor (device side, Python 3.6 syntax): .tflite in, scores out."""

from typing import Any, Dict, List, Optional, Union

from ...device.litert import Model, Runtime, Tensors, interpreter_of, loaded
from ...device.threads import threads_of


def _find_runtime() -> Runtime:
    """The first that is installed: LiteRT, its predecessor for boards, or the whole of TensorFlow."""
    try:
        import ai_edge_litert
        from ai_edge_litert import interpreter

        version = str(getattr(ai_edge_litert, "__version__", "unknown"))
        return Runtime(
            "ai-edge-litert",
            version,
            interpreter.Interpreter,
            interpreter.OpResolverType,
            interpreter.load_delegate,
        )
    except ImportError:
        pass
    try:
        import tflite_runtime
        from tflite_runtime import interpreter

        resolvers = getattr(interpreter, "OpResolverType", None)
        version = str(tflite_runtime.__version__)
        return Runtime(
            "tflite-runtime", version, interpreter.Interpreter, resolvers, interpreter.load_delegate
        )
    except ImportError:
        pass
    import tensorflow

    experimental = tensorflow.lite.experimental
    return Runtime(
        "tensorflow",
        str(tensorflow.__version__),
        tensorflow.lite.Interpreter,
        getattr(experimental, "OpResolverType", None),
        experimental.load_delegate,
    )


DELEGATE = "DELEGATE"
"""The name that the runtimes give a delegate's node."""

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_RUNTIME: Optional[Runtime] = None
_WHY_NONE = ""
try:
    _RUNTIME = _find_runtime()
except ImportError as missing:
    _WHY_NONE = str(missing)


def _interpreter(runtime: Runtime, path: str, options: Dict[str, Any], threads: int) -> Any:
    arguments: Dict[str, Any] = {"model_path": path, "num_threads": threads}
    if options["kernels"] == "reference":
        if runtime.resolvers is None:
            raise RuntimeError(
                "{} {} has no reference kernels; take kernels=xnnpack".format(runtime.name, runtime.version)
            )
        arguments["experimental_op_resolver_type"] = runtime.resolvers.BUILTIN_REF
    if options.get("delegate"):
        arguments["experimental_delegates"] = [_delegate(runtime, options)]
    return interpreter_of(runtime, **arguments)


def _delegate(runtime: Runtime, options: Dict[str, Any]) -> Any:
    pairs = [pair.partition("=") for pair in options["delegate_options"].split(",") if pair]
    try:
        return runtime.load_delegate(options["delegate"], {key: value for key, _, value in pairs})
    except (OSError, ValueError, RuntimeError) as error:
        raise RuntimeError(
            "the delegate {} cannot be loaded{}: {}".format(
                options["delegate"],
                " with {}".format(options["delegate_options"]) if pairs else "",
                str(error) or "it gives no reason",
            )
        ) from error


def placed(operations: List[Dict[str, Any]]) -> Dict[str, int]:
    """Count the operations that a delegate took, and those that it left on the processor.

    A delegate's node is listed next to the operations that it took. Each of these is on a path back
    from the node's outputs to its inputs.

    Args:
        operations: `index`, `op_name`, `inputs` and `outputs`, before the tensors are allocated.
    """
    made_by = {
        int(tensor): operation
        for operation in operations
        if operation["op_name"] != DELEGATE
        for tensor in operation["outputs"]
    }
    taken = set()
    for part in operations:
        if part["op_name"] != DELEGATE:
            continue
        given = {int(tensor) for tensor in part["inputs"]}
        wanted = [int(tensor) for tensor in part["outputs"]]
        while wanted:
            operation = made_by.get(wanted.pop())
            if operation is not None and int(operation["index"]) not in taken:
                taken.add(int(operation["index"]))
                wanted += [int(tensor) for tensor in operation["inputs"] if int(tensor) not in given]
    own = sum(operation["op_name"] != DELEGATE for operation in operations)
    return {"delegate": len(taken), "cpu": own - len(taken)}


def _placement(interpreter: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    """Return the record of a delegate.

    Raises:
        ValueError: it took no operation, and `allow_cpu` is off.
    """
    ask = getattr(interpreter, "_get_ops_details", None)
    told = {"delegate": options["delegate"], "delegate_options": options["delegate_options"]}
    if ask is None:
        return dict(told, placement=None, absent={"placement": "the runtime does not list its operations"})
    placement = placed(ask())
    if not placement["delegate"] and not options["allow_cpu"]:
        raise ValueError(
            "the delegate {} took none of the {} operations: give a model in the form that it takes (most "
            "take int8), or measure it on the processor with --set allow-cpu=true".format(
                options["delegate"], placement["cpu"]
            )
        )
    return dict(told, placement=placement)


def load(path: str, options: Dict[str, Any]) -> "Union[Model, Tensors]":
    """Read a .tflite file.

    `options` are threads, kernels, delegate, delegate_options, allow_cpu, and perhaps `input_shapes`.
    """
    if _RUNTIME is None:
        raise ImportError("no LiteRT runtime here ({})".format(_WHY_NONE))
    return made_by(_RUNTIME, path, options)


def made_by(runtime: Runtime, path: str, options: Dict[str, Any]) -> "Union[Model, Tensors]":
    """The model in one runtime."""
    settings: Dict[str, Any] = {"threads": threads_of(options), "kernels": options["kernels"]}
    interpreter = _interpreter(runtime, path, options, settings["threads"])
    if options.get("delegate"):
        settings.update(_placement(interpreter, options))
    return loaded(runtime, interpreter, settings, options)
