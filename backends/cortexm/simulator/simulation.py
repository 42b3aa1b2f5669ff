"""A simulated microcontroller from its model to its last host."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from edgebench.cache.objects import Cache
from edgebench.errors import EdgeBenchError
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.variant import Variant

from ..engines import model_id
from .board import Board
from .clock import Clock
from .faults import Fault
from .identity import Identity
from .ports import open_port
from .serving import serve
from .tflm_engine import TflmEngine, version


def run(variant: Variant, listen: str | None, faults: Sequence[Fault], clock: Clock) -> None:
    """Print the port, then serve until Ctrl-C, or until a fault unplugs the board.

    Raises:
        UnavailableError: tflite-micro is not installed, or the port cannot be had.
        EdgeBenchError: the artifact cannot be prepared.
    """
    version()
    with ExitStack() as stack:
        port = open_port(listen, watches_opens=any(fault.watches_opens for fault in faults))
        stack.callback(port.close)
        try:
            artifact = _artifact(variant)
            engine = stack.enter_context(TflmEngine(artifact, _say))
            engine.start()
            board = Board(Identity(model_id(artifact), timer=clock.title), engine, clock, faults)
            # Whoever reads the port may open it at once.
            print(port.name, flush=True)
            _say(f"{variant.name} by {engine.facts.title}; Ctrl-C ends it")
            serve(port, board, lambda: False)
            _say("unplugged")
        except KeyboardInterrupt:
            _say("ended")


def _artifact(variant: Variant) -> Artifact:
    """The .tflite that firmware with TFLM carries, prepared as for a real board."""
    [prepared] = TfliteChain().prepare([PrepareRequest(variant, 1, {})], Cache(), _say)
    if isinstance(prepared, EdgeBenchError):
        raise prepared
    return prepared


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
