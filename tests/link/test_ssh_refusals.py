"""Boards that SSH does not reach, or on which the agent cannot run: each with its reason and its fix."""

import os
import re
import shutil
import socket
import sys
import threading

import pytest

from edgebench.errors import DiskFullError, NoPermissionError, UnavailableError
from edgebench.link.local import agent_file
from edgebench.link.placing import Placer
from edgebench.link.ssh import SshLink
from tests.link import sshd
from tests.link.sshd import opened, wait_until

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
    error = refused(rig, own_board, UnavailableError, "cannot be reached")
    assert "refused" in error.why and "sshd" in error.fix


def test_an_account_that_runs_no_command(rig, tmp_path):
    """What the board prints is the reason: nologin writes it on stdout."""
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path, "ForceCommand echo 'This account is not available.'; exit 1")
    board.start()
    try:
        error = refused(rig, board, UnavailableError, "runs no command")
    finally:
        board.power_off()
    assert "This account is not available." in error.why
    assert "chsh" in error.fix


def test_a_name_that_cannot_be_found(rig, own_board):
    agent, digest = agent_file(rig.cache)
    own_board.config.write_text(own_board.config.read_text() + "Host nowhere\n  ProxyCommand none\n")
    with pytest.raises(UnavailableError, match="cannot be reached") as caught:
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
        refused(rig, own_board, UnavailableError, "cannot be reached")
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
        ("#!/bin/sh\nread x; echo edgebench-board:[1]\n", UnavailableError, "unexpected", "1"),
        (
            "#!/bin/sh\nread x; echo edgebench-board:nonsense\n",
            UnavailableError,
            "unexpected",
            "nonsense",
        ),
    ],
)
def test_a_python_that_is_none(rig, own_board, tmp_path, text, kind, match, why):
    python = "/no/such/python3" if text is None else script(tmp_path, text)
    error = refused(rig, own_board, kind, match, python)
    assert re.search(why, error.why), error.why
    if match != "unexpected":
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


@pytest.mark.attack("a board's disk fills during a transfer: no part of a file is left")
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
