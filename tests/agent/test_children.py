"""A child's tail and its end."""

import os
import signal
import sys
import time

import pytest

from edgebench.agent.children import Child, Tail, signal_name


def ended(child):
    os.waitid(os.P_PID, child._process.pid, os.WEXITED | os.WNOWAIT)
    return child.ended()


def test_a_tail_keeps_the_end():
    tail = Tail(8)
    tail.add(b"abcdef")
    tail.add(b"ghij\xff")
    assert tail.text() == "defghij\\xff"


@pytest.mark.parametrize(
    ("code", "end"),
    [("pass", (0, None)), ("exit(3)", (3, None)), ("import os; os.kill(os.getpid(), 6)", (None, "SIGABRT"))],
)
def test_how_a_process_ended(code, end):
    child = Child([sys.executable, "-c", code], {})
    assert ended(child) == end
    child.close()


def test_bytes_that_are_no_frame_end_the_child():
    code = "import time; print('hello', flush=True); time.sleep(600)"
    child = Child([sys.executable, "-c", code], {})
    os.set_blocking(child.stdout, True)
    assert child.read_frames() is None
    assert child.problem and "hello" in child.problem
    assert ended(child) == (None, "SIGKILL")
    child.close()


def test_closing_ends_what_the_child_started():
    code = "import os, subprocess; subprocess.Popen(['sleep', '600']); os.write(1, b'started\\n')"
    child = Child([sys.executable, "-c", code], {"PYTHONDONTWRITEBYTECODE": "1"})
    os.set_blocking(child.stdout, True)
    assert os.read(child.stdout, 100) == b"started\n"
    assert ended(child) == (0, None)
    child.close()
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        try:
            os.killpg(child._process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the child's own child lives on")


def test_signals_have_names():
    assert signal_name(signal.SIGSEGV) == "SIGSEGV"
    assert signal_name(40).startswith("signal") or signal_name(40).startswith("SIG")
