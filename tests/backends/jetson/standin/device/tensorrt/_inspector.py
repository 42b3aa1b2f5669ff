"""The inspector: an engine's layers and tensors as text, in the form of the release."""

import json

import numpy as np

from ._shape import ENUMERATIONS, MAJOR, SHAPE, Bound, attribute, incompatible
from ._values import data_type

_FORMATS = {
    "Float": "Row major linear FP32",
    "Half": "Row major linear FP16 format",
    "Int8": "Thirty-two wide channel vectorized row major Int8 format",
}


class EngineInspector(Bound):
    """Tells of an engine's layers, as much as it was built to keep."""

    execution_context = attribute("execution_context")
    error_recorder = attribute("error_recorder")

    def __init__(self, engine):
        super().__init__()
        self._engine, self._execution_context, self._error_recorder = engine, None, None

    def get_layer_information(self, layer_index, format):
        """One layer."""
        return self._written(self._layer(self._engine._header["layers"][layer_index]), format)

    def get_engine_information(self, format):
        """All layers, and the tensors that go in and come out."""
        if not isinstance(format, ENUMERATIONS["LayerInformationFormat"]):
            raise incompatible("get_engine_information", format)
        header = self._engine._header
        layers = [self._layer(layer) for layer in header["layers"]]
        if format.name == "ONELINE":
            return "\n".join(self._written(layer, format) for layer in layers) + "\n"
        fields = {"Layers": [layer for layer in layers if layer is not None]}
        fields.update(_tensors_of(header))
        return json.dumps(fields, indent=2)

    def _layer(self, layer):
        kept = self._engine._header["verbosity"]
        if kept == "NONE":
            return None
        if kept not in ("DETAILED", "VERBOSE"):
            return layer["name"]
        fields = {
            "Name": layer["name"],
            "LayerType": layer["kind"],
            "Inputs": [self._tensor(layer, name) for name in layer["reads"]],
            "Outputs": [self._tensor(layer, layer["writes"])],
        }
        if layer["op"] in ("Conv", "Gemm", "MatMul"):
            fields.update(
                {"ParameterType": "Convolution", "Weights": {"Type": layer["precision"], "Count": 1}}
            )
        fields.update(
            {"TacticName": "standin_" + layer["precision"].lower(), "TacticValue": "0x0000000000000001"}
        )
        return fields

    def _tensor(self, layer, name):
        entries = {each[0]: each for each in self._engine._tensors}
        precision = layer["precision"]
        shape = list(self._engine._tensors[0][2])
        if name in entries:
            precision = {np.dtype(np.float16): "Half", np.dtype(np.int8): "Int8"}.get(
                entries[name][1], "Float"
            )
            shape = list(entries[name][2])
        tensor = {"Name": name, "Location": "Device", "Dimensions": shape}
        if SHAPE == "8.2":
            del tensor["Location"]
        if MAJOR >= 11:
            tensor.update({"Datatype": precision, "Format": _FORMATS[precision]})
        else:
            tensor["Format/Datatype"] = _FORMATS[precision]
        return tensor

    def _written(self, layer, format):
        if layer is None:
            return ""
        if format.name == "JSON" or isinstance(layer, str):
            return json.dumps(layer)
        return ", ".join("{}: {}".format(name, value) for name, value in layer.items())


def _tensors_of(header):
    """From 11 on objects, before names (NVIDIA: Migrating IEngineInspector Usage from 10.x to 11.x)."""
    if MAJOR < 11:
        return {"Bindings": [each[0] for each in header["inputs"] + header["outputs"]]}
    return {
        "I/O Tensors": [
            {
                "Name": name,
                "IOMode": mode,
                "DataType": data_type(dtype).name.title(),
                "Dimensions": shape,
                "Location": "Device",
            }
            for mode, values in (("Input", header["inputs"]), ("Output", header["outputs"]))
            for name, dtype, shape in values
        ]
    }
