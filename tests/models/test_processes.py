import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from edgebench.models.processes import HelperError, run_jobs

# The helpers are started with -P, which leaves the working folder out of the path.
ENV = {"PYTHONPATH": str(Path(__file__).parents[2])}


def run(jobs: Sequence[dict[str, object]], scratch: Path, said: list[str], processes: int = 2):
    return run_jobs("tests.models.helping", jobs, scratch, said.append, processes=processes, env=ENV)


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
    with pytest.raises(HelperError, match="job 0") as caught:
        run([job(0, do)], tmp_path, [])
    assert how in caught.value.why
    assert words in caught.value.why


def test_a_failure_ends_the_others(tmp_path: Path):
    before = set(psutil.Process().children())
    with pytest.raises(HelperError):
        run([job(0, "abort"), *(job(n) for n in range(1, 50))], tmp_path, [])
    assert set(psutil.Process().children()) <= before
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


def test_an_interrupt_ends_them_at_once(tmp_path: Path):
    def interrupt(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = set(psutil.Process().children())
    with pytest.raises(KeyboardInterrupt):
        run_jobs("tests.models.helping", [job(0, "hang")], tmp_path, interrupt, env=ENV)
    assert set(psutil.Process().children()) <= before


def test_a_module_that_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(HelperError) as caught:
        run_jobs("edgebench.models.no_such_module", [job(0)], tmp_path, lambda _: None)
    assert "no_such_module" in caught.value.why
