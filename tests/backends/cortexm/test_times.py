"""How long sessions at a serial line are said to take."""

import importlib
from pathlib import Path

import pytest

from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.records.values import Scene

times = importlib.import_module("edgebench.backends.cortexm.backend")

SCENE = Scene(Path("scene.npy"), "00", 4512, 4512)
PLAN = MeasurePlan(SCENE, 5, patches=1)


def seconds(port="/dev/ttyACM0", plan=PLAN, **options):
    target = Target("m7", "cortex-m", options, port=port)
    return times.CortexMBackend().stage_seconds(target, plan)


@pytest.mark.parametrize(("baud", "frames_s", "digits_s"), [(115_200, 13.3, 31.6), (921_600, 1.66, 3.95)])
def test_a_patch_is_sent_by_frames_or_by_digits(baud, frames_s, digits_s):
    least_s, most_s = times.load_s(Target("m7", "cortex-m", {"baud": baud}, port="/dev/ttyACM0"), PLAN)
    assert (least_s, most_s) == (pytest.approx(frames_s, rel=0.01), pytest.approx(digits_s, rel=0.01))


def test_an_emulator_takes_what_it_takes_for_one_inference_a_window():
    emulated = {"port": None, "board": "mps2-an500", "build": True, "flash": True}
    assert seconds(**emulated)["passes"] == tuple(5 * each for each in times.QEMU_INFERENCE_S)
