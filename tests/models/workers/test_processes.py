import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from edgebench.errors import UsageError
from edgebench.prepare.workers.processes import (
    HelperEndedError,
    HelperError,
    HelperTimeoutError,
    last_line,
    results_of,
    run_jobs,
    run_outputs,
)

# The helpers are started with -P, which leaves the working folder out of the path.
ENV = {"PYTHONPATH": str(Path(__file__).parents[3])}


def run(jobs: Sequence[dict[str, object]], scratch: Path, said: list[str], processes: int = 2):
    return results_of(
        run_jobs("tests.models.helping", jobs, scratch, said.append, processes=processes, env=ENV)
    )


def job(n: int, do: str = "answer") -> dict[str, object]:
    return {"what": f"job {n}", "n": n, "do": do}


def test_results_come_in_the_order_of_the_jobs(tmp_path: Path):
    said: list[str] = []
    results = run([job(n) for n in range(6)], tmp_path, said)
    assert [result["n"] for result in results] == list(range(6))
    assert sorted(said) == [f"at {n}" for n in range(6)]
    assert os.getpid() not in {result["process"] for result in results}


def test_no_jobs_start_no_process(tmp_path: Path):
    assert run([], tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_keeps_its_words(tmp_path: Path):
    with pytest.raises(HelperError) as caught:
        run([job(0, "refuse")], tmp_path, [])
    assert (caught.value.what, caught.value.why, caught.value.fix) == (
        "no",
        "it is so",
        "ask for something else",
    )


@pytest.mark.parametrize(
    ("do", "how", "words"),
    [("crash", "exit code 1", "the last words"), ("abort", "SIGABRT", "about to abort")],
)
def test_a_process_that_dies_is_said_with_how_and_its_last_words(
    tmp_path: Path, do: str, how: str, words: str
):
    with pytest.raises(HelperEndedError, match="job 0") as caught:
        run([job(0, do)], tmp_path, [])
    assert how in caught.value.why
    assert caught.value.why.endswith(words)
    assert "\n" not in caught.value.why


def test_after_a_failure_no_process_and_no_thread_is_left(tmp_path: Path):
    before = set(psutil.Process().children())
    with pytest.raises(HelperError):
        run([job(0, "abort"), *(job(n) for n in range(1, 50))], tmp_path, [])
    assert set(psutil.Process().children()) <= before
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


@pytest.mark.attack("a model hangs while it is prepared: it is ended at the limit of a stage")
def test_a_job_without_headway_is_ended_at_the_limit_of_a_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EDGEBENCH_STAGE_TIMEOUT_S", "1")
    before = set(psutil.Process().children())
    (hung,) = run_jobs("tests.models.helping", [job(0, "hang")], tmp_path, lambda _: None, env=ENV)
    assert isinstance(hung, HelperTimeoutError)
    assert "job 0" in hung.what and "1 s" in hung.why and "EDGEBENCH_STAGE_TIMEOUT_S" in hung.fix
    assert set(psutil.Process().children()) <= before


def test_what_a_job_began_ends_with_it(tmp_path: Path):
    said: list[str] = []

    def interrupt(text: str) -> None:
        said.append(text)
        if text.startswith("child"):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_jobs("tests.models.helping", [job(0, "hang with a child")], tmp_path, interrupt, env=ENV)
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(int(said[-1].split()[1]))
        for _ in range(3000):
            if child.status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.01)
        else:
            pytest.fail("what the process began goes on")


def test_a_limit_that_is_no_time_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EDGEBENCH_STAGE_TIMEOUT_S", "soon")
    with pytest.raises(UsageError, match="soon"):
        run([job(0)], tmp_path, [])


def test_an_interrupt_ends_them_at_once(tmp_path: Path):
    def interrupt(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = set(psutil.Process().children())
    with pytest.raises(KeyboardInterrupt):
        run_jobs("tests.models.helping", [job(0, "hang")], tmp_path, interrupt, env=ENV)
    assert set(psutil.Process().children()) <= before


def test_a_module_that_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(HelperError) as caught:
        results_of(run_jobs("edgebench.models.no_such_module", [job(0)], tmp_path, lambda _: None))
    assert "no_such_module" in caught.value.why


def test_of_what_libraries_print_the_last_line_that_says_something_is_kept():
    assert last_line("") == ""
    assert last_line("WARNING: all log messages\n\nINFO: delegate\n  indented\n") == ""
    assert last_line("ValueError: no\nW0000 00:00:17 1 file.cc:1] so\n") == "ValueError: no"
    assert (
        last_line("F0000 00:00:17 1 check.cc:1] Check failed\n")
        == "F0000 00:00:17 1 check.cc:1] Check failed"
    )
    assert len(last_line("x" * 1000)) == 300


def test_a_job_that_fails_takes_no_other_with_it(tmp_path: Path):
    doing = ["answer", "abort", "answer", "refuse", "answer"]
    jobs = [job(n, do) for n, do in enumerate(doing)]
    before = set(psutil.Process().children())
    results = run_jobs("tests.models.helping", jobs, tmp_path, lambda _: None, processes=1, env=ENV)
    assert [isinstance(result, HelperError) for result in results] == [False, True, False, True, False]
    processes = [result["process"] for result in results if not isinstance(result, HelperError)]
    assert len(set(processes)) == 2  # a process is started for what is left, and a refusal ends none
    assert set(psutil.Process().children()) <= before


def test_an_output_that_fails_takes_no_other_of_its_job_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONPATH", ENV["PYTHONPATH"])
    files = {precision: str(tmp_path / precision) for precision in ("fp32", "int8", "fp16")}
    jobs = [{**job(n, "abort at int8"), "outputs": files} for n in range(2)]
    jobs.append({**job(2), "outputs": files})
    first, second, third = run_outputs("tests.models.helping", jobs, tmp_path, lambda _: None)
    for notes in (first, second):
        error = notes["int8"]
        assert isinstance(error, HelperEndedError)
        assert "-int8 failed" in error.what
        assert "SIGABRT: about to abort" in error.why
        assert not isinstance(notes["fp32"], HelperError) and not isinstance(notes["fp16"], HelperError)
    assert [note["n"] for note in third.values() if isinstance(note, dict)] == [2, 2, 2]


def test_temporary_files_lie_in_the_scratch_folder(tmp_path: Path):
    (result,) = run([job(0)], tmp_path, [])
    assert Path(str(result["temporary"])).parent == tmp_path
