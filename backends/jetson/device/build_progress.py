"""How far a build is, for the host (device side, Python 3.6 syntax)."""

import threading
from typing import Any, Callable, Dict, Optional


class Steps:
    """Counts what has been done. Nobody knows how many steps TensorRT will take. Thread-safe.

    Args:
        progress: of the runner contract.
    """

    def __init__(self, progress: Callable[..., None]) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0

    def step(self, text: str) -> None:
        """One step further, to what `text` names; whatever `progress` raises."""
        with self._lock:
            self._done += 1
            self._progress(self._done, 0, text)


class Phases:
    """TensorRT's phases and their steps, which it reports from threads of its own.

    Attributes:
        failure: what `steps` raised; the build is then ended.
    """

    def __init__(self, steps: Steps) -> None:
        self.failure: Optional[BaseException] = None
        self._steps = steps
        self._sizes: Dict[str, int] = {}

    def begin(self, name: str, steps: int) -> None:
        """A phase of so many steps begins."""
        self._sizes[name] = steps
        self._step(name)

    def step(self, name: str, step: int) -> bool:
        """A phase's step is done; whether the build goes on."""
        self._step("{} {}/{}".format(name, step + 1, self._sizes.get(name, "?")))
        return self.failure is None

    def _step(self, text: str) -> None:
        try:
            self._steps.step(text)
        except BaseException as error:
            self.failure = self.failure or error


def monitor_of(trt: Any, phases: Phases) -> Any:
    """A progress monitor for TensorRT's builder (TensorRT 10 on)."""

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)

        def phase_start(self, phase_name: str, parent_phase: Optional[str], num_steps: int) -> None:
            phases.begin(phase_name, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            return phases.step(phase_name, step)

        def phase_finish(self, phase_name: str) -> None:
            pass

    return Monitor()
