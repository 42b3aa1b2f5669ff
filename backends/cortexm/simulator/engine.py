"""What a simulated firmware has done by an engine."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from edgebench.errors import UnsupportedError, not_installed
from edgebench.installed import version_of
from edgebench.link.window_session import size_bytes
from edgebench.prepare.workers.processes import Helper, HelperEndedError, HelperError
from edgebench.records.model import Artifact
from edgebench.records.values import Json, Progress


class EngineReset(Exception):
    """The board restarts during whatever it does."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InferenceFailed(Exception):
    """An engine says that an inference did not work."""


@dataclass(frozen=True)
class EngineFacts:
    """What `profile` says of it.

    Attributes:
        title: name and version.
        input_bytes: of the input tensor.
        scores: of one inference.
        working_bytes: the most memory that an inference works in; None where that is not known.
        copy_us: how long it takes to set the input; None where that is not known.
        state: "reset" where variable tensors are reset before each inference; None for a model without any.
    """

    title: str
    input_type: str
    input_bytes: int
    scores: int
    working_bytes: int | None
    copy_us: int | None
    state: str | None = None


# Inferences by tflite-micro, in a process of their own that may abort.


_PACKAGE = "tflite-micro"
INTERPRETER = "edgebench.backends.cortexm.simulator.interpreter"
_TYPES = ("float32", "int8", "uint8")


def version() -> str:
    """The package's version; UnavailableError if it is not installed."""
    if (installed := version_of(_PACKAGE)) is None:
        what = "a microcontroller cannot be simulated"
        raise not_installed(what, _PACKAGE, "pip install 'edgebench[simulator]'")
    return installed


class TflmEngine:
    """An artifact and the process that infers it, while it is open.

    Args:
        artifact: a .tflite of batch 1 with one input.
        progress: takes what went wrong in the process.
        interpreter: the module that is the process.
    """

    def __init__(self, artifact: Artifact, progress: Progress, interpreter: str = INTERPRETER) -> None:
        title = f"{_PACKAGE} {version()}"
        input_type = artifact.input_type
        if input_type not in _TYPES or artifact.batch != 1 or len(artifact.tensors) > 1:
            raise UnsupportedError(
                f"{artifact.variant} cannot be simulated",
                why=f"it takes no single input of {', '.join(_TYPES)}",
                fix="take a model with one such input, and batch 1",
            )
        state = "reset" if artifact.state == "reset" else None
        self.facts = EngineFacts(title, input_type, size_bytes(artifact), artifact.scores, None, None, state)
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
        """Make it ready, at every boot; False: it cannot run, and every `infer` answers an error.

        Asks once: what does not run at one boot runs at no other.
        """
        if self._has_started is None:
            try:
                facts = self._ask(do="start")
            except HelperError as error:
                self._progress(f"the model cannot be started: {error.why}")
                self._has_started = False
            else:
                self._has_started = True
                self.facts = replace(self.facts, working_bytes=facts["arena_bytes"], copy_us=facts["copy_us"])
        return self._has_started

    def infer(self, tensor: bytes, times: int) -> tuple[tuple[float, ...], tuple[int, int]]:
        """Scores of the last of `times` inferences (at least 1), and their start and end, monotonic ns.

        The tensor is set before each of them.

        Raises:
            InferenceFailed: it did not work.
            EngineReset: what infers has died, which resets a board.
        """
        try:
            done = self._ask(do="infer", tensor=base64.b64encode(tensor).decode("ascii"), times=times)
        except HelperEndedError as error:
            self._progress(f"reset: {error.why}")
            raise EngineReset("fault") from error
        except HelperError as error:
            self._progress(f"an inference failed: {error.why}")
            raise InferenceFailed from error
        return tuple(done["scores"]), (done["start_ns"], done["end_ns"])

    def _ask(self, **job: Json) -> dict[str, Json]:
        model: dict[str, Json] = {"model": self._model, "resets": self.facts.state is not None}
        return self._helper.ask({"what": self.facts.title, **model, **job}, self._progress)
