"""A .rknn by rknnlite, or an .onnx by the toolkit's simulator (device side, Python 3.6 syntax)."""

import re
from typing import Any, Dict

from ...device.score_rows import is_one_row
from .toolkit import built, require, toolkit_version

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
try:
    from rknnlite.api import RKNNLite
except ImportError as missing:
    RKNNLite, _WHY_NONE = None, str(missing)

_VERSION = r"\D{0,40}(?P<version>\d+(?:\.\d+)+)"
_MADE_BY = rb"(?P<version>\d+(?:\.\d+)+)\(compiler version"
"""Words in a .rknn that follow the version of the toolkit that made it."""


class Model:
    """A model that takes pixels; the neural unit carries it out, or the simulator."""

    input_dtype = "uint8"

    def __init__(self, model: Any, options: Dict[str, Any], runtime: Dict[str, Any]) -> None:
        self.input_shape = tuple(options["input_shapes"][0])
        self._model = model
        self._runtime = runtime

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version, and those of driver and toolkit."""
        return self._runtime

    def infer(self, slot: Any) -> Any:
        """Run the batch in the slot.

        Returns:
            Scores [1, classes], or a tuple of all outputs where they are anything else.
        """
        outputs = self._model.inference(inputs=[slot.array])
        if outputs is None:
            raise RuntimeError("rknnlite did not carry out the inference, see its words in stderr")
        if is_one_row([output.shape for output in outputs], 1):
            return outputs[0].reshape(1, -1)
        return tuple(outputs)

    def close(self) -> None:
        """Let go of the neural unit."""
        self._model.release()


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read a .rknn; for the simulator build an .onnx. `options` are those of the backend."""
    if not options["simulator"]:
        return _on_board(path, options)
    model = built(path, options["companions"]["build.npz"], options["precision"], options["soc"])
    require(model.init_runtime(), "init_runtime")
    return Model(model, options, {"name": "rknn-toolkit2", "version": toolkit_version(), "emulated": True})


def _on_board(path: str, options: Dict[str, Any]) -> Model:
    if RKNNLite is None:
        raise ImportError("no rknnlite here ({})".format(_WHY_NONE))
    mask = getattr(RKNNLite, "NPU_CORE_" + options["core_mask"].upper())
    with open(path, "rb") as file:
        made_by = re.search(_MADE_BY, file.read())
    toolkit = made_by and made_by.group("version").decode()
    model = RKNNLite(verbose=False)
    require(model.load_rknn(path), "load_rknn")
    require(model.init_runtime(core_mask=mask), "init_runtime of a model by rknn-toolkit2 {}".format(toolkit))
    answer = str(model.get_sdk_version())
    matches = (re.search(word + _VERSION, answer) for word in ("API:", "DRV:"))
    runtime, driver = (match and match.group("version") for match in matches)
    told = {"version": runtime, "driver": driver, "toolkit": toolkit}  # type: Dict[str, Any]
    untold = [name for name, value in told.items() if value is None]
    told["absent"] = dict.fromkeys(untold, "neither rknnlite nor the .rknn tells it")
    mismatch = "rknn-toolkit2 {} made the model, librknnrt {} runs it: install the same release of both"
    is_mismatch = runtime and toolkit and runtime != toolkit
    told["warnings"] = [mismatch.format(toolkit, runtime)] if is_mismatch else []
    return Model(model, options, dict(told, name="librknnrt", core_mask=options["core_mask"]))
