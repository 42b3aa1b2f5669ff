"""The Edge TPU by libedgetpu (device side, Python 3.6 syntax): a compiled .tflite in, scores out.

By tflite_runtime, else ai_edge_litert, with libedgetpu as its delegate, as Google's pycoral does it. What the
compiler left out stays on the processor, within the same call.
"""

import mmap
import os
import platform
import sys
from collections import Counter
from typing import Any, Dict, Optional, Tuple, Union

from ...device.litert import Model, Runtime, Tensors, interpreter_of, loaded
from ...device.threads import threads_of
from ...device.usb_sticks import ROOT, usb2_warnings
from .edgetpu import Library, accelerators, build_of, library_of, tell_of

DELEGATE = "libedgetpu.so.1"
CUSTOM_OP = b"edgetpu-custom-op"
# The host reads these lines off the stderr of a worker that died between them.
LOADING = "edgebench: loading the delegate"
READY = "edgebench: the delegate is ready"
ON_CPU = "the model is not compiled for the Edge TPU: every figure is the processor's, not the Edge TPU's"
FRESH = "the Edge TPU had no firmware before: the cold figures carry it, and the model"


def _find_runtime() -> Runtime:
    """TFLite's interpreter as tflite_runtime, or as ai_edge_litert."""
    try:
        import tflite_runtime
        from tflite_runtime import interpreter

        name, version = "tflite-runtime", str(tflite_runtime.__version__)
    except ImportError:
        import ai_edge_litert
        from ai_edge_litert import interpreter

        name, version = "ai-edge-litert", str(getattr(ai_edge_litert, "__version__", "unknown"))
    return Runtime(name, version, interpreter.Interpreter, None, interpreter.load_delegate)


# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_RUNTIME: Optional[Runtime] = None
_WHY_NONE = ""
try:
    _RUNTIME = _find_runtime()
except ImportError as missing:
    _WHY_NONE = str(missing)


def load(path: str, options: Dict[str, Any]) -> "Union[Model, Tensors]":
    """Read a compiled .tflite file; one that is not compiled with `allow_cpu` alone.

    `options` are edgetpu, delegate, threads, allow_cpu, and perhaps `input_shapes`.
    """
    if _RUNTIME is None:
        raise ImportError("no TFLite runtime here ({})".format(_WHY_NONE))
    return made_by(_RUNTIME, path, options, os.environ.get(ROOT, "/"))


def made_by(runtime: Runtime, path: str, options: Dict[str, Any], root: str) -> "Union[Model, Tensors]":
    """The model in one runtime; `root` is the folder that sysfs is found in."""
    compiled = is_compiled(path)
    if not compiled and not options["allow_cpu"]:
        raise ValueError(
            "the model is not compiled for the Edge TPU: it has no operation {}; compile it with "
            "edgetpu_compiler, or take it on the processor with --set allow-cpu=true".format(
                CUSTOM_OP.decode()
            )
        )
    before = accelerators(root)
    _say("{} {} under {} {}, Python {}".format(
        LOADING,
        options["delegate"],
        runtime.name,
        runtime.version,
        platform.python_version(),
    ))  # fmt: skip
    delegate, why_not = _delegate(runtime, options, compiled, before)
    settings: Dict[str, Any] = {"threads": threads_of(options)}
    interpreter = interpreter_of(
        runtime,
        model_path=path,
        num_threads=settings["threads"],
        experimental_delegates=[] if delegate is None else [delegate],
    )
    model = loaded(runtime, interpreter, settings, options)
    _say(READY)
    settings.update(_session_settings(interpreter, options, compiled, why_not, root, before))
    return model


def _say(line: str) -> None:
    # Flushed: a worker that dies by a signal flushes nothing any more.
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def is_compiled(path: str) -> bool:
    """Whether the file names the operation that the Edge TPU's compiler puts in."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(CUSTOM_OP) >= 0


def _delegate(
    runtime: Runtime, options: Dict[str, Any], compiled: bool, before: Dict[str, Any]
) -> Tuple[Any, str]:
    """The delegate, else None and the reason: only for a model that has no need of it."""
    which = {"device": options["edgetpu"]} if options["edgetpu"] else {}
    try:
        return runtime.load_delegate(options["delegate"], which), ""
    except (OSError, ValueError, RuntimeError) as error:
        reason = "{} cannot be loaded{}: {}".format(
            options["delegate"], " for {}".format(options["edgetpu"]) if options["edgetpu"] else "", error
        )
        # One that was named is meant: nothing goes on quietly without it.
        if compiled or options["delegate"] != DELEGATE:
            raise RuntimeError("{}; {}".format(reason, tell_of(before))) from error
        return None, reason


def _session_settings(
    interpreter: Any,
    options: Dict[str, Any],
    compiled: bool,
    why_not: str,
    root: str,
    before: Dict[str, Any],
) -> Dict[str, Any]:
    """What goes into every record in addition to the runtime's name and version."""
    absent: Dict[str, str] = {}
    after = accelerators(root)
    library = Library(None, None, "", None, "") if why_not else library_of(options["delegate"])
    build, why_no_build = (None, "") if why_not else build_of(root, library.path)
    absent.update(delegate=why_not, delegate_clock=why_no_build)
    absent.update(delegate_version=library.why_no_version, edgetpu_devices=library.why_no_devices)
    operations, absent["operations"] = _operations(interpreter)
    absent.update(after["absent"])
    warnings = usb2_warnings(after["usb"], "the Edge TPU", "three times") if compiled else [ON_CPU]
    warnings += [FRESH] if before["firmware"] is False else []
    return {
        "runs_on": "edgetpu" if compiled else "cpu",
        "python": platform.python_version(),
        "edgetpu": options["edgetpu"] or "any",
        "edgetpu_devices": library.devices,
        "delegate": None if why_not else options["delegate"],
        "delegate_path": library.path,
        "delegate_version": library.version,
        "delegate_clock": build,
        "operations": operations,
        "usb": after["usb"],
        "firmware_before": before["firmware"],
        "pcie": after["pcie"],
        "absent": {name: reason for name, reason in absent.items() if reason},
        "warnings": warnings,
    }


def _operations(interpreter: Any) -> "Tuple[Optional[Dict[str, int]], str]":
    """Nodes that the runtime carries out, by name: one `edgetpu-custom-op` is a part on the Edge TPU."""
    ask = getattr(interpreter, "_get_ops_details", None)
    if ask is None:
        return None, "the runtime does not list them"
    try:
        names = [str(operation["op_name"]) for operation in ask()]
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        return None, "the runtime does not list them: {}".format(error)
    return dict(Counter(names)), ""
