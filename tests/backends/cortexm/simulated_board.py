"""A simulated board at a pty, served by a thread: the first light's engine, and the simulator's faults."""

import contextlib
import time

from tests.backends.cortexm import first_light
from tests.backends.cortexm.simulated import boards, clocks, engines, fault_table, identities, served

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
        return engines.Inferences(scores, start_ns, time.monotonic_ns())

    def abort(self):
        raise engines.BoardReset("abort")


@contextlib.contextmanager
def simulated_board(model_id, *faults, board_name=REAL, inference_ms=None, clock_us=0):
    """The path of its pty."""
    known = fault_table.faults_of(faults)
    board = boards.Board(
        identities.Identity(model_id, board=board_name),
        BrightnessEngine(),
        clocks.Clock(clock_us, inference_ms),
        known,
    )
    with served(board, "pty", any(fault.watches_opens for fault in known)) as port:
        yield port
