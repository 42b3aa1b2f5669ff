"""Devices whose stamps are too short for the time that they were waited for are flagged, and pass nothing."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import load_profile
from edgebench.link import window_session as window_requests
from edgebench.run.measuring.session_record import Gathered, clock_wait
from edgebench.stats.clock import falls_short
from tests.attacks.lying_device import Device, S, measured
from tests.attacks.test_evil_device import EvilDevice, store_of
from tests.judge.trials import judge
from tests.link.test_window_session import Board, artifact, plan, windows_of  # noqa: F401
from tests.measure.lanes import experiment

PROFILE = """
schema_version = 1
name = "limits"
title = "Limits"

[[requirements]]
name = "long"
quantity = "image_s"
statistic = "median"
limit = 1.9
unit = "s"

[[requirements]]
name = "short"
quantity = "infer_s"
statistic = "median"
limit = 0.2
unit = "s"

[[requirements]]
name = "load"
quantity = "load_s"
statistic = "median"
limit = 1.0
unit = "s"
"""


def verdicts_of(tmp_path, waited_ns):
    """The trial, and its verdicts, of passes of 1 s for which the device was waited for so long."""
    changes = {"pass": lambda one: replace(one, waited_ns=waited_ns, scores=one.scores)}
    run = experiment(None, lambda trial: EvilDevice(changes=changes), {"device": None}, sessions=4)
    with store_of(run, tmp_path) as store:
        run.store = store
        run.run()
    (tmp_path / "limits.toml").write_text(PROFILE)
    judged = judge_folder(tmp_path / "evil", ())
    [trial] = judged.trials
    verdicts = judge(trial, load_profile(str(tmp_path / "limits.toml")))
    return trial, {verdict.requirement.name: verdict for verdict in verdicts}


@pytest.mark.attack(
    "a device's stamps say half of the time that it was waited for: flagged, and no limit is passed"
)
def test_half_of_the_time_passes_no_limit_on_time_and_can_fail_one(tmp_path):
    trial, verdicts = verdicts_of(tmp_path, 2 * S)
    assert {name: verdict.word for name, verdict in verdicts.items()} == {
        "long": "inconclusive", "short": "fail", "load": "pass",
    }  # fmt: skip
    assert "50%" in verdicts["long"].reason and "longer" in verdicts["long"].reason
    [warning] = [text for text in trial.warnings if "stamps account" in text]
    assert "50%" in warning and "4 of 4 sessions" in warning
    [document] = (tmp_path / "evil").rglob("sessions/000/session.json")
    assert json.loads(document.read_text())["clock"]["wait"] == {"stamped_ns": S, "waited_ns": 2 * S}


@pytest.mark.parametrize("waited_ns", [None, 0, S // 2, S, S + S // 5])
def test_what_an_honest_device_is_waited_for_changes_nothing(tmp_path, waited_ns):
    trial, verdicts = verdicts_of(tmp_path, waited_ns)
    assert verdicts["long"].word == "pass"
    assert "stamps" not in trial.doubts and not [text for text in trial.warnings if "stamps" in text]


def test_what_a_request_takes_by_itself_is_nothing_that_is_missing():
    assert not falls_short(1_000_000, 200_000_000)  # a pass of a ms, after which garbage is collected
    assert not falls_short(20 * S, 26 * S)
    assert falls_short(S // 2, S)
    assert not falls_short(-S, 0)


def wait_of(passes):
    gathered = Gathered(timed=[one for one in passes if one.phase == "steady"])
    wait = clock_wait(gathered)["wait"]
    return wait["stamped_ns"], wait["waited_ns"]


class Slow(Device):
    """Stamps so much of the time that its stages take."""

    share = 1.0

    def run(self, batches):
        start, _, stamps = super().run(batches)
        self.time.now_ns += 2 * S
        end = self.clock()
        stamps[-1, 2, 1] = end
        if self.share < 1:
            start, end = start, start + int(self.share * (end - start))
            stamps = np.minimum(stamps, end)
            stamps[-1, 2, 0] -= 1
        return start, end, stamps


@pytest.mark.attack(
    "a link holds up every request and every answer: the stamps account for the time all the same"
)
def test_a_slow_link_is_no_part_of_the_wait(host_time):
    def held_up(device):
        device.time.now_ns += 3 * S

    passes, _ = measured(Slow(host_time, before={"pass": held_up, "clock": held_up}))
    stamped_ns, waited_ns = wait_of(passes)
    assert not falls_short(stamped_ns, waited_ns)


@pytest.mark.attack("a worker stamps half of what its agent waited for it: flagged")
def test_a_worker_that_stamps_half_is_found(host_time):
    device = Slow(host_time)
    device.share = 0.5
    passes, _ = measured(device)
    assert falls_short(*wait_of(passes))


class HalfLaps(Board):
    """Its laps are half of what its clock says."""

    def infer(self, inferences, warm_ups, expected_s):
        timed = super().infer(inferences, warm_ups, expected_s)
        return replace(timed, end_ns=(timed.start_ns + timed.end_ns) // 2)


@pytest.mark.attack("a microcontroller's laps are half of the time by its own clock: flagged")
@pytest.mark.parametrize(("kind", "is_short"), [(Board, False), (HalfLaps, True)])
def test_laps_of_half_the_time_are_found(artifact, plan, monkeypatch, kind, is_short):  # noqa: F811
    board = kind(0.16)
    monkeypatch.setattr(window_requests, "time", SimpleNamespace(monotonic=lambda: board.now_ns / 1e9))
    _, windows = windows_of(board, artifact, plan)
    wait = clock_wait(Gathered(timed=windows))["wait"]
    assert falls_short(wait["stamped_ns"], wait["waited_ns"]) == is_short
