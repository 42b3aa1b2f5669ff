"""The SSH link against a real sshd: what is sent, what is left, and what every refusal is called."""

import getpass
import hashlib
import logging
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time

import psutil
import pytest

from edgebench.agent import bootstrap, lock
from edgebench.errors import DiskFullError, NoPermissionError, UnavailableError, UsageError
from edgebench.link import agent_backend, ssh
from edgebench.link.agent_backend import open_link
from edgebench.link.local import LocalLink
from edgebench.link.placing import Placer
from edgebench.link.ssh import SshLink
from edgebench.link.zipapp import agent_file
from edgebench.vocabulary.target import Target
from tests.link import sshd


def wait_until(settled, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not settled():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.02)


def opened(rig, board, **more):
    device = rig.far(board, **more)
    device.close()
    return device


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
    assert abs(cleaned.bytes - size) < 1000  # the lock says who holds it
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


@pytest.mark.attack("a second harness wants the same board: it is told who holds it")
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


# --- refusals ---


def refused(rig, board, kind, match, python=None):
    with pytest.raises(kind, match=match) as caught:
        rig.far(board, python)
    assert caught.value.why
    assert caught.value.fix
    if board._server is not None:
        wait_until(lambda: board.processes() == [])
    return caught.value


@pytest.mark.attack("a board does not let the user's key in: a message with its fix")
def test_a_key_that_is_not_let_in(rig, own_board):
    (own_board.folder / "authorized_keys").write_text("")
    error = refused(rig, own_board, NoPermissionError, "without a password")
    assert "Permission denied" in error.why
    assert f"ssh-copy-id -p {own_board.port}" in error.fix


@pytest.mark.attack("a board's host key is unknown: a message with its fix")
def test_a_host_key_that_nobody_knows(rig, own_board):
    (own_board.folder / "known_hosts").write_text("")
    error = refused(rig, own_board, NoPermissionError, "is not known")
    assert f"ssh -p {own_board.port}" in error.fix


@pytest.mark.attack("a board's host key has changed: refused, with the fix")
def test_a_host_key_that_has_changed(rig, own_board):
    sshd.trust(own_board, sshd.make_key(own_board.folder / "other_key").with_suffix(".pub"))
    error = refused(rig, own_board, NoPermissionError, "another one than before")
    assert f"ssh-keygen -R [127.0.0.1]:{own_board.port}" in error.fix


def test_nobody_there(rig, own_board):
    own_board.power_off()
    error = refused(rig, own_board, UnavailableError, "refuses the connection")
    assert "sshd" in error.fix


def test_a_name_that_cannot_be_found(rig, own_board):
    agent, digest = agent_file(rig.cache)
    own_board.config.write_text(own_board.config.read_text() + "Host nowhere\n  ProxyCommand none\n")
    with pytest.raises(UnavailableError, match="cannot be found") as caught:
        SshLink("ann@no-such-board.invalid", agent, digest, None, own_board.config).start()
    assert "ssh" in caught.value.why.lower()


def test_an_ssh_configuration_that_cannot_be_read(rig, own_board):
    own_board.config.write_text("Nonsense yes\n")
    error = refused(rig, own_board, NoPermissionError, "SSH configuration")
    assert "nonsense" in error.why.lower()


@pytest.mark.attack("something else than sshd listens: a message says so")
def test_something_else_than_sshd_on_the_port(rig, own_board):
    own_board.stop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        own_board.port = server.getsockname()[1]

        def answer():
            got, _ = server.accept()
            got.close()

        thread = threading.Thread(target=answer)
        thread.start()
        refused(rig, own_board, UnavailableError, "closed the connection")
        thread.join()


def test_ssh_is_not_installed(rig, ssh_board, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnavailableError) as caught:
        rig.far(ssh_board)
    assert "openssh-client" in caught.value.fix


def script(folder, text):
    path = folder / "python-of-the-board"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.attack("what is named as a board's Python is not one: a message says what it is")
@pytest.mark.parametrize(
    ("text", "kind", "match", "why"),
    [
        (None, UnavailableError, "there is no", "not found|No such file"),
        ("#!/no/such/interpreter\n", UnavailableError, "there is no", "interpreter|No such|not found"),
        ("\x7fELF\x01\x01\x01" + "\0" * 200, UnavailableError, "another processor", "python-of-the-board"),
        ("#!/bin/sh\necho 'edgebench: python is 3.5.2' >&2; exit 1\n", UnavailableError, "too old", "3.5.2"),
        ("#!/bin/sh\necho 'no home for you' >&2; exit 9\n", UnavailableError, "takes no program", "no home"),
        ("#!/bin/sh\nread x; echo edgebench-board:[1]\n", UnavailableError, "another way", "1"),
        ("#!/bin/sh\nread x; echo edgebench-board:nonsense\n", UnavailableError, "another way", "nonsense"),
    ],
)
def test_a_python_that_is_none(rig, own_board, tmp_path, text, kind, match, why):
    python = "/no/such/python3" if text is None else script(tmp_path, text)
    error = refused(rig, own_board, kind, match, python)
    assert re.search(why, error.why), error.why
    if match != "another way":
        assert python in str(error)


def test_a_python_that_may_not_be_run(rig, own_board, tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o644)
    refused(rig, own_board, NoPermissionError, "cannot be run", str(python))


def test_python_2_is_too_old(rig, own_board):
    paths = [os.path.expanduser("~/.pyenv/versions/2.7.18/bin/python"), "/usr/bin/python2"]
    python = next((path for path in paths if os.path.exists(path)), None)
    if python is None:
        pytest.skip("no Python 2 here")
    assert "2.7" in refused(rig, own_board, UnavailableError, "too old", python).why


@pytest.mark.attack("a board's Python says nothing: it is given up after its time")
def test_a_python_that_says_nothing(rig, own_board, tmp_path):
    agent, digest = agent_file(rig.cache)
    python = script(tmp_path, "#!/bin/sh\nexec sleep 5\n")
    link = SshLink(own_board.address, agent, digest, python, own_board.config, timeout_s=2.0)
    with pytest.raises(UnavailableError) as caught:
        link.start()
    link.close()
    assert "in time" in caught.value.why


@pytest.mark.attack("login scripts print: they are passed over")
def test_login_scripts_that_print_are_no_trouble(rig, own_board, tmp_path):
    python = script(
        tmp_path,
        f'#!/bin/sh\nprintf "Welcome to the board!"; echo noise >&2\nexec {sys.executable} "$@"\n',
    )
    device = rig.far(own_board, python)
    assert device.describe()["python"]
    device.close()


@pytest.mark.attack("a board's disk is full: a message with its fix")
def test_a_full_disk(rig, own_board, tmp_path):
    # No file may grow beyond one block: what the kernel says then is as final as a full disk.
    python = script(tmp_path, f'#!/bin/bash\nulimit -f 1\nexec {sys.executable} "$@"\n')
    error = refused(rig, own_board, UnavailableError, "is full", python)
    assert "File too large" in error.why
    assert list(own_board.placed.iterdir()) == []


@pytest.mark.attack("a board's disk fills amid a transfer: no part of a file is left")
def test_a_full_disk_in_a_transfer(rig, own_board, tmp_path):
    opened(rig, own_board)
    python = script(tmp_path, f'#!/bin/bash\nulimit -f 1\nexec {sys.executable} "$@"\n')
    device = rig.far(own_board, python)
    with pytest.raises(DiskFullError) as caught:
        Placer(device._connection, False, 30.0, "board").place(rig.scene.path, rig.scene.sha256)
    assert rig.scene.path.name in caught.value.why
    assert device.describe()["python"]
    device.close()
    assert not list(own_board.placed.glob(f"{rig.scene.sha256}*"))


@pytest.mark.attack("a board's folder cannot be written: a message with its fix")
def test_a_folder_that_cannot_be_written(rig, own_board, tmp_path):
    python, runner = sys.executable, "exec"
    if os.geteuid() == 0:
        # Nothing refuses root, so the board's Python runs as nobody.
        python, setpriv = "/usr/bin/python3", shutil.which("setpriv")
        if setpriv is None or not os.path.exists(python):
            pytest.skip("neither a user other than root nor setpriv with a system Python")
        runner = f"exec {setpriv} --reuid=65534 --regid=65534 --clear-groups"
    own_board.placed.mkdir(mode=0o500)
    wrapped = script(tmp_path, f'#!/bin/sh\ncd /\n{runner} {python} "$@"\n')
    error = refused(rig, own_board, NoPermissionError, "cannot be written", wrapped)
    assert "Permission denied" in error.why


@pytest.mark.attack(
    "the board's cache folder can be written by other users: the board is refused with the fix"
)
def test_a_folder_that_other_users_can_write(rig, own_board):
    own_board.placed.mkdir()
    own_board.placed.chmod(0o777)
    error = refused(rig, own_board, NoPermissionError, "not safe from other users")
    assert str(own_board.placed) in error.why
    assert "chmod go-w" in error.fix


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
