"""A power mode that was set is put back, whatever ends the run, and whatever the board's programs do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from edgebench import registry
from edgebench.agent import power_modes
from edgebench.errors import SessionError, UnavailableError, UsageError
from edgebench.link import inspection
from edgebench.link.agent_device import AgentDevice
from edgebench.link.ssh import ENVIRONMENT as SSH_CONFIG
from edgebench.records.target import Launch, Target
from tests.jetson_board import jetson_board
from tests.link import sshd
from tests.link.old_python import python36
from tests.link.rig import make_rig

LIMIT_S = 60.0

HARNESS = """
import sys
from edgebench import registry
from edgebench.records.target import Target
device = registry.backend("toy").open(Target("nano", "toy", power_mode="5W", set_power_mode=True))
print("set", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture
def board(tmp_path, monkeypatch):
    board = jetson_board(tmp_path)
    for name, value in board.environment.items():
        monkeypatch.setenv(name, value)
    return board


def target(mode, *, sets=True):
    return Target("nano", "toy", power_mode=mode, set_power_mode=sets)


def opened(mode, *, sets=True):
    device = registry.backend("toy").open(target(mode, sets=sets))
    assert isinstance(device, AgentDevice)
    return device


def kill_agent(device):
    process = device._connection._process
    process.kill()
    process.wait(LIMIT_S)


def wait_for(happened):
    give_up = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_device_is_in_its_mode_until_it_is_closed(board, caplog):
    device = opened("MAXN", sets=False)
    device.close()
    assert (device.placement_cost, board.asked) == ("cheap", [])
    device = opened("5W")
    try:
        assert (board.mode, board.pinned, device.placement_cost) == (1, True, "slow")
        facts = device.describe()
        assert (facts["power_mode"], facts["pinned_clocks"]) == (
            {"id": 1, "name": "5W"},
            {"cpu": True, "gpu": True},
        )
    finally:
        device.close()
    assert (board.mode, board.pinned) == (0, False)
    assert [record.getMessage() for record in caplog.records] == [
        "nano: power mode 1 (5W) is set and its clocks are pinned",
        "this machine: power mode 0 (MAXN) and its clocks are put back",
    ]


@pytest.mark.attack(
    "an agent is killed (kill -9) with a power mode set: doctor and the next run name the old one"
)
def test_what_a_killed_agent_left_is_named(board, caplog):
    device = opened("5W")
    kill_agent(device)
    device.close()
    assert "doctor tells" in caplog.records[-1].getMessage()
    opened("5W", sets=False).close()
    assert (board.mode, board.pinned) == (1, True)
    said = caplog.records[-1].getMessage()
    assert "power mode 0 (MAXN) was in force" in said and "sudo nvpmodel -m 0 && sudo jetson_clocks" in said
    inspection.inspect_target(target("5W", sets=False), registry.backend("toy"))
    assert caplog.records[-1].getMessage() == said


@pytest.mark.attack(
    "an agent is killed (kill -9) between two sessions: the next has the power mode set again"
)
def test_a_session_after_a_lost_agent_has_its_mode(board, rig):
    device = opened("5W")
    try:
        kill_agent(device)
        assert device.describe()["power_mode"]["id"] == 1
        with device.session(rig.artifact(), rig.settings()) as session:
            assert len(session.golden())
    finally:
        device.close()
    assert (board.mode, board.pinned) == (0, False)


@pytest.mark.attack("a harness is killed (kill -9) with a power mode set: its agent puts it back")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_mode_is_put_back_without_the_host(board, number):
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)
    ) as harness:
        assert harness.stdout is not None and harness.stdout.readline() == b"set\n"
        assert board.mode == 1
        harness.send_signal(number)
    wait_for(lambda: (board.mode, board.pinned) == (0, False))


@pytest.mark.attack("the connection to a board is cut with a power mode set: its agent puts it back")
@pytest.mark.parametrize("old", [False, True])
def test_a_board_that_is_cut_off_puts_its_mode_back(tmp_path, monkeypatch, old):
    if why := sshd.missing():
        pytest.skip(why)
    python, why = python36() if old else (sys.executable, "")
    if python is None:
        pytest.skip(why)
    (tmp_path / "nano").mkdir()
    board = jetson_board(tmp_path / "nano")
    far = sshd.make_board(tmp_path, environment=board.environment)
    monkeypatch.setenv(SSH_CONFIG, str(far.config))
    far.start()
    try:
        there = replace(target("5W"), host=far.address, launch=Launch(python=python))
        device = registry.backend("toy").open(there)
        assert (board.mode, board.pinned) == (1, True)
        far.drop()
        wait_for(lambda: (board.mode, board.pinned) == (0, False))
        device.close()
    finally:
        far.power_off()


@pytest.mark.attack("an agent is asked to end while nvpmodel sets a power mode: it is put back")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_agent_that_is_ended_while_it_sets_a_mode_puts_it_back(board, rig, number):
    device = rig.device()
    try:
        board.behave("slow")
        request = device._connection.send({"op": "set_power_mode", "mode": 1})
        wait_for((board.folder / "state/begun").exists)
        board.behave("slow", on=False)
        os.kill(device._connection._process.pid, number)
        wait_for(lambda: device._connection._process.poll() is not None)
        assert request
    finally:
        device.close()
    assert (board.mode, board.pinned) == (0, False)


@pytest.mark.attack(
    "another program changes the power mode during a run: the session fails, the mode is set again"
)
def test_a_mode_that_another_has_changed_is_set_again(board, rig):
    device = opened("5W")
    try:
        subprocess.run(["sudo", "-n", "nvpmodel", "-m", "0"], check=True, timeout=LIMIT_S)
        device.describe()
        with pytest.raises(SessionError, match="was in power mode 0"):
            device.session(rig.artifact(), rig.settings())
        assert device.describe()["power_mode"]["id"] == 1
        with device.session(rig.artifact(), rig.settings()):
            assert board.pinned
    finally:
        device.close()


@pytest.mark.parametrize(
    ("how", "mode", "reason"),
    [
        ("password", "5W", "sudo: a password is required"),
        ("deaf", "5W", "power mode 0 (MAXN) is still in force"),
        ("", "15W", "nvpmodel asks for a reboot"),
    ],
)
def test_a_mode_that_cannot_be_set_is_an_error_with_the_command_that_sets_it(board, how, mode, reason):
    if how:
        board.behave(how)
    with pytest.raises(UnavailableError) as caught:
        opened(mode)
    assert caught.value.what == f"nano is in power mode 0 (MAXN), and {mode!r} is asked for"
    assert reason in caught.value.why
    command, _, sudoers = caught.value.fix.partition("; or let EdgeBench do it: ")
    assert command == f"on the board: sudo nvpmodel -m {'2' if mode == '15W' else '1'}"
    assert ("visudo" in sudoers) == (how == "password")
    assert (board.mode, board.pinned, board.rebooted) == (0, False, False)


@pytest.mark.attack("nvpmodel gives its mode a name of kilobytes: the note stays readable, it is put back")
def test_a_mode_with_a_long_name_is_put_back(board):
    program = board.folder / "bin" / "nvpmodel"
    program.write_text(program.read_text().replace("name=MAXN", "name=" + "M" * 8000))
    device = opened("5W")
    device.close()
    assert (board.mode, board.pinned) == (0, False)


@pytest.mark.attack("jetson_clocks stores nothing, as on a full disk, and ends well: no power mode is set")
def test_clocks_that_are_not_stored_are_not_changed(board):
    program = board.folder / "bin" / "jetson_clocks"
    program.write_text(program.read_text().replace('>> "$2"; done', '> /dev/null; done; : > "$2"'))
    with pytest.raises(UnavailableError) as caught:
        opened("5W")
    assert "wrote an empty" in caught.value.why
    assert (board.mode, board.pinned) == (0, False)


@pytest.mark.attack("the note of a power mode is a pipe: no wait for it, and nothing is put back")
def test_a_note_that_is_a_pipe_is_not_waited_for(board):
    board.notes.mkdir(mode=0o700)
    os.mkfifo(board.notes / power_modes.NOTE)
    opened("MAXN", sets=False).close()
    assert board.asked == []


@pytest.mark.attack("two harnesses on one board: the one without its lock sets no power mode")
def test_only_who_holds_the_lock_sets_a_mode(board, rig):
    holder, other = rig.device(), rig.far(None, locks=False)
    try:
        assert other.set_power_mode(1) == "another connection holds the board's lock"
        assert board.asked == []
    finally:
        other.close()
        holder.close()


def test_a_mode_that_the_board_lacks_is_a_usage_error_and_nothing_is_asked(board):
    with pytest.raises(UsageError, match="has no power mode '30W'"):
        opened("30W")
    assert board.asked == []


@pytest.mark.attack(
    "sudo asks for a password, the mode is in force already: no run with clocks that are not pinned"
)
def test_clocks_that_cannot_be_pinned_are_an_error_too(board):
    board.behave("password")
    with pytest.raises(UnavailableError, match="clocks of nano could not be pinned") as caught:
        opened("MAXN")
    assert "visudo" in caught.value.fix


@pytest.mark.attack(
    "a power mode cannot be put back: the run says so, with the commands, and the next one, too"
)
def test_what_cannot_be_put_back_is_told(board, caplog):
    device = opened("5W")
    board.behave("password")
    device.close()
    assert "sudo nvpmodel -m 0 && sudo jetson_clocks --restore" in caplog.records[-1].getMessage()
    board.behave("password", on=False)
    opened(None, sets=False).close()
    assert "sudo nvpmodel -m 0 && sudo jetson_clocks --restore" in caplog.records[-1].getMessage()
    assert (board.mode, board.pinned) == (1, True)


@pytest.mark.parametrize(
    ("how", "mode", "level", "says"),
    [
        ("", "5W", "ok", "0 (MAXN) now; a run sets 1"),
        ("password", "5W", "error", "sudo: a password is required"),
        ("password", "MAXN", "error", "its clocks cannot be pinned (sudo: a password is required)"),
        ("", "30W", "error", "has no power mode '30W'"),
    ],
)
def test_doctor_says_whether_a_mode_could_be_set(board, how, mode, level, says):
    if how:
        board.behave(how)
    seen = inspection.inspect_target(target(mode), registry.backend("toy"))
    [finding] = [finding for finding in seen.findings if finding.subject == "power mode"]
    assert finding.level == level and says in finding.message
    assert bool(finding.fix) == (level == "error")
    assert (board.mode, board.pinned) == (0, False)
