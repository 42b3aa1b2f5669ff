"""LiteRT on the processor (device side, Python 3.6 syntax): .tflite in, scores out."""

from typing import Any, Dict, Optional, Union

from ...device.litert import Model, Runtime, Tensors, interpreter_of, loaded
from ...device.threads import threads_of


def _find_runtime() -> Runtime:
    """The first that is installed: LiteRT, its predecessor for boards, or the whole of TensorFlow."""
    try:
        import ai_edge_litert
        from ai_edge_litert import interpreter

        version = str(getattr(ai_edge_litert, "__version__", "unknown"))
        return Runtime("ai-edge-litert", version, interpreter.Interpreter, interpreter.OpResolverType)
    except ImportError:
        pass
    try:
        import tflite_runtime
        from tflite_runtime import interpreter

        resolvers = getattr(interpreter, "OpResolverType", None)
        return Runtime("tflite-runtime", str(tflite_runtime.__version__), interpreter.Interpreter, resolvers)
    except ImportError:
        pass
    import tensorflow

    resolvers = getattr(tensorflow.lite.experimental, "OpResolverType", None)
    return Runtime("tensorflow", str(tensorflow.__version__), tensorflow.lite.Interpreter, resolvers)


# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_RUNTIME: Optional[Runtime] = None
_WHY_NONE = ""
try:
    _RUNTIME = _find_runtime()
except ImportError as missing:
    _WHY_NONE = str(missing)


def _interpreter(runtime: Runtime, path: str, threads: int, kernels: str) -> Any:
    arguments: Dict[str, Any] = {"model_path": path, "num_threads": threads}
    if kernels == "reference":
        if runtime.resolvers is None:
            raise RuntimeError(
                "{} {} has no reference kernels; take kernels=xnnpack".format(runtime.name, runtime.version)
            )
        arguments["experimental_op_resolver_type"] = runtime.resolvers.BUILTIN_REF
    return interpreter_of(runtime, **arguments)


def load(path: str, options: Dict[str, Any]) -> "Union[Model, Tensors]":
    """Read a .tflite file; `options` are threads, kernels, and perhaps `input_shapes`."""
    if _RUNTIME is None:
        raise ImportError("no LiteRT runtime here ({})".format(_WHY_NONE))
    return made_by(_RUNTIME, path, options)


def made_by(runtime: Runtime, path: str, options: Dict[str, Any]) -> "Union[Model, Tensors]":
    """The model in one runtime."""
    settings: Dict[str, Any] = {"threads": threads_of(options), "kernels": options["kernels"]}
    return loaded(runtime, _interpreter(runtime, path, **settings), settings, options)
