"""Builds on a board that fail, hang, crash or deceive: their session fails, and nothing half stays there."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from edgebench.agent import building
from edgebench.agent.files import FileStore, sha256_of
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.replies import Progressed
from edgebench.link.session_loop import Timeouts
from edgebench.link.worker import MOST_STEPS, WorkProgress, build_progress
from edgebench.records.target import Launch
from edgebench.session_stages import BUILD
from tests.fakes import agent_backend
from tests.link.rig import make_rig, silent

FAILS = "its session fails with the reason, and nothing of it stays on the board"


def attack(what, *values):
    return pytest.param(*values, id=what, marks=pytest.mark.attack(f"a runner's build {what}: {FAILS}"))


# --- what a build gives, by itself ---


RESULTS = [
    attack("gives nothing", "made = None", "instead of the path of a file"),
    attack("gives a file that is not its own", "made = source", "not in its cache_dir"),
    attack("leads out of its folder", "made = folder + '/../source'", "not in its cache_dir"),
    attack("gives a link", "made = folder + '/link'; os.symlink(source, made)", "is a link"),
    attack("gives a hard link", "made = folder + '/link'; os.link(source, made)", "is a link"),
    attack("gives a pipe", "made = folder + '/pipe'; os.mkfifo(made)", "no plain file"),
    attack("gives its whole folder", "made = folder", "not in its cache_dir"),
    attack("gives a folder", "made = folder + '/engine'; os.mkdir(made)", "is a folder"),
    attack("gives a file that is not there", "made = folder + '/engine'", "no such file"),
    attack("gives an empty file", "made = folder + '/engine'; open(made, 'w').close()", "is empty"),
    attack("closes its folder and raises", "os.chmod(folder, 0); raise ValueError('no')", "no"),
    attack("goes backwards", "progress(-1)", r"progress\(-1, 0\)"),
    attack("fills the disk", "os.write(os.open('/dev/full', os.O_WRONLY), b'x')", "is full"),
]


@pytest.mark.parametrize(("code", "why"), RESULTS)
def test_a_result_that_may_not_be_kept_leaves_nothing(tmp_path, code, why):
    def build(source, calibration, folder, options, progress):
        names = {"os": os, "source": source, "folder": folder, "progress": progress, "made": ""}
        exec(code, names)
        return names["made"]

    runner: Any = ModuleType("runner")
    runner.build = build
    runner.build_version = lambda: "1"
    board = tmp_path / "board"
    board.mkdir(0o700)
    (board / "source").write_text("a model")
    source = {"path": str(board / "source"), "sha256": sha256_of(str(board / "source"))}
    request = {"source": source, "code": {"files": {}}, "options": {}}
    scratch = FileStore(str(board)).scratch(1)
    with pytest.raises((building.BuildFailed, building.DiskFull, ValueError), match=why):
        building.build(runner, request, scratch, silent, lambda: 0)
    assert {path.name for path in board.iterdir()} == {"source"}


# --- a worker that builds, through a real agent ---


ATTACKED = """

_build = build


def build(source, calibration, cache_dir, options, progress):
    made = _build(source, calibration, cache_dir, options, progress)
    exec(os.environ.get("ATTACK", ""))
    return made
"""


class BuildingDevice:
    """The toy on a board of its own, to which files are sent; its build ends in what `$ATTACK` says."""

    def __init__(self, folder: Path) -> None:
        self.rig = make_rig(folder / "cache")
        self.artifact = self.rig.artifact(build=True)
        backend = agent_backend("toy")
        [plain] = backend.runner_files()
        runner = folder / "device" / "runner.py"
        runner.parent.mkdir()
        runner.write_text(plain.read_text() + ATTACKED)
        self.board = folder / "board"
        agent, _ = agent_file(self.rig.cache)
        link = LocalLink(agent, None, self.board)
        self.device = AgentDevice(link, (runner,), Timeouts(build=2.0), builds=backend.builds)

    def session(self, attack="", **options):
        settings = self.rig.settings(build=True, **options)
        launch = Launch(env={"ATTACK": attack})
        return self.device.session(self.artifact, replace(settings, launch=launch))

    def require_nothing_left(self):
        """No build and no scratch folder lie on the board."""
        assert [path for path in self.board.iterdir() if path.suffix == ".built" or path.is_dir()] == []


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    opened = BuildingDevice(tmp_path_factory.mktemp("building"))
    yield opened
    opened.device.close()


@pytest.mark.parametrize(
    ("code", "status", "why"),
    [
        attack("raises", "1 / 0", "error", "ZeroDivisionError"),
        attack("crashes", "os.abort()", "crash", "SIGABRT"),
        attack("ends its process", "os._exit(3)", "crash", "exit code 3"),
        attack("hangs", "time.sleep(60)", "timeout", "time limit of 2 s"),
        attack("writes where frames are due", "os.write(3, b'x' * 9); time.sleep(9)", "protocol_error", ""),
    ],
)
def test_a_build_that_fails_leaves_nothing(board, code, status, why):
    with pytest.raises(SessionError) as caught, board.session(code):
        pass
    assert (caught.value.status, caught.value.stage) == (status, BUILD)
    assert why in caught.value.why
    board.require_nothing_left()


@pytest.mark.attack("Ctrl-C during a build: it is ended at once, and nothing of it stays on the board")
def test_an_interrupt_ends_a_build(board, monkeypatch):
    def interrupt(progress, note):
        signal.raise_signal(signal.SIGINT)  # it is under way: its first step is done
        return False

    monkeypatch.setattr(WorkProgress, "reach", interrupt)
    with pytest.raises(KeyboardInterrupt), board.session("time.sleep(60)"):
        pass
    board.require_nothing_left()


@pytest.mark.attack("an agent dies during a build: what it left is removed before the next session")
def test_what_a_killed_agent_left_is_swept(board):
    half = Path(FileStore(str(board.board)).scratch(1))
    half.mkdir()
    (half / "engine").write_text("half")
    board.device._connection.close()
    with board.session() as session:
        assert len(session.golden()) == len(board.artifact.golden.scores)
    assert not half.exists()


@pytest.mark.attack(
    "what was built is taken from a board during a run: the session fails, the next one builds"
)
def test_a_build_that_vanishes_is_made_again(board):
    with board.session() as session:
        sha256 = session.facts().built.sha256
    for path in board.board.glob(f"{sha256}*"):
        path.unlink()
    with pytest.raises(SessionError), board.session():
        pass
    with board.session() as session:
        assert not session.facts().built.cached


@pytest.mark.attack(
    "a build says again and again how far it is: its time is not renewed, and all of it is bounded"
)
def test_only_further_progress_renews_a_build():
    reports: list[tuple[str, int, int]] = []
    progress = build_progress(lambda *told: reports.append(told))
    notes = [(1, 4), (1, 4), (0, 4), (5, 4), (2, 0)]
    further = [progress.reach(Progressed(progress=done, total=total, now_ns=1)) for done, total in notes]
    assert further == [True, False, False, False, True]
    assert reports == [(BUILD, 1, 4), (BUILD, 2, 0)]
    assert progress.longest == MOST_STEPS
