"""A child's tail and its end."""

import os
import signal
import sys
import time

import pytest

from edgebench.agent.children import TAIL_BYTES, Child, signal_name


def ended(child):
    os.waitid(os.P_PID, child._process.pid, os.WEXITED | os.WNOWAIT)
    return child.ended()


def test_a_tail_keeps_the_end():
    code = f"import os; os.write(2, b'x' * {TAIL_BYTES} + b'ghij' + bytes([255]))"
    child = Child([sys.executable, "-c", code], {}, print)
    while child.read_tail() is not False:
        time.sleep(0.01)
    assert len(child.tail()) == TAIL_BYTES - 1 + len("\\xff") and child.tail().endswith("xghij\\xff")
    child.close()


@pytest.mark.parametrize(
    ("code", "end"),
    [("pass", (0, None)), ("exit(3)", (3, None)), ("import os; os.kill(os.getpid(), 6)", (None, "SIGABRT"))],
)
def test_how_a_process_ended(code, end):
    child = Child([sys.executable, "-c", code], {}, print)
    assert ended(child) == end
    child.close()


def test_bytes_that_are_no_frame_end_the_child():
    code = "import time; print('hello', flush=True); time.sleep(600)"
    child = Child([sys.executable, "-c", code], {}, print)
    os.set_blocking(child.stdout, True)
    assert child.read() is False
    assert child.problem and "hello" in child.problem
    assert ended(child) == (None, "SIGKILL")
    child.close()


def test_closing_ends_what_the_child_started():
    code = "import os, subprocess; subprocess.Popen(['sleep', '600']); os.write(1, b'started\\n')"
    child = Child([sys.executable, "-c", code], {"PYTHONDONTWRITEBYTECODE": "1"}, print)
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
