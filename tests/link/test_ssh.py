"""The SSH link against a real sshd: what is sent, what is left, and who holds the board."""

import getpass
import hashlib
import logging
import socket
import stat
import subprocess
import sys

import psutil
import pytest

from edgebench.agent import bootstrap, lock
from edgebench.errors import UnavailableError, UsageError
from edgebench.link import agent_backend, ssh
from edgebench.link.agent_backend import open_link
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.placing import Placer
from edgebench.link.ssh import SshLink
from edgebench.records.target import Target
from tests.link.sshd import opened, wait_until


@pytest.fixture
def far(rig, ssh_board):
    device = rig.far(ssh_board)
    yield device
    device.close()


# --- what is sent, and what is left ---


def test_a_session_over_ssh_agrees_with_one_here(rig, device, far):
    artifact = rig.artifact("int8")
    with device.session(artifact, rig.settings()) as session:
        here = session.predict(rig.images)
    with far.session(artifact, rig.settings()) as session:
        session.golden()
        passes = list(session.measure(rig.plan(passes=1)))
        there = session.predict(rig.images)
        facts = session.facts()
    assert (here == there).all()
    assert (passes[-1].scores == there).all()
    assert facts.clock["end"]["bound_ns"] > 0
    assert far.describe()["link"] == "ssh"


def test_the_agent_is_sent_once_and_verified_each_time(rig, own_board, monkeypatch):
    agent, digest = agent_file(rig.cache)
    opened(rig, own_board)
    placed = own_board.placed / f"{digest}.pyz"
    assert placed.read_bytes() == agent.read_bytes()
    assert stat.S_IMODE(own_board.placed.stat().st_mode) == 0o700
    inode = placed.stat().st_ino
    opened(rig, own_board)
    assert placed.stat().st_ino == inode
    placed.write_bytes(b"#" + agent.read_bytes()[1:])
    opened(rig, own_board)
    assert hashlib.sha256(placed.read_bytes()).hexdigest() == digest
    assert [path.name for path in own_board.placed.iterdir() if path.suffix == ".part"] == []


def test_nothing_is_left_when_the_device_is_closed(rig, own_board):
    device = rig.far(own_board)
    link = device._link
    folder, master = link._folder, link._master
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any("serve" in process.cmdline() for process in own_board.processes())
    ours = {process.pid for process in own_board.processes()} | {master.pid}
    listening = [socket for socket in psutil.net_connections("tcp") if socket.status == "LISTEN"]
    assert not [socket for socket in listening if socket.pid in ours]
    device.close()
    device.close()
    wait_until(lambda: own_board.processes() == [])
    assert master.returncode is not None
    assert not folder.exists()


def test_files_are_placed_once_over_connections(rig, own_board, monkeypatch):
    artifact = rig.artifact()
    device = rig.far(own_board)
    path = Placer(device._connection, False, 30.0).place(artifact.path, artifact.sha256)
    device.close()
    monkeypatch.setattr("edgebench.link.placing.PIECE_BYTES", None)  # reading a piece would fail
    device = rig.far(own_board)
    assert Placer(device._connection, False, 30.0).place(artifact.path, artifact.sha256) == path
    device.close()


def test_cleaning_takes_everything_off_the_board(rig, own_board):
    device = rig.far(own_board)
    with device.session(rig.artifact(), rig.settings()) as session:
        session.golden()
    device.close()
    size = sum(path.lstat().st_size for path in own_board.placed.iterdir() if path.is_file())
    looking = rig.far(own_board, locks=False)
    cleaned = looking.clean()
    assert cleaned.files >= 4
    assert abs(cleaned.size - size) < 1000  # the lock says who holds it
    assert cleaned.left == 0
    assert not own_board.placed.exists()
    wait_until(lambda: own_board.processes() == [])


# --- the lock ---

HOLDER = """
import os, sys
from pathlib import Path
from tests.link.rig import make_rig
from tests.link.sshd import Board
board = Board(Path(sys.argv[1]), int(sys.argv[2])) if sys.argv[2] else None
device = make_rig(Path(sys.argv[1]) / "rig").far(board)
print("held", flush=True)
sys.stdin.read()
device.close()
"""


@pytest.fixture(params=["local", "ssh"])
def held(request, tmp_path, monkeypatch):
    """A board, or this machine, that another harness holds."""
    board = None
    if request.param == "ssh":
        board = request.getfixturevalue("own_board")
    else:
        monkeypatch.setenv(bootstrap.ENVIRONMENT, str(tmp_path / "held"))
        monkeypatch.setenv(lock.ENVIRONMENT, str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), str(board.port) if board else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        yield board, other
        assert other.stdin
        other.stdin.close()  # it ends as it should
        other.wait(60)


@pytest.mark.attack("a second harness wants the same board: it hears who holds it")
def test_a_second_harness_is_told_who_holds_the_board(rig, held, caplog):
    board, _ = held
    with pytest.raises(UnavailableError) as caught:
        rig.far(board, lock=0.2)
    assert socket.gethostname() in caught.value.why
    assert getpass.getuser() in caught.value.why
    assert "EDGEBENCH_LOCK_WAIT_S" in caught.value.fix
    assert "waiting up to" in caplog.text
    looking = rig.far(board, locks=False)
    with pytest.raises(UnavailableError):
        looking.clean()


def test_a_second_harness_waits_until_the_first_is_done(rig, held, caplog):
    board, other = held
    caplog.set_level(logging.WARNING)
    assert other.stdin
    other.stdin.close()
    device = rig.far(board, lock=60.0)
    device.close()
    other.wait(30)


@pytest.mark.attack("the harness that holds a board is killed: the board is free")
def test_the_lock_ends_with_a_harness_that_is_killed(rig, held):
    board, other = held
    other.kill()
    device = rig.far(board, lock=60.0)
    device.close()


def test_two_devices_of_one_harness_share_their_board(rig, ssh_board):
    first, second = rig.far(ssh_board, lock=0.1), rig.far(ssh_board, lock=0.1)
    assert (first._held, second._held) == (True, False)
    first.close()
    wait_until(lambda: not first._connection.alive)
    with second.session(rig.artifact(), rig.settings()):
        assert second._held
    second.close()


# --- targets ---


def test_a_target_says_which_link(rig, monkeypatch, tmp_path):
    monkeypatch.setattr(agent_backend, "Cache", lambda: rig.cache)
    assert isinstance(open_link(Target("here", "toy")), LocalLink)
    link = open_link(Target("there", "toy", host="ann@board:2222"))
    assert isinstance(link, SshLink)
    assert link.name == "ann@board:2222"
    for host in ("-oProxyCommand=touch x", "ann@-x", "board; rm", "board:99999", "a b", ""):
        with pytest.raises(UsageError):
            open_link(Target("there", "toy", host=host))
    for python in ("-c", "a\nb", " "):
        with pytest.raises(UsageError):
            SshLink("board", tmp_path, "", python)


def test_a_python_in_the_home_folder_there():
    assert ssh._quoted("~/my env/bin/python") == "\"$HOME\"/'my env/bin/python'"
    assert ssh._quoted("python3; rm x") == "'python3; rm x'"


def test_the_configuration_comes_from_the_environment(rig, ssh_board, monkeypatch):
    monkeypatch.setenv(ssh.ENVIRONMENT, str(ssh_board.config))
    agent, digest = agent_file(rig.cache)
    link = SshLink(ssh_board.address, agent, digest)
    process = link.start()
    link.close()
    assert process.wait(20) is not None
    ssh._end(process)
