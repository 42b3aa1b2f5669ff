"""A simulated board at a pty, served by a thread: the first light's engine, perhaps with faults."""

import contextlib
import time

from tests.backends.cortexm import first_light
from tests.backends.cortexm.board_faults import FaultyBoard
from tests.backends.cortexm.simulated import clocks, engines, served

REAL = "made-up, Cortex-M7, 400 MHz"
INFERENCE_S = 1e-4


class BrightnessEngine:
    """Mean brightness of each fifth of the picture."""

    facts = engines.EngineFacts("brightness 1", "uint8", first_light.SIDE**2 * 3, 5, 0, 0)

    def start(self):
        return True

    def infer(self, tensor, times):
        start_ns = time.monotonic_ns()
        time.sleep(times * INFERENCE_S)
        scores = first_light.scores_of(bytearray(tensor))
        return scores, (start_ns, time.monotonic_ns())


@contextlib.contextmanager
def simulated_board(model_id, *faults, board_name=REAL, inference_ms=None, clock_us=0):
    """The name of its port."""
    board = FaultyBoard(
        faults,
        model_id=model_id,
        engine=BrightnessEngine(),
        clock=clocks.SimulatedClock(clock_us, inference_ms),
        board=board_name,
    )
    with served(board) as port:
        yield port
