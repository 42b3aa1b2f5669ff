"""What TensorRT logs while it parses and builds (device side, Python 3.6 syntax)."""

import threading
from collections import deque
from typing import Any, Callable, Deque, List, Optional

LAYERS_FOLLOW = "Engine Layer Information:"
LAYER = "Layer("
TIMED = "Timing Runner:"
"""Of the verbose line that begins the timing of one layer's implementations."""

OUT_OF_MEMORY = (
    "outofmemory",
    "out of memory",
    "insufficient memory",
    "insuficient memory",  # as TensorRT 8 spells it where it skips a tactic
    "memory is insufficient",
    "could not be allocated",
    "cudaerrormemoryallocation",
)
MOST_LINES = 50
MOST_TEXT = 400


class BuildLog:
    """Errors and warnings, and the verbose lines that say how each layer was built. Thread-safe.

    Args:
        step: called with a text when the timing of a layer's implementations begins; none where nobody asks.

    Attributes:
        errors, warnings: the last lines of each.
        layers: lines `Layer(KIND): NAME, Tactic: 0x0, IN[TYPE(...)] -> OUT[TYPE(...)]` of the last engine.
        failure: what went wrong while a line was taken in.
    """

    def __init__(self, step: Callable[[str], None] = lambda _: None) -> None:
        self.errors: Deque[str] = deque(maxlen=MOST_LINES)
        self.warnings: Deque[str] = deque(maxlen=MOST_LINES)
        self.layers: List[str] = []
        self.failure: Optional[BaseException] = None
        self._step = step
        self._lock = threading.Lock()

    def error(self, text: str) -> None:
        """Take in an error."""
        with self._lock:
            self.errors.append(in_one_line(text))

    def warning(self, text: str) -> None:
        """Take in a warning."""
        with self._lock:
            self.warnings.append(in_one_line(text))

    def verbose(self, text: str) -> None:
        """Take in a verbose message, of one or several lines."""
        if TIMED in text:
            self._step("timing " + in_one_line(text.partition(TIMED)[2]))
            return
        if not text.lstrip().startswith((LAYERS_FOLLOW, LAYER)):
            return
        with self._lock:
            if text.lstrip().startswith(LAYERS_FOLLOW):
                self.layers = []
            self.layers += [line for line in text.splitlines() if line.startswith(LAYER)]

    def says_out_of_memory(self) -> bool:
        """Whether memory ran out, by what was logged.

        A build that succeeds may log it too, of an implementation that was left out for it.
        """
        lines = [line.lower() for line in list(self.errors) + list(self.warnings)]
        return any(words in line for line in lines for words in OUT_OF_MEMORY)

    def last_errors(self, count: int = 3) -> str:
        """The last errors, in one line; where there is none, the last warnings."""
        lines = list(self.errors) or list(self.warnings)
        return "; ".join(lines[-count:]) or "TensorRT logged no reason"


def logger_of(trt: Any, log: BuildLog) -> Any:
    """A logger for TensorRT's objects that writes to `log`.

    TensorRT calls it from its own threads, in functions that end the process when an exception leaves them.
    """
    level = trt.Logger  # 8.0 has its severities here alone

    class Logger(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, msg: str) -> None:
            try:
                if severity in (level.INTERNAL_ERROR, level.ERROR):
                    log.error(msg)
                elif severity == level.WARNING:
                    log.warning(msg)
                elif severity == level.VERBOSE:
                    log.verbose(msg)
            except BaseException as error:
                log.failure = log.failure or error

    return Logger()


def in_one_line(text: str) -> str:
    """Without line ends, and cut."""
    return " ".join(text.split())[:MOST_TEXT]
