"""Everything that ends a session early, over both links: named, contained, and survived by the next one."""

import contextlib
import os
import threading
import time

import psutil
import pytest

from edgebench.agent import supervisor
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.connection import LinkLost
from edgebench.link.placing import Placer
from edgebench.prepare.cache import sha256_file
from edgebench.records.target import Launch
from tests.link import sshd
from tests.link.test_failing_sessions import go

pytestmark = pytest.mark.slow


@pytest.fixture(params=["local", "ssh"])
def board(request):
    """None for this machine."""
    return request.getfixturevalue("ssh_board") if request.param == "ssh" else None


@pytest.fixture
def far(rig, board):
    device = rig.far(board, load=60.0, reconnect=60.0)
    yield device
    device.close()


def agent_of(device, board):
    """The agent's process, on whichever side of SSH."""
    if board is None:
        return psutil.Process(device._connection._process.pid)
    [agent] = [process for process in board.processes() if "serve" in process.cmdline()]
    return agent


def settled(processes):
    assert not psutil.wait_procs(processes, timeout=30)[1], "left running"


@pytest.mark.attack(
    "a worker ends in a stage, here or behind SSH: its session says how, the next is measured"
)
@pytest.mark.parametrize(
    ("fault", "stage", "status", "ended_by"),
    [
        ("abort", "load", "crash", "SIGABRT"),
        ("segfault", "measure", "crash", "SIGSEGV"),
        ("exit", "golden", "crash", None),
        ("out_of_memory", "measure", "out_of_memory", None),
        ("raise", "predict", "error", None),
    ],
)
def test_a_worker_that_ends_is_named(rig, board, far, fault, stage, status, ended_by):
    with pytest.raises(SessionError) as caught:
        go(far, rig, fault=fault, fault_stage=stage)
    error = caught.value
    assert (error.status, error.stage, error.signal) == (status, stage, ended_by)
    assert "toy: loading" in error.stderr_tail
    assert agent_of(far, board).children(recursive=True) == []
    assert len(go(far, rig)[1]) >= 2


@pytest.mark.attack("a worker hangs, here or behind SSH: it is ended at its limit")
def test_a_worker_that_hangs_is_ended(rig, board):
    device = rig.far(board, measure=2.0)
    try:
        with pytest.raises(SessionError) as caught:
            go(device, rig, fault="hang")
        assert (caught.value.status, caught.value.stage) == ("timeout", "measure")
        assert "time limit of 2 s" in caught.value.why
        assert "toy: loading" in caught.value.stderr_tail
        assert agent_of(device, board).children(recursive=True) == []
    finally:
        device.close()


@pytest.mark.attack("the kernel kills a worker, here or behind SSH: a crash with its signal")
def test_a_worker_that_the_kernel_kills_is_a_crash(rig, board, far):
    with pytest.raises(SessionError) as caught, far.session(rig.artifact(), rig.settings()) as session:
        session.golden()
        agent_of(far, board).children()[0].kill()
        session.golden()
    assert (caught.value.status, caught.value.signal, caught.value.stage) == ("crash", "SIGKILL", "golden")


@pytest.mark.attack("a runtime prints garbage or floods stderr, here or behind SSH: nothing ends")
@pytest.mark.parametrize(("fault", "output"), [("garbage", "no frame"), ("stderr_flood", "the last line")])
def test_what_a_runtime_prints_ends_nothing(rig, far, fault, output):
    session, passes = go(far, rig, fault=fault)
    assert len(passes) >= 2
    tail = session.facts().stderr_tail
    assert output in tail
    assert len(tail) <= 65536


@pytest.mark.attack("an agent sends something else than frames: protocol error, the next session is measured")
def test_an_agent_that_sends_no_frames_is_a_protocol_error(rig, board, far):
    with pytest.raises(SessionError) as caught, far.session(rig.artifact(), rig.settings()) as session:
        far._connection._decoder.feed(b"EdBn")  # what follows is a frame's middle for this side
        session.golden()
    assert caught.value.status == "protocol_error"
    assert len(go(far, rig)[1]) >= 2


# --- the connection, the agent, the board ---


def cut_client(device, board):
    """This side's process: ssh, or the agent itself."""
    device._connection._process.kill()


def cut_server(device, board):
    board.drop()


def kill_agent(device, board):
    agent_of(device, board).kill()


def kill_master(device, board):
    device._link._master.kill()


CUTS = {"client": cut_client, "server": cut_server, "agent": kill_agent, "master": kill_master}
BOTH = ("client", "agent")


@pytest.mark.attack(
    "a connection is cut during a pass, at each of its ends: the session is lost, the next is measured"
)
@pytest.mark.parametrize("cut", CUTS)
def test_a_connection_lost_in_a_pass(rig, board, far, cut):
    if board is None and cut not in BOTH:
        pytest.skip("there is no server between a harness and its own machine")
    agent = agent_of(far, board)
    with (
        pytest.raises(SessionError) as caught,
        far.session(rig.artifact(), rig.settings(delay_us=20_000)) as session,
    ):
        family = [agent, *agent.children(recursive=True)]
        assert len(family) >= 2
        timer = threading.Timer(0.3, CUTS[cut], (far, board))
        timer.start()
        list(session.measure(rig.plan(passes=1000)))
    timer.join()
    assert (caught.value.status, caught.value.stage) == ("lost_connection", "measure")
    assert caught.value.fix
    settled(family)
    assert len(go(far, rig)[1]) >= 2


@pytest.mark.attack("a connection is cut during a transfer: no part of a file is left, and it is sent again")
@pytest.mark.parametrize("cut", ["client", "server", "agent"])
def test_a_connection_lost_in_a_transfer(rig, ssh_board, tmp_path, cut):
    far = rig.far(ssh_board)
    agent = agent_of(far, ssh_board)
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(24 << 20))
    placer = Placer(far._connection, False, 30.0)
    wait = far._connection.wait
    seen = []

    def cutting(request, timeout_s):
        seen.append(request)
        if len(seen) == 4:
            CUTS[cut](far, ssh_board)
        return wait(request, timeout_s)

    far._connection.wait = cutting
    try:
        with pytest.raises(LinkLost):
            placer.place(big)
        settled([agent])
        assert not (ssh_board.placed / f"{sha256_file(big)}.bin").exists()
        far._alive()
        assert list(ssh_board.placed.glob("*.part")) == []  # who gets the lock next sweeps
        path = Placer(far._connection, False, 30.0).place(big)
        assert os.path.getsize(path) == 24 << 20
    finally:
        far.close()


@pytest.mark.attack("a board reboots during a session: it is waited for and measured on")
def test_a_board_that_reboots_is_waited_for(rig, tmp_path, caplog):
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path)
    board.start()
    far = rig.far(board, reconnect=60.0)
    started = threading.Timer(1.5, board.start)
    try:
        facts = far.describe()
        with pytest.raises(SessionError) as caught, far.session(rig.artifact(), rig.settings()) as session:
            session.golden()
            family = board.processes()
            board.power_off()
            started.start()
            list(session.measure(rig.plan()))
        assert (caught.value.status, caught.value.stage) == ("lost_connection", "scene")
        settled(family)
        assert far.describe()["python"] == facts["python"]
        assert len(go(far, rig)[1]) >= 2
        assert [record.getMessage() for record in caplog.records] == [
            f"{board.address} was lost: waiting for it to come back, 60 s at most",
            f"{board.address} is back",
        ]
    finally:
        started.join()
        far.close()
        board.power_off()


@pytest.mark.attack("a board stays away: its sessions are lost, the experiment goes on")
def test_a_board_that_stays_away_is_a_lost_session_and_not_the_experiments_end(rig, tmp_path, caplog):
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path)
    board.start()
    far = rig.far(board, reconnect=0.3)
    facts = far.describe()
    board.power_off()
    for _ in range(2):
        assert far.describe()["python"] == facts["python"]
        with pytest.raises(SessionError) as caught:
            go(far, rig)
        assert (caught.value.status, caught.value.stage) == ("lost_connection", "start")
        assert "refused" in caught.value.why
    # It is waited for once; from then on it is only asked.
    assert len(caplog.records) == 1
    far.close()


@pytest.mark.attack("the host loses its power: the agent ends by itself")
def test_an_agent_whose_host_falls_silent_ends(rig, monkeypatch, tmp_path):
    """No goodbye comes from a host that lost its power; the agent's patience is an hour, shortened here."""
    monkeypatch.setattr(supervisor, "SILENCE_S", 0.2)
    into, out = os.pipe(), os.pipe()
    try:
        began = time.monotonic()
        supervisor.Supervisor(into[0], out[1], str(tmp_path), str(tmp_path)).run()
        assert time.monotonic() - began >= 0.2
    finally:
        for descriptor in (*into, *out):
            with contextlib.suppress(OSError):
                os.close(descriptor)


@pytest.mark.attack("an agent is killed while a shell stands between it and its worker: the worker ends, too")
def test_a_grandchild_ends_with_a_killed_agent_behind_a_prefix(rig, board, far):
    """`sh -c` stays between agent and worker, so the worker's parent is not the agent."""
    launch = Launch(prefix=("sh", "-c", '"$@"; exit $?', "sh"))
    with pytest.raises(SessionError), far.session(rig.artifact(), rig.settings(launch=launch)) as session:
        agent = agent_of(far, board)
        family = [agent, *agent.children(recursive=True)]
        assert len(family) >= 3
        agent.kill()
        session.golden()
    settled(family)


@pytest.mark.attack("the worker's Python is not there: the session says so")
def test_no_python_for_the_worker_is_that_sessions_end(rig, far):
    with (
        pytest.raises(SessionError) as caught,
        far.session(rig.artifact(), rig.settings(launch=Launch(python="/no/such/python"))),
    ):
        pass
    assert caught.value.stage == "start"
    assert "/no/such/python" in caught.value.why


def test_a_device_that_cannot_be_opened_leaves_nothing(rig, tmp_path):
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path)
    with pytest.raises(UnavailableError):
        rig.far(board)
