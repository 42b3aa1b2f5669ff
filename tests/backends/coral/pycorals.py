"""Two packages named `pycoral`: one with the names of Google's, and one of another's that must not be taken.

Google's is stood for by what it offers (pycoral 2.0.0: `pycoral.utils.edgetpu`); the one on the package index
is a program about something else altogether. The stand-in plays the Edge TPU on the processor: of a file that
the stand-in for the compiler wrote it runs the model within.
"""

from __future__ import annotations

from pathlib import Path

from tests.backends.coral.edgetpu_compiler import MARK

_EDGETPU = """
import ctypes

try:
    from tflite_runtime import interpreter as tflite
except ImportError:
    from ai_edge_litert import interpreter as tflite

_LIBRARY = "libedgetpu.so.1"
_MARK = MARK_OF_THE_COMPILER
_edgetpu = ctypes.CDLL(_LIBRARY)  # as Google's own extension module is linked: no library, no import
_edgetpu.edgetpu_version.restype = ctypes.c_char_p


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("path", ctypes.c_char_p)]


_edgetpu.edgetpu_list_devices.restype = ctypes.POINTER(_Device)
_edgetpu.edgetpu_list_devices.argtypes = [ctypes.POINTER(ctypes.c_size_t)]
_edgetpu.edgetpu_free_devices.argtypes = [ctypes.POINTER(_Device)]


def get_runtime_version():
    return _edgetpu.edgetpu_version().decode()


def list_edge_tpus():
    count = ctypes.c_size_t()
    devices = _edgetpu.edgetpu_list_devices(ctypes.byref(count))
    try:
        return [
            {"type": ("pci", "usb")[devices[place].type], "path": devices[place].path.decode()}
            for place in range(count.value)
        ]
    finally:
        _edgetpu.edgetpu_free_devices(devices)


def load_edgetpu_delegate(options=None):
    return tflite.load_delegate(_LIBRARY, options or {})


def make_interpreter(model_path_or_content, device=None, delegate=None):
    delegates = [delegate or load_edgetpu_delegate({"device": device} if device else {})]
    content = model_path_or_content
    if not isinstance(content, bytes):
        with open(content, "rb") as file:
            content = file.read()
    before, mark, after = content.partition(_MARK)
    if mark:
        content = after[8 : 8 + int.from_bytes(after[:8], "little")]
    return tflite.Interpreter(model_content=content, experimental_delegates=delegates)
"""


def googles(folder: Path, version: str = "2.0.0") -> Path:
    """A folder for PYTHONPATH with Google's pycoral, over whatever TFLite runtime is beside it."""
    utils = folder / "pycoral" / "utils"
    utils.mkdir(parents=True)
    (folder / "pycoral" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (utils / "__init__.py").write_text("")
    (utils / "edgetpu.py").write_text(_EDGETPU.replace("MARK_OF_THE_COMPILER", repr(MARK)))
    return folder


def anothers(folder: Path) -> Path:
    """A folder for PYTHONPATH with the unrelated one: it has `utils`, and no `utils.edgetpu`."""
    package = folder / "pycoral"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.1.0"\n\n\ndef reefs():\n    return []\n')
    (package / "utils.py").write_text("def area(polygon):\n    return 0.0\n")
    return folder
