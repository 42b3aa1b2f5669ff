"""What a runner starts and leaves behind: processes that make sessions of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from edgebench.agent import children as orphans
from edgebench.errors import SessionError
from edgebench.link.replies import Ended, checked
from tests.fakes import agent_backend
from tests.link.rig import make_rig

# Each writes its own number into a file as soon as it cannot be reached by the worker's group any more.
ESCAPES = {
    "a session of its own": """
        import subprocess
        subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True)
    """,
    "a daemon, by two forks": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", SPIN])
            os._exit(0)
        os.wait()
    """,
    "one that starts the next when it is ended": """
        import subprocess
        code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], " \\
            "start_new_session=True).wait()"
        subprocess.Popen([sys.executable, "-c", code, SPIN], start_new_session=True)
    """,
}
RUNNER = """

SPIN = "import os, time; open({path!r}, 'a').write(str(os.getpid()) + chr(10)); time.sleep(600)"
_plain = load


def load(path, options):
    import os, sys, time
{escape}
    while not os.path.exists({path!r}):
        time.sleep(0.01)
    {then}
    return _plain(path, options)
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


def escaping(rig, tmp_path, escape, then=""):
    """A device whose runner leaves a process behind, and the file that holds its number."""
    runner, path = tmp_path / "runner.py", tmp_path / "pids"
    code = textwrap.indent(textwrap.dedent(ESCAPES[escape]), " " * 4)
    plain = agent_backend("toy").runner_files()[0].read_text()
    runner.write_text(plain + RUNNER.format(path=str(path), escape=code, then=then or "pass"))
    return rig.device(runner), path


def gone(path) -> bool:
    """Whether the processes of that file have ended; those that have not are ended here."""
    processes = []
    for number in path.read_text().split():
        try:
            processes.append(psutil.Process(int(number)))
        except psutil.NoSuchProcess:
            continue
    alive = [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    for one in alive:
        one.kill()
    return not alive


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.parametrize(
    "escape",
    [
        pytest.param(
            escape,
            marks=pytest.mark.attack(
                f"a runner leaves a process behind, {escape}: it is ended before the session has"
            ),
        )
        for escape in ESCAPES
    ],
)
def test_what_leaves_the_workers_group_ends_with_the_session(rig, tmp_path, escape):
    device, path = escaping(rig, tmp_path, escape)
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            session.golden()
        assert session.facts().warnings == ()
        assert gone(path)
    finally:
        device.close()
        gone(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.attack("a runner leaves a process behind and crashes: it is ended too")
def test_what_a_crash_leaves_behind_is_ended(rig, tmp_path):
    device, path = escaping(rig, tmp_path, "a session of its own", then="os.kill(os.getpid(), 9)")
    try:
        with pytest.raises(SessionError, match="crashed"), device.session(rig.artifact(), rig.settings()):
            pass
        assert gone(path)
    finally:
        device.close()
        gone(path)


REFUSED = """
import os, subprocess, sys
from edgebench.agent import children as orphans
kept = subprocess.Popen(["sleep", "600"])
orphans.adopt_orphans()
subprocess.run([sys.executable, "-c", "import subprocess; subprocess.Popen(['sleep', '600'])"], check=True)
kill = os.kill
def refuse(pid, number):
    raise PermissionError
os.kill = refuse
left = orphans.end_orphans([kept.pid], 5.0)
os.kill = kill
assert [(one.name, one.why) for one in left] == [("sleep", "it belongs to another user")], left
assert kept.poll() is None
os.kill = lambda pid, number: None
left = orphans.end_orphans([kept.pid], 0.05)
os.kill = kill
assert [(one.name, one.why) for one in left] == [("sleep", "it does not end")], left
assert orphans.end_orphans([kept.pid]) == []
assert kept.poll() is None
kept.kill()
"""


CHAIN = """
import os, sys, time
from edgebench.agent import children as orphans
orphans.adopt_orphans()
if os.fork() == 0:
    over = time.monotonic() + 20
    while time.monotonic() < over:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.0003)
    os._exit(0)
time.sleep(0.1)
left = orphans.end_orphans()
try:
    time.sleep(0.1)
    assert left or os.waitpid(-1, os.WNOHANG) is None
except ChildProcessError:
    pass
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.attack("a runner leaves a chain of processes, each starting the next and ends: it is ended")
def test_a_chain_of_processes_is_ended_or_named():
    done = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


MARKED = """
import os, subprocess, sys, time
from edgebench.agent import children as orphans
orphans.adopt_orphans()
leave = "import os, time; os.fork() and os._exit(0); os.setsid(); "
leave += "print(os.getpid(), flush=True); time.sleep(60)"
def left_by(worker):
    env = dict(os.environ, EDGEBENCH_WORKER=worker)
    with subprocess.Popen([sys.executable, "-c", leave], env=env, stdout=subprocess.PIPE) as parent:
        return int(parent.stdout.readline())
first, second = left_by("0"), left_by("1")
assert orphans.end_orphans(spared_marks=["EDGEBENCH_WORKER=1"]) == []
assert orphans._children() == [second]
assert orphans.end_orphans() == []
assert orphans._children() == []
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.attack("one of two workers leaves a process behind: it ends with that one, the other's stays")
def test_what_a_worker_leaves_ends_with_it_and_not_with_another():
    done = subprocess.run([sys.executable, "-c", MARKED], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture
def signals(monkeypatch):
    """What was sent to whom, instead of sending it."""
    sent = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(orphans, "_stat", lambda pid: ("chain", os.getpid()))
    monkeypatch.setattr(orphans, "_collected", lambda pid: True)
    return sent


def test_one_look_that_finds_nothing_does_not_say_that_nothing_is_left(signals, monkeypatch):
    looks = iter([[], [], [4711, 4712]])
    monkeypatch.setattr(orphans, "_children", lambda: next(looks, []))
    assert orphans.end_orphans() == []
    stopped, ended = ([(pid, number) for pid in (4711, 4712)] for number in (signal.SIGSTOP, signal.SIGKILL))
    assert signals == [*stopped, *ended]


@pytest.mark.attack("a chain of processes outlives all tries to end it: the session's record names it")
def test_a_chain_that_goes_on_to_the_end_is_named(signals, monkeypatch):
    monkeypatch.setattr(orphans, "_children", lambda: [4711])
    (left,) = orphans.end_orphans(patience_s=0.05)
    assert left == (4711, "chain", "it starts others and ends, faster than they can be ended")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.attack(
    "a process that was left behind cannot be ended (it became another user's): the session's record names it"
)
def test_what_cannot_be_ended_is_named(rig, tmp_path):
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            pass
        left = {"pid": 4711, "name": "root\x1b[2J", "why": "it belongs to another user"}
        session._workers[0].note_end(checked(Ended, {"left_running": [left]}))
        (warning,) = session.facts().warnings
    finally:
        device.close()
    assert (
        warning
        == "process 4711 (root\ufffd[2J), which this session started, goes on: it belongs to another user"
    )


UNSEEN = """
import os, subprocess, sys
from edgebench.agent import children as orphans
orphans.adopt_orphans()
code = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=-3).pid)"
parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child = int(parent.stdout.read())
os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
scan, scans = orphans._children, []
def late():
    scans.append(None)
    return [pid for pid in scan() if len(scans) > 1 or pid != child]
orphans._children = late
try:
    assert orphans.end_orphans() == []
    assert not os.path.exists("/proc/{}".format(child))
finally:
    if os.path.exists("/proc/{}".format(child)):
        os.kill(child, 9)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has subreapers")
@pytest.mark.attack(
    "a process forks after the agent looked and ends before it was asked to: its child is ended"
)
def test_what_forks_after_the_scan_is_ended():
    done = subprocess.run([sys.executable, "-c", UNSEEN], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
