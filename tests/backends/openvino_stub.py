"""A module that stands for OpenVINO 2021.4 with the MYRIAD plugin, which does as it is told."""

from __future__ import annotations

from pathlib import Path

_MODULE = """
import numpy, pathlib

ERROR = {error!r}
STICK = {stick!r}  # the folder that sysfs has of it

class Described:
    def __init__(self, **values):
        self.__dict__.update(values)

TensorDesc = Blob = lambda *arguments: None

class Request:
    def __init__(self):
        self.input_blobs = {{"x": Described(buffer=numpy.zeros({shape!r}, "float32"))}}
    def set_blob(self, name, blob):
        pass
    def infer(self):
        pass
    async_infer = infer
    def wait(self, milliseconds):
        return 0

class Compiled:
    requests = [Request() for _ in range(4)]
    def get_metric(self, name):
        return "4"
    def get_config(self, name):
        raise RuntimeError("not told")
    def get_exec_graph_info(self):
        raise RuntimeError("not told")

class IECore:
    available_devices = ["CPU"] if ERROR else ["CPU", "MYRIAD"]
    def get_versions(self, name):
        return {{name: Described(build_number="1")}}
    def get_metric(self, device, name):
        raise RuntimeError("not told")
    def read_network(self, path):
        desc = Described(dims=list({shape!r}), precision="FP32")
        output = Described(shape=[1, 5], precision="FP32", layout="NC")
        return Described(input_info={{"x": Described(tensor_desc=desc)}}, outputs={{"y": output}})
    def load_network(self, network, device, config, num_requests):
        if ERROR:
            raise RuntimeError(ERROR)
        for name, text in {booted!r}.items():  # the plugin loads the firmware
            pathlib.Path(STICK, name).write_text(text)
        return Compiled()

def get_version():
    return "2021.4.2-stub"
"""


def make_openvino(
    folder: Path,
    shape: tuple[int, ...],
    error: str = "",
    stick: Path | None = None,
    booted_mbps: int | None = None,
) -> Path:
    """A folder for PYTHONPATH.

    Args:
        folder: where it is made.
        shape: of the one input.
        error: that loading a network raises.
        stick: the folder that a made sysfs has of the stick.
        booted_mbps: the bus speed that it shows once its firmware is loaded.
    """
    engine = folder / "openvino" / "inference_engine"
    engine.mkdir(parents=True)
    (folder / "openvino" / "__init__.py").touch()
    booted = {} if booted_mbps is None else {"idProduct": "f63b\n", "speed": f"{booted_mbps}\n"}
    text = _MODULE.format(error=error, stick=str(stick), shape=shape, booted=booted)
    (engine / "__init__.py").write_text(text)
    return folder
