"""A TFLite runtime that plays the Edge TPU on the processor: of a file of the stand-in for the compiler
it runs the model within.
"""

from __future__ import annotations

from pathlib import Path

from tests.backends.coral.edgetpu_compiler import MARK

_SITE = """
try:
    from tflite_runtime import interpreter as tflite
except ImportError:
    from ai_edge_litert import interpreter as tflite

Interpreter = tflite.Interpreter


class Played(Interpreter):
    def __init__(self, model_path=None, **settings):
        if model_path is not None:
            with open(model_path, "rb") as file:
                content = file.read()
            _, mark, after = content.partition(MARK_OF_THE_COMPILER)
            if mark:
                content = after[8 : 8 + int.from_bytes(after[:8], "little")]
            settings["model_content"] = content
        Interpreter.__init__(self, **settings)


tflite.Interpreter = Played
"""


def runtime(folder: Path) -> str:
    """A folder for PYTHONPATH, in which whatever TFLite runtime is there plays it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_SITE.replace("MARK_OF_THE_COMPILER", repr(MARK)))
    return str(folder)
