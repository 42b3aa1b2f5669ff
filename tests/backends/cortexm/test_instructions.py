"""A board that says it is QEMU's: windows of one inference, instructions where its clock's pace is known."""

import importlib
from contextlib import closing

import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.testing.backend_kit import scene_of
from tests.backends.cortexm import first_light
from tests.backends.cortexm.simulated_board import simulated_board

device = importlib.import_module("edgebench.backends.cortexm.backend")

QEMU = "mps2-an500, Cortex-M7, 25 MHz"
SIMULATOR = "simulator"


@pytest.mark.parametrize(
    ("board", "shift", "reason"),
    [
        (QEMU, 5, ""),
        (QEMU, None, "--set icount-shift=N"),
        (SIMULATOR, None, "the simulator counts no instructions"),
        (SIMULATOR, 5, "the simulator counts no instructions"),
    ],
)
def test_instructions_of_emulated_boards_or_why_there_are_none(tmp_path, board, shift, reason):
    cache = Cache(tmp_path)
    artifact = first_light.first_light_artifact(cache)
    options = {} if shift is None else {"icount_shift": shift}
    with simulated_board(first_light.engines.model_id(artifact), board_name=board) as port:
        target = Target("m7", "cortex-m", port=port, options=options)
        with closing(device.CortexMDevice(target, first_light.SHORT)) as opened:
            opened.describe()
            with opened.session(artifact, SessionSettings(1, options, Launch())) as session:
                plan = MeasurePlan(scene_of(artifact, cache), 2, warmup_floor=2, images=None, patches=1)
                windows = list(session.measure(plan))
                facts = session.facts()
    assert facts.emulated and facts.clock == {} and reason in facts.instructions_reason
    assert bool(facts.instructions_reason) == bool(reason)
    if board == QEMU:
        assert [window.inferences for window in windows] == [1, 1, 1]
    for window in windows:
        # 25 MHz: an instruction is 2^5 ns of the board's time.
        assert window.instructions == (None if reason else round(window.duration_ns / 2**5))
