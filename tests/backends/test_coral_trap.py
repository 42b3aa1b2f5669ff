"""A worker that dies by a signal in libedgetpu, in words; and what is left as it was told."""

from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import SessionError

coral: Any = registry.backend("coral")
LOADING = "edgebench: loading the delegate libedgetpu.so.1 under tflite-runtime 2.14.0, Python 3.9.2"
READY = "edgebench: the delegate is ready"


def crash(tail: str, stage: str = "load", signal: str | None = "SIGSEGV") -> SessionError:
    return SessionError(
        "the worker crashed", status="crash", stage=stage, signal=signal, stderr_tail=tail, why="SIGSEGV"
    )


@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL"])
def test_it_names_the_cause_the_pairs_and_the_commands(signal):
    explained = coral.explain(crash(f"numpy says something\n{LOADING}\nFatal Python error", signal=signal))
    assert explained is not None
    assert (explained.status, explained.stage, explained.signal) == ("crash", "load", signal)
    assert "while it was loaded" in explained.what
    assert f"{signal} in libedgetpu.so.1 under tflite-runtime 2.14.0, Python 3.9.2" in explained.why
    assert "built against another TFLite" in explained.why
    assert "16.0" in explained.why and "2.11" in explained.why
    assert (
        "python3.9 -m venv" in explained.fix
        and "'tflite-runtime==2.11.0'" in explained.fix
        and "--python" in explained.fix
    )
    assert explained.stderr_tail.startswith("numpy")


def test_it_may_die_at_the_first_inference():
    explained = coral.explain(crash(f"{LOADING}\n{READY}\n", stage="golden"))
    assert explained is not None
    assert "at its first inference" in explained.what


@pytest.mark.parametrize(
    "error",
    [
        crash("Fatal Python error: Segmentation fault"),
        crash(f"{LOADING}\n{READY}\n"),
        crash(LOADING, stage="measure"),
        crash(LOADING, signal="SIGKILL"),
        crash(LOADING, signal=None),
        crash(LOADING.replace("under", "beside")),
    ],
    ids=["before it", "after it", "amid measuring", "killed", "no signal", "other words"],
)
def test_anything_else_stays_as_it_was_told(error):
    assert coral.explain(error) is None


def test_of_several_loads_the_last_counts():
    explained = coral.explain(crash(f"{LOADING}\n{READY}\n{LOADING.replace('2.14.0', '2.5.0')}\n"))
    assert explained is not None
    assert "tflite-runtime 2.5.0" in explained.why
