"""Inferences by tflite-micro, in a process of their own that may abort."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Literal

from edgebench.errors import UnavailableError, UnsupportedError
from edgebench.installed import version_of
from edgebench.models.workers.processes import Helper, HelperEndedError, HelperError
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json, Progress

from .engine import BoardReset, EngineFacts, InferenceFailed, Inferences

_PACKAGE = "tflite-micro"
_INTERPRETER = "edgebench.backends.cortexm.simulator.interpreter"
_WIDTHS: dict[str, tuple[Literal["float32", "int8", "uint8"], int]] = {
    "float32": ("float32", 4),
    "int8": ("int8", 1),
    "uint8": ("uint8", 1),
}


def version() -> str:
    """Of the package; UnavailableError where it is not installed."""
    installed = version_of(_PACKAGE)
    if installed is None:
        raise UnavailableError(
            "a microcontroller cannot be simulated",
            why=f"{_PACKAGE} is not installed",
            fix="pip install 'edgebench[simulator]'",
        )
    return installed


class TflmEngine:
    """An artifact and the process that infers it, while it is open.

    Args:
        artifact: a .tflite of batch 1 with a picture as its input.
        progress: takes what went wrong in the process.
        interpreter: the module that is the process.
    """

    def __init__(self, artifact: Artifact, progress: Progress, interpreter: str = _INTERPRETER) -> None:
        title = f"{_PACKAGE} {version()}"
        if artifact.input.dtype not in _WIDTHS or artifact.batch != 1 or artifact.tensors:
            raise UnsupportedError(
                f"{artifact.variant} cannot be simulated", why="its input is no single picture"
            )
        input_type, width = _WIDTHS[artifact.input.dtype]
        pixels = artifact.input.height * artifact.input.width
        self.facts = EngineFacts(title, input_type, pixels * 3 * width, artifact.scores, None, None)
        self._model = str(artifact.path)
        self._progress = progress
        self._scratch = tempfile.TemporaryDirectory(prefix="edgebench-simulator-")
        self._helper = Helper(interpreter, Path(self._scratch.name) / "stderr")
        self._has_started: bool | None = None

    def __enter__(self) -> TflmEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._helper.stop()
        self._scratch.cleanup()

    def start(self) -> bool:
        """Asks once: what does not run at one boot runs at no other."""
        if self._has_started is None:
            try:
                facts = self._ask(what="start")
            except HelperError as error:
                self._progress(f"the model cannot be started: {error.why}")
                self._has_started = False
            else:
                self._has_started = True
                self.facts = replace(self.facts, working_bytes=facts["arena_bytes"], copy_us=facts["copy_us"])
        return self._has_started

    def infer(self, tensor: bytes, times: int) -> Inferences:
        """As the protocol."""
        try:
            done = self._ask(what="infer", tensor=base64.b64encode(tensor).decode("ascii"), times=times)
        except HelperEndedError as error:
            self._progress(f"reset: {error.why}")
            raise BoardReset("fault") from error
        except HelperError as error:
            self._progress(f"an inference failed: {error.why}")
            raise InferenceFailed from error
        return Inferences(tuple(done["scores"]), done["start_ns"], done["end_ns"])

    def abort(self) -> None:
        """As the protocol."""
        try:
            self._ask(what="abort")
        except HelperEndedError as error:
            self._progress(f"reset: {error.why}")
            raise BoardReset("fault") from error

    def _ask(self, **job: Json) -> dict[str, Json]:
        return self._helper.ask({"model": self._model, **job}, self._progress)
