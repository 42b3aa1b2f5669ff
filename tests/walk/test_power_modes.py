"""A sweep of power modes from the command line, on a stand-in for a Jetson."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass

import pytest

from tests.jetson_board import JetsonBoard, jetson_board
from tests.walk.conftest import Place, make_place

pytestmark = pytest.mark.slow  # each is a whole run; the parts are in tests/agent and tests/attacks

SWEEP = ("--power-mode", "MAXN", "--power-mode", "5W", "--set-power-mode")
INT8 = ("--depth", "0.25", "--precision", "int8")


@dataclass
class Nano(Place):
    board: JetsonBoard

    @property
    def environment(self):
        return {**super().environment, **self.board.environment}


@pytest.fixture
def nano(tmp_path):
    place = make_place(tmp_path)
    (tmp_path / "nano").mkdir()
    return Nano(place.folder, jetson_board(tmp_path / "nano"))


def test_a_sweep_measures_each_mode_in_a_row_and_puts_the_first_back(nano):
    done = nano.run(*nano.toy(*INT8, *SWEEP, "--sessions", "2", "--passes", "1", "--json", "--name", "a"))
    assert done.returncode == 0, done.stderr
    targets = json.loads(done.stdout)["experiment"]["targets"]
    assert [(target["name"], target["power_mode"], target["set_power_mode"]) for target in targets] == [
        ("toy[power_mode=MAXN]", "MAXN", True),
        ("toy[power_mode=5W]", "5W", True),
    ]
    # Once to see what the device is in that mode, once for both sessions.
    assert [asked for asked in nano.board.asked if "nvpmodel -m" in asked] == 2 * [
        "-n nvpmodel -m 1",
        "-n nvpmodel -m 0",
    ]
    sessions = [
        json.loads(path.read_text())
        for path in nano.folder.glob("results/a/trials/*/sessions/*/session.json")
    ]
    in_force = [session["device"]["power_mode"]["name"] for session in sessions]
    assert (in_force.count("MAXN"), in_force.count("5W")) == (2, 2)
    assert all(session["device"]["pinned_clocks"] == {"cpu": True, "gpu": True} for session in sessions)
    assert (nano.board.mode, nano.board.pinned) == (0, False)
    assert "power mode 0 (MAXN) and its clocks are put back" in " ".join(done.stderr.split())


@pytest.mark.attack("Ctrl-C, twice or without end, during a run that has set a power mode: it is put back")
@pytest.mark.parametrize(("times", "gap_s"), [(2, 0.2), (60, 0.02)])
def test_ctrl_c_puts_the_mode_back(nano, times, gap_s):
    with nano.start(*nano.toy(*INT8, "--power-mode", "5W", "--set-power-mode", "--sessions", "90")) as run:
        try:
            give_up = time.monotonic() + 60
            while not (nano.board.mode == 1 and nano.board.pinned):
                assert run.poll() is None and time.monotonic() < give_up
                time.sleep(0.05)
            time.sleep(1.0)  # into its sessions, or before them: neither may matter
            for _ in range(times):
                run.send_signal(signal.SIGINT)
                time.sleep(gap_s)
            assert run.wait(60) == 130
        finally:
            run.kill()
    assert (nano.board.mode, nano.board.pinned) == (0, False)
