"""QEMU as a board: it boots when its line is opened, and ends with whoever started it, however that ends."""

import importlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from edgebench.errors import UnavailableError
from edgebench.records.target import Target
from tests.backends.cortexm.emulated import ANSWER_S, BOARD, emulator, require_emulator, require_qemu

backend = importlib.import_module("edgebench.backends.cortexm.backend")
checks = importlib.import_module("edgebench.backends.cortexm.backend")
firmware_supply = importlib.import_module("edgebench.backends.cortexm.firmware_supply")

HOLDER = """
import importlib, pathlib, signal, threading
boards = importlib.import_module("edgebench.backends.cortexm.boards")
emulator = importlib.import_module("edgebench.backends.cortexm.emulator")
def start():
    board = next(board for board in boards.BOARDS if board.emulated)
    global running
    running = emulator.Emulator(board, pathlib.Path("no-firmware"))
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(running.port, flush=True)
signal.pause()
"""


def until(holds, what):
    deadline_s = time.monotonic() + ANSWER_S
    while not holds():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


def folder_of(port):
    return Path(port.removeprefix("unix:")).parent


def test_without_qemu(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UnavailableError) as refused:
        emulator.Emulator(BOARD, Path("firmware.elf"))
    assert "apt install qemu-system-arm" in refused.value.fix


def test_a_folder_whose_path_no_socket_takes(monkeypatch, tmp_path):
    require_qemu()
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(UnavailableError) as refused:
        emulator.Emulator(BOARD, Path("firmware.elf"))
    assert "TMPDIR" in refused.value.fix and not list(deep.iterdir())


def test_a_firmware_that_is_none_ends_it_with_a_reason(tmp_path):
    require_qemu()
    elf = tmp_path / "firmware.elf"
    elf.write_bytes(bytes(64))
    board = emulator.Emulator(BOARD, elf)
    folder = folder_of(board.port)
    assert folder.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(ANSWER_S)
        line.connect(board.port.removeprefix("unix:"))
        assert line.recv(1) == b""
    until(board.why_ended, "QEMU goes on")
    assert board.why_ended().startswith("qemu: fatal") and "info" not in board.why_ended()
    board.close()
    board.close()
    assert not folder.exists() and board.why_ended() == ""


@pytest.mark.attack("a run with an emulated board is killed: QEMU ends, and its folder goes with it")
def test_a_killed_harness_leaves_no_emulator_behind():
    require_qemu()
    command = [sys.executable, "-c", HOLDER]
    # The thread that started QEMU is over: it runs on, and ends with the process alone.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            folder = folder_of(holder.stdout.readline().strip())
            until(lambda: emulators_with("no-firmware", holder.pid), "QEMU does not run")
            [pid] = emulators_with("no-firmware", holder.pid)
            assert folder.is_dir()
        finally:
            holder.send_signal(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}").exists(), "QEMU goes on")
    until(lambda: not folder.exists(), f"{folder} stays")


def emulators_with(word, ancestor):
    """Processes of QEMU with that argument, below the given one."""
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            grandparent = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if word.encode() in arguments and b"qemu" in arguments[0] and grandparent == ancestor:
            pids.append(int(name))
    return pids


@pytest.mark.parametrize("there", [True, False])
def test_doctor_says_whether_a_run_can_start_it(monkeypatch, there):
    if there:
        require_emulator()
    else:
        monkeypatch.setattr(shutil, "which", lambda name: None if "qemu" in name else f"/usr/bin/{name}")
        monkeypatch.setattr(firmware_supply, "cross_compiler", lambda: None)
    options = {"board": BOARD.name, "build": True, "flash": True}
    [finding] = checks.CortexMBackend().check(Target("m7", "cortex-m", options=options))
    assert (finding.level, finding.subject) == ("ok" if there else "error", "board")
    assert there or finding.fix == "apt install qemu-system-arm"


def test_an_emulated_board_has_generated_c_unless_another_engine_is_named():
    options = backend.CortexMBackend.options_model
    assert options(board=BOARD.name).engine == "generated"
    assert options(board=BOARD.name, engine="tflm").engine == "tflm"
    assert options(board="nucleo-h743zi2").engine == options().engine == "tflm"
