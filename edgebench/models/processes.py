"""Work for processes of their own: runtimes and converters never live in the harness's process.

A module that does such work calls `serve`; the harness hands it jobs with `run_jobs`. Both speak lines of
JSON: a job in, then any number of `{"progress": text}` and one `{"done": result}` or `{"error": {...}}` out.
What the process's libraries print goes to its stderr, which is shown only when the work fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from edgebench.errors import EdgeBenchError

Job = Mapping[str, Any]
Report = Callable[[str], None]

_STDERR_LINES = 8


class HelperError(EdgeBenchError):
    """A process of its own failed; `why` holds its last words."""


def serve(handle: Callable[[Job, Report], Mapping[str, Any]]) -> None:
    """Answer jobs from stdin until it ends; called by the process itself.

    Descriptor 1 is kept for the answers and then pointed at stderr, because libraries print.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line: Mapping[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    for text in sys.stdin:
        try:
            say({"done": dict(handle(json.loads(text), lambda what: say({"progress": what})))})
        except EdgeBenchError as error:
            say({"error": {"what": error.what, "why": error.why, "fix": error.fix}})


class Helper:
    """One such process, while it is open."""

    def __init__(self, module: str, stderr: Path, env: Mapping[str, str] | None = None) -> None:
        self._module = module
        self._stderr = stderr
        with stderr.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(env or {})},
                text=True,
                encoding="utf-8",
                start_new_session=True,  # a Ctrl-C at the terminal is for the harness, which ends these
            )

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, job: Job, progress: Report) -> dict[str, Any]:
        """The result of one job; HelperError when the process says so or ends."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(dict(job)) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended(job) from None
        for text in self._process.stdout:
            line = json.loads(text)
            if "progress" in line:
                progress(str(line["progress"]))
            elif "error" in line:
                error = line["error"]
                raise HelperError(error["what"], why=error["why"], fix=error["fix"])
            else:
                return dict(line["done"])
        raise self._ended(job)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _ended(self, job: Job) -> HelperError:
        status = self._process.wait()
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
        lines = self._stderr.read_text(errors="replace").splitlines()[-_STDERR_LINES:]
        return HelperError(
            f"{self._module} failed at {job.get('what', 'its work')}",
            why="\n".join([f"its process ended with {how}", *lines]),
            fix="mend what its last words name; where they name nothing, report them",
        )


def run_jobs(
    module: str,
    jobs: Sequence[Job],
    scratch: Path,
    progress: Report,
    *,
    processes: int = 2,
    env: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """The results of jobs in their order, from up to `processes` processes that take the next free one.

    The processes' stderr lies in `scratch` meanwhile. The first failure ends all of them.
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    results: list[dict[str, Any]] = [{} for _ in jobs]

    def work(helper: Helper) -> None:
        while True:
            try:
                index = waiting.get_nowait()
            except Empty:
                return
            results[index] = helper.ask(jobs[index], progress)

    # Closing runs backwards: the processes end first, so no thread of the pool can still wait for one.
    with ThreadPoolExecutor(processes) as pool, ExitStack() as open_helpers:
        count = min(processes, len(jobs))
        helpers = [
            open_helpers.enter_context(Helper(module, scratch / f"stderr-{number}", env))
            for number in range(count)
        ]
        for done in [pool.submit(work, helper) for helper in helpers]:
            done.result()
    return results
