"""Simulated boards at a pty and at a socket: hosts that come, go and do not read, and the program itself."""

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from typing import Any

import pytest

from edgebench.errors import EdgeBenchError, UnavailableError, UsageError
from tests.backends.cortexm.simulated import ports, served, simulated_board
from tests.walk.conftest import COMMAND

ANSWER_S = 20.0
NAME = [b"m-name-dut-[edgebench]\r\n", b"m-ready\r\n"]
BANNER = [b"m-timestamp-mode-performance\r\n", b"m-init-done\r\n", b"m-ready\r\n"]


class SocketHost:
    """A host at a socket."""

    def __init__(self, port):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        self._socket.connect(port.removeprefix("unix:"))
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()
        self._socket.close()

    def write(self, data):
        self._socket.sendall(data)

    def readline(self):
        return self._file.readline()


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

    def readline(self):
        return self._file.readline()


KINDS: dict[str, type[Any]] = {"socket": SocketHost, "pty": PtyHost}
HOSTS = pytest.mark.parametrize("place", list(KINDS))


def lines(host, count):
    return [host.readline() for _ in range(count)]


@HOSTS
def test_hosts_come_and_go_and_the_banner_comes_once(place):
    with served(simulated_board(), place) as port:
        with KINDS[place](port) as first:
            assert lines(first, 3) == BANNER
            first.write(b"name%")
            assert lines(first, 2) == NAME
            first.write(b"db load 3%db 01")
        with KINDS[place](port) as second:
            if place == "socket":  # a pty's next host may find what nobody has read
                second.write(b"%")
                assert lines(second, 1) in ([b"m-[Expecting 3 bytes]\r\n"], [b"m-ready\r\n"])
            second.write(b"%name%")
            heard = [second.readline()]
            while heard[-2:] != NAME:
                heard.append(second.readline())
            assert not set(BANNER[:2]) & set(heard)


@HOSTS
def test_an_unplugged_board_is_gone(place):
    with served(simulated_board("unplug"), place) as port, KINDS[place](port) as opened:
        assert lines(opened, 3) == BANNER
        opened.write(b"infer 1 0%")
        if place == "socket":
            assert lines(opened, 2) == [b"m-warmup-start-0\r\n", b""]
        else:  # what nobody has read goes with a pty; a read that waits fails, and a later one ends
            with suppress(OSError):
                assert lines(opened, 2)[-1] == b""


@pytest.mark.attack(
    "a host reads nothing of what a simulated board sends: it is lost, and the next host is served"
)
@HOSTS
def test_a_host_that_does_not_read(place, monkeypatch):
    monkeypatch.setattr(ports, "_UNREAD_S", 0.05)
    with served(simulated_board(), place) as port:
        with KINDS[place](port) as deaf:
            deaf.write(b"db load 2000%" + b"db print%" * 100)
            time.sleep(0.3)
        with KINDS[place](port) as second:
            second.write(b"%name%")
            heard = [second.readline()]
            while heard[-2:] != NAME:
                heard.append(second.readline())


def test_an_abandoned_socket_is_taken_over(tmp_path):
    with socket.socket(socket.AF_UNIX) as abandoned:
        abandoned.bind(str(tmp_path / "line"))
    port = ports.open_port(f"unix:{tmp_path}/line")
    with SocketHost(port.name):
        pass
    with pytest.raises(UnavailableError, match="listens there"):
        ports.open_port(f"unix:{tmp_path}/line")
    port.close()
    assert not (tmp_path / "line").exists()


def test_a_file_is_no_socket_and_stays(tmp_path):
    (tmp_path / "line").write_text("mine")
    with pytest.raises(UnavailableError, match="no socket"):
        ports.open_port(f"unix:{tmp_path}/line")
    assert (tmp_path / "line").read_text() == "mine"


@pytest.mark.parametrize(
    ("listen", "kind"),
    [
        ("tcp:1", UsageError),
        ("unix:", UsageError),
        ("unix:/" + "x" * 200, UsageError),
        ("unix:/no/such/folder/line", UnavailableError),
    ],
)
def test_where_nothing_can_listen(listen, kind):
    with pytest.raises(EdgeBenchError) as refusal:
        ports.open_port(listen)
    assert type(refusal.value) is kind and refusal.value.fix


def test_the_program_serves_until_ctrl_c(tmp_path, session_cache):
    pytest.importorskip("tflite_micro")
    where = ["--listen", f"unix:{tmp_path}/line"]
    command = [*COMMAND, "cortexm", "simulate", *where, "--inference-ms", "100"]
    environment = {**os.environ, "EDGEBENCH_CACHE_DIR": str(session_cache.root)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        try:
            assert program.stdout is not None and program.stderr is not None
            port = program.stdout.readline().strip()
            with SocketHost(port) as host:
                host.write(b"infer 20 0%")
                assert lines(host, 3) == BANNER
                answer = lines(host, 8)
                start_us, end_us = (int(line.split(b"-")[-1]) for line in answer if b"-lap-" in line)
                assert end_us - start_us == 2_000_000
                program.send_signal(signal.SIGINT)
                assert program.wait(ANSWER_S) == 0
            assert "Ctrl-C ends it" in program.stderr.read()
        finally:
            program.kill()
    assert not (tmp_path / "line").exists()
