"""Simulated boards at a pty: hosts that come, go and do not read, and the program itself."""

import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from tests.backends.cortexm.simulated import boards, served, simulated_board
from tests.walk.conftest import COMMAND

ANSWER_S = 20.0
NAME = [b"m-name-dut-[edgebench]\r\n", b"m-ready\r\n"]
BANNER = [b"m-timestamp-mode-performance\r\n", b"m-init-done\r\n", b"m-ready\r\n"]


class PtyHost:
    """A host at a pty that does not set it up: what opens it finds it raw."""

    def __init__(self, port):
        self._descriptor = os.open(port, os.O_RDWR | os.O_NOCTTY)
        self._file = os.fdopen(os.dup(self._descriptor), "rb")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()
        os.close(self._descriptor)

    def write(self, data):
        os.write(self._descriptor, data)

    def lines(self, count):
        return [self._file.readline() for _ in range(count)]

    def until_named(self):
        heard = self.lines(1)
        while heard[-2:] != NAME:
            heard += self.lines(1)
        return heard


def test_hosts_come_and_go_and_the_banner_comes_once():
    with served(simulated_board()) as port:
        with PtyHost(port) as first:
            assert first.lines(3) == BANNER
            first.write(b"name%")
            assert first.lines(2) == NAME
            first.write(b"db load 3%db 01")
        with PtyHost(port) as second:
            second.write(b"%name%")
            assert not set(BANNER[:2]) & set(second.until_named())


def test_an_unplugged_board_is_gone():
    with served(simulated_board("unplug")) as port, PtyHost(port) as opened:
        assert opened.lines(3) == BANNER
        opened.write(b"infer 1 0%")
        # What nobody has read goes with a pty; a read that waits fails, and a later one ends.
        with suppress(OSError):
            assert opened.lines(2)[-1] == b""


@pytest.mark.attack(
    "a host reads nothing of what a simulated board sends: it is lost, and the next host is served"
)
def test_a_host_that_does_not_read(monkeypatch):
    monkeypatch.setattr(boards, "_UNREAD_S", 0.05)
    with served(simulated_board()) as port:
        with PtyHost(port) as deaf:
            deaf.write(b"db load 2000%" + b"db print%" * 100)
            time.sleep(0.3)
        with PtyHost(port) as second:
            second.write(b"%name%")
            second.until_named()


def test_the_program_serves_until_ctrl_c(session_cache):
    pytest.importorskip("tflite_micro")
    command = [*COMMAND, "cortexm", "simulate", "--inference-ms", "100"]
    environment = {**os.environ, "EDGEBENCH_CACHE_DIR": str(session_cache.root)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        try:
            assert program.stdout is not None and program.stderr is not None
            with PtyHost(program.stdout.readline().strip()) as host:
                host.write(b"infer 20 0%")
                assert host.lines(3) == BANNER
                laps_us = [int(line.split(b"-")[-1]) for line in host.lines(8) if b"-lap-" in line]
                assert laps_us[1] - laps_us[0] == 2_000_000
                program.send_signal(signal.SIGINT)
                assert program.wait(ANSWER_S) == 0
            assert "Ctrl-C ends it" in program.stderr.read()
        finally:
            program.kill()
