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
from typing import Any

from edgebench.errors import EdgeBenchError, UnsupportedError
from edgebench.session_stages import TIMEOUT, seconds_from

Job = Mapping[str, Any]
Report = Callable[[str], None]
Notes = dict[str, "dict[str, Any] | EdgeBenchError"]
"""The note or the error of each output of a job, by its name."""

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


class HelperTimeoutError(HelperEndedError):
    """The process was ended because it made no headway in the time that a stage may take."""


Outcome = dict[str, Any] | HelperError
"""The result of a job, or its error."""


def serve(handle: Callable[[Job, Report], Mapping[str, Any]]) -> None:
    """Answer jobs from stdin until it ends; called by the process itself.

    Descriptor 1 is kept for the answers and then pointed at stderr, because libraries print. TensorFlow sees
    no GPU: what is converted has the same numbers on every machine.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
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
    """One such process at a time, while it is open: one that ends is started again for the next job.

    Args:
        module: what is run with `python -m`, or the file of a program.
        stderr: where the process's stderr goes; its folder is its TMPDIR.
        env: additions to the environment.
        limit_s: seconds from a job, or what it reports, to the next that is heard of it; None: for ever.
        python: that runs a program.
    """

    def __init__(
        self,
        module: str | Path,
        stderr: Path,
        env: Mapping[str, str] | None = None,
        limit_s: float | None = None,
        python: str = sys.executable,
    ) -> None:
        is_program = isinstance(module, Path)
        self._module = str(module)
        self._command = [python, self._module] if is_program else [sys.executable, "-P", "-m", self._module]
        self._stderr = stderr
        self._env = {**os.environ, "TMPDIR": str(stderr.parent), **(env or {})}
        self._limit_s = limit_s
        self._overdue: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, job: Job, progress: Report) -> dict[str, Any]:
        """The result of one job; HelperError when the process says so, ends, or is ended at its limit."""
        process = self._running(job)
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(dict(job)) + "\n")
            process.stdin.flush()
        except OSError:
            raise self._ended(process, job) from None
        watch = self._watch(process)
        try:
            for text in process.stdout:
                line = json.loads(text)
                if "progress" in line:
                    watch.cancel()
                    watch = self._watch(process)
                    progress(str(line["progress"]))
                elif "error" in line:
                    error = line["error"]
                    raise HelperError(error["what"], why=error["why"], fix=error["fix"])
                else:
                    return dict(line["done"])
        finally:
            watch.cancel()
        if self._overdue is process:
            process.wait()  # the next job sees that it needs another one
            raise HelperTimeoutError(
                f"{_named(job)} was ended in {self._module}",
                why=f"it made no headway for {self._limit_s:g} s, the limit of a stage: it hangs or is slow",
                fix=f"set {TIMEOUT} to more seconds, or leave it out, if it takes longer; else check the "
                "model for a loop that does not end",
            )
        raise self._ended(process, job)

    def _watch(self, process: subprocess.Popen[str]) -> threading.Timer:
        """Ends the process at the limit, unless it is cancelled."""

        def end() -> None:
            self._overdue = process
            _kill(process)

        timer = threading.Timer(self._limit_s or threading.TIMEOUT_MAX, end)
        timer.daemon = True
        timer.start()
        return timer

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
                        self._command,
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
) -> list[Outcome]:
    """The outcomes of jobs in their order, from up to `processes` processes that take the next free one.

    A job that fails has its error as the outcome, and the others go on. The processes' stderr and temporary
    files are in `scratch`. A job is ended that makes no headway for as long as
    `$EDGEBENCH_STAGE_TIMEOUT_S`, if that is set, allows a stage; UsageError where it is no time.
    """
    limit_s = seconds_from(TIMEOUT)
    waiting: SimpleQueue[int] = SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    outcomes: dict[int, Outcome] = {}

    def work(helper: Helper) -> None:
        while True:
            try:
                index = waiting.get_nowait()
            except Empty:
                return
            try:
                outcomes[index] = helper.ask(jobs[index], progress)
            except HelperError as error:
                outcomes[index] = error

    # Closing runs backwards: the processes end first, so no thread of the pool can still wait for one.
    with ThreadPoolExecutor(processes) as pool, ExitStack() as open_helpers:
        helpers = [
            open_helpers.enter_context(Helper(module, scratch / f"stderr-{number}", env, limit_s))
            for number in range(min(processes, len(jobs)))
        ]
        for done in [pool.submit(work, helper) for helper in helpers]:
            done.result()
    return [outcomes[index] for index in range(len(jobs))]


def results_of(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The results where every job has one; else the first error is raised."""
    results: list[dict[str, Any]] = []
    for outcome in outcomes:
        if isinstance(outcome, HelperError):
            raise outcome
        results.append(outcome)
    return results


def run_outputs(module: str, jobs: Sequence[Job], scratch: Path, progress: Report) -> list[Notes]:
    """As `run_jobs`, for jobs whose `outputs` are files by name and whose result is a note a name.

    A job of several outputs that fails is done again output by output: what fails for one of them takes no
    other with it. A note that says `unsupported` (`notes.note_or_refusal`) is an UnsupportedError.
    """
    outcomes = run_jobs(module, jobs, scratch, progress)
    singles = [
        {**job, "outputs": {name: file}}
        for job, outcome in zip(jobs, outcomes, strict=True)
        if isinstance(outcome, HelperError) and len(job["outputs"]) > 1
        for name, file in job["outputs"].items()
    ]
    repeated = iter(run_jobs(module, singles, scratch, progress))
    notes: list[Notes] = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        is_repeated = isinstance(outcome, HelperError) and len(job["outputs"]) > 1
        notes.append(
            {name: _note(next(repeated) if is_repeated else outcome, name) for name in job["outputs"]}
        )
    return notes


def _note(outcome: Outcome, name: str) -> dict[str, Any] | EdgeBenchError:
    if isinstance(outcome, HelperError):
        return outcome
    note = dict(outcome[name])
    return UnsupportedError(**note["unsupported"]) if "unsupported" in note else note


def _named(job: Job) -> str:
    """The job with its output, where it makes only one that has a name."""
    what, outputs = str(job.get("what", "its work")), job.get("outputs")
    return f"{what}-{next(iter(outputs))}" if isinstance(outputs, Mapping) and len(outputs) == 1 else what


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill it and what it has started; both are a group of their own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[str]) -> None:
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
