"""A board's line over a unix socket and over a pty: opening, losing it, and what cannot be opened."""

import errno
import importlib
import os
import socket
import sys
import tty

import pytest

from edgebench.errors import NoPermissionError, UnavailableError

faults = importlib.import_module("edgebench.backends.cortexm.line")
line_module = importlib.import_module("edgebench.backends.cortexm.line")
open_line = line_module.open_line


@pytest.fixture
def listener(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path is at most 107 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("line")
        server.listen(1)
        server.settimeout(10)
        yield server


@pytest.fixture
def connected(listener):
    """The host's end, and the board's."""
    line = open_line("unix:line", 10**9)
    board, _ = listener.accept()
    yield line, board
    line.close()
    board.close()


@pytest.fixture
def pty():
    board, port = os.openpty()
    tty.setraw(port)
    yield board, os.ttyname(port)
    for descriptor in (board, port):
        os.close(descriptor)


def test_a_socket(connected):
    line, board = connected
    line.write(b"name%")
    assert board.recv(100) == b"name%"
    board.sendall(b"m-ready\r\n")
    assert line.read(10.0) == b"m-ready\r\n"
    assert line.read(0.0) == b""
    assert line.read(0.01) == b""


def test_input_is_dropped(connected):
    line, board = connected
    board.sendall(b"x" * 100_000)
    line.drop_input()
    board.sendall(b"y")
    assert line.read(10.0) == b"y"


def test_a_board_that_ends(connected):
    line, board = connected
    board.sendall(b"last")
    board.close()
    assert line.read(10.0) == b"last"
    for use in (lambda: line.read(10.0), line.drop_input, lambda: line.write(b"x")):
        with pytest.raises(faults.LineLost):
            use()


def test_a_line_that_is_closed(connected):
    line, _ = connected
    line.close()
    line.close()
    with pytest.raises(faults.LineLost):
        line.write(b"x")
    with pytest.raises(faults.LineLost):
        line.read(0.0)


def test_a_board_that_takes_no_more(connected, monkeypatch):
    line, _ = connected
    monkeypatch.setattr(line_module, "WRITE_S", 0.01)
    with pytest.raises(faults.LineLost) as raised:
        line.write(b"x" * 4_000_000)
    assert "bytes were left" in raised.value.why


@pytest.mark.parametrize("path", ["missing", "p" * 200, "folder", ""])
def test_a_socket_that_is_not_there(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnavailableError) as raised:
        open_line(f"unix:{path}", 115_200)
    assert raised.value.why and raised.value.fix


def test_a_serial_port(pty):
    board, port = pty
    line = open_line(port, 115_200)
    line.write(b"name%")
    assert os.read(board, 100) == b"name%"
    os.write(board, b"m-ready\r\n")
    assert line.read(10.0) == b"m-ready\r\n"
    line.close()


def test_a_serial_port_has_one_user(pty):
    _, port = pty
    line = open_line(port, 115_200)
    with pytest.raises(UnavailableError) as raised:
        open_line(port, 115_200)
    assert "in use" in raised.value.what
    line.close()
    open_line(port, 115_200).close()


@pytest.mark.attack("a board is unplugged: its serial port hangs up, which is named")
def test_a_serial_port_that_hangs_up():
    board, port = os.openpty()
    line = open_line(os.ttyname(port), 115_200)
    os.close(port)
    os.close(board)
    for use in (lambda: line.read(10.0), lambda: line.write(b"x")):
        with pytest.raises(faults.LineLost, match="cable"):
            use()
    line.close()


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (errno.EACCES, NoPermissionError, ""),
        (errno.EBUSY, UnavailableError, "in use"),
        (errno.ENOENT, UnavailableError, "there is no port"),
        (errno.EIO, UnavailableError, "cannot be opened"),
    ],
)
def test_a_serial_port_that_cannot_be_opened(number, kind, text, monkeypatch, tmp_path):
    serial = pytest.importorskip("serial")
    port = tmp_path / "ttyACM0"
    port.touch()

    def refuse(*_, **__):
        raise serial.SerialException(number, os.strerror(number))

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(kind) as raised:
        open_line(str(port), 115_200)
    assert text in raised.value.what
    assert raised.value.fix


@pytest.mark.attack("--port names a file or a device that is no serial port: said, and it stays")
def test_what_is_no_serial_port(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError) as raised:
        open_line(str(tmp_path / "file"), 115_200)
    assert "cannot be opened as a serial port" in raised.value.what and raised.value.why
    with pytest.raises(UnavailableError) as raised:
        open_line("/dev/null", 115_200)
    assert "Inappropriate ioctl" in raised.value.why
    with pytest.raises(UnavailableError) as raised:
        open_line(str(tmp_path / "none"), 115_200)
    assert "there is no port" in raised.value.what


def test_without_pyserial(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(UnavailableError) as raised:
        open_line("/dev/ttyACM0", 115_200)
    assert raised.value.fix == "pip install 'edgebench[cortexm]'"


@pytest.mark.attack("QEMU or the simulator is killed during a session: no cable is blamed, but that program")
def test_a_socket_whose_program_ended(connected):
    line, board = connected
    board.close()
    with pytest.raises(faults.LineLost, match="emulator there ended"):
        line.read(10.0)
