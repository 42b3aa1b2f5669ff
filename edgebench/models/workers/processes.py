"""Work for processes of their own: runtimes and converters never live in the harness's process.

A module that does such work calls `serve`; the harness hands it jobs with `run_jobs`. Both speak lines of
JSON: a job in, then any number of `{"progress": text}` and one `{"done": result}` or `{"error": {...}}` out.
What the process's libraries print goes to its stderr; of that, an error shows the last line that says
something. Temporary files go to the scratch folder, because a process that is ended removes none.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from edgebench.errors import EdgeBenchError

Job = Mapping[str, Any]
Report = Callable[[str], None]
Notes = dict[str, "dict[str, Any] | HelperError"]
"""What is known of each output of a job, by its name, or why there is none."""

_Result = TypeVar("_Result")

_LONGEST_LINE = 300
_NOISE = re.compile(
    r"\s"  # the frames of a traceback are indented; its last line is not
    r"|[IW]\d{4} \d\d:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IW] "  # what TensorFlow and absl log
    r"|(INFO|WARNING|DEBUG)\b|fully_quantize: |Traceback \(|I tensorflow/"
)
"""How a line on stderr begins that says nothing of why a process ended."""


class HelperError(EdgeBenchError):
    """A process of its own has no result for a job, and says why."""


class HelperEndedError(HelperError):
    """The process ended; `why` says how, with its last line that says something."""


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
    """One such process at a time, while it is open: one that ends is started anew for the next job.

    Args:
        module: what is run with `python -m`.
        stderr: where the process's stderr goes; its folder is its TMPDIR.
        env: additions to the environment.
    """

    def __init__(self, module: str, stderr: Path, env: Mapping[str, str] | None = None) -> None:
        self._module = module
        self._stderr = stderr
        self._env = {**os.environ, "TMPDIR": str(stderr.parent), **(env or {})}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, job: Job, progress: Report) -> dict[str, Any]:
        """The result of one job; HelperError when the process says so or ends."""
        process = self._running(job)
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(dict(job)) + "\n")
            process.stdin.flush()
        except OSError:
            raise self._ended(process, job) from None
        for text in process.stdout:
            line = json.loads(text)
            if "progress" in line:
                progress(str(line["progress"]))
            elif "error" in line:
                error = line["error"]
                raise HelperError(error["what"], why=error["why"], fix=error["fix"])
            else:
                return dict(line["done"])
        raise self._ended(process, job)

    def stop(self) -> None:
        """End the process, whatever it is doing; none is started after this."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                _end(self._process)

    def _running(self, job: Job) -> subprocess.Popen[str]:
        with self._lock:
            if self._closed:
                raise HelperError(f"{_named(job)} was not begun", why="its process was ended")
            if self._process is None or self._process.poll() is not None:
                if self._process is not None:
                    _end(self._process)
                with self._stderr.open("wb") as log:
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", "-m", self._module],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        env=self._env,
                        text=True,
                        encoding="utf-8",
                        start_new_session=True,  # a Ctrl-C at the terminal is for the harness, which ends it
                    )
            return self._process

    def _ended(self, process: subprocess.Popen[str], job: Job) -> HelperEndedError:
        status = process.wait()
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
        last = last_line(self._stderr.read_text(errors="replace"))
        return HelperEndedError(
            f"{_named(job)} failed in {self._module}",
            why=f"its process ended with {how}" + (f": {last}" if last else ""),
            fix="take another precision or device for it, and report this line with the versions of "
            "`edgebench doctor`",
        )


def last_line(stderr: str) -> str:
    """The last line of a process's stderr that says something, shortened; "" where none does."""
    telling = [line for line in stderr.splitlines() if line and not _NOISE.match(line)]
    return telling[-1].strip()[:_LONGEST_LINE] if telling else ""


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

    The processes' stderr and temporary files lie in `scratch`. The first failure ends all of them.
    """

    def answer(helper: Helper, job: Job) -> dict[str, Any]:
        return helper.ask(job, progress)

    return _shared_out(answer, module, jobs, scratch, processes, env)


def try_jobs(
    module: str,
    jobs: Sequence[Job],
    scratch: Path,
    progress: Report,
    *,
    processes: int = 2,
    env: Mapping[str, str] | None = None,
) -> list[dict[str, Any] | HelperError]:
    """As `run_jobs`, with the error in the place of a result that there is none of: the others go on."""

    def answer(helper: Helper, job: Job) -> dict[str, Any] | HelperError:
        try:
            return helper.ask(job, progress)
        except HelperError as error:
            return error

    return _shared_out(answer, module, jobs, scratch, processes, env)


def try_outputs(module: str, jobs: Sequence[Job], scratch: Path, progress: Report) -> list[Notes]:
    """As `try_jobs`, for jobs whose `outputs` are files by name and whose result is a note a name.

    A job of several outputs that fails is done again output by output: what fails for one of them takes no
    other with it.
    """
    results = try_jobs(module, jobs, scratch, progress)
    singles = [
        {**job, "outputs": {name: file}}
        for job, result in zip(jobs, results, strict=True)
        if isinstance(result, HelperError) and len(job["outputs"]) > 1
        for name, file in job["outputs"].items()
    ]
    again = iter(try_jobs(module, singles, scratch, progress))
    found: list[Notes] = []
    for job, result in zip(jobs, results, strict=True):
        notes: Notes = {}
        for name in job["outputs"]:
            is_repeated = isinstance(result, HelperError) and len(job["outputs"]) > 1
            outcome = next(again) if is_repeated else result
            notes[name] = outcome if isinstance(outcome, HelperError) else dict(outcome[name])
        found.append(notes)
    return found


def _shared_out(
    answer: Callable[[Helper, Job], _Result],
    module: str,
    jobs: Sequence[Job],
    scratch: Path,
    processes: int,
    env: Mapping[str, str] | None,
) -> list[_Result]:
    """The answers in the order of the jobs; the first error that one raises ends the others."""
    waiting: SimpleQueue[int] = SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    results: dict[int, _Result] = {}

    def work(helper: Helper) -> None:
        while True:
            try:
                index = waiting.get_nowait()
            except Empty:
                return
            results[index] = answer(helper, jobs[index])

    # Closing runs backwards: the processes end first, so no thread of the pool can still wait for one.
    with ThreadPoolExecutor(processes) as pool, ExitStack() as open_helpers:
        helpers = [
            open_helpers.enter_context(Helper(module, scratch / f"stderr-{number}", env))
            for number in range(min(processes, len(jobs)))
        ]
        for done in [pool.submit(work, helper) for helper in helpers]:
            done.result()
    return [results[index] for index in range(len(jobs))]


def _named(job: Job) -> str:
    """The job with its output, where it makes only one that has a name."""
    what, outputs = str(job.get("what", "its work")), job.get("outputs")
    return f"{what}-{next(iter(outputs))}" if isinstance(outputs, Mapping) and len(outputs) == 1 else what


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
