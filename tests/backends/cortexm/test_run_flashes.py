"""`edgebench run --build --flash` from end to end: OpenOCD is a stand-in, the board a simulated one."""

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from tests.backends.cortexm.board_faults import FaultyBoard
from tests.backends.cortexm.elf_files import elf
from tests.backends.cortexm.flashing_programs import FlashingPrograms
from tests.backends.cortexm.simulated import clocks, served
from tests.backends.cortexm.simulated import engines as simulated_engines
from tests.walk.conftest import make_place

PACKAGE = "edgebench.backends.cortexm"
engines = importlib.import_module(f"{PACKAGE}.engines")
firmware_supply = importlib.import_module(f"{PACKAGE}.firmware_supply")
known_boards = importlib.import_module(f"{PACKAGE}.boards")

NUCLEO = known_boards.board_of("nucleo-h743zi2")
FLASH = NUCLEO.regions()[0]
OTHER_MODEL = "mobilenet_v1-0.5-int8:" + "0" * 64
INFERENCE_MS = 160.0


class GoldenEngine:
    """The artifact's golden scores for its golden patches; for all other pictures those of the first."""

    def __init__(self, artifact):
        patches = np.load(artifact.golden.patches)
        tensors = [(patch.astype(np.int16) - 128).astype(np.int8).tobytes() for patch in patches]
        self._scores = dict(zip(tensors, artifact.golden.scores, strict=True))
        self._usual = artifact.golden.scores[0]
        self.facts = simulated_engines.EngineFacts("TFLM 1", "int8", len(tensors[0]), len(self._usual), 0, 0)

    def start(self):
        return True

    def infer(self, tensor, times):
        scores = self._scores.get(bytes(tensor), self._usual)
        return tuple(scores), (0, times)


class FlashedBoard:
    """A board that carries another model until OpenOCD was called."""

    def __init__(self, engine, model_id, programs):
        self._programs = programs
        self._before, self._after = (
            FaultyBoard((), model_id=carried, engine=engine, clock=clocks.SimulatedClock(0, INFERENCE_MS))
            for carried in (OTHER_MODEL, model_id)
        )

    @property
    def _now(self):
        return self._after if self._programs.calls else self._before

    def opened(self):
        return self._now.opened()

    def receive(self, data):
        return self._now.receive(data)

    def wait(self):
        return self._now.wait()


@pytest.mark.slow
def test_a_board_with_another_model_is_flashed_and_measured(
    prepared_quarter, session_cache, tmp_path, monkeypatch
):
    artifact = prepared_quarter["int8"]
    file = tmp_path / "built.elf"
    file.write_bytes(elf([(".text", 1, 6, FLASH.start, 300)], [(FLASH.start, 300)]))
    firmware = known_boards.Firmware(file, (), (replace(FLASH, used_bytes=300),))
    monkeypatch.setattr(firmware_supply, "build", lambda *arguments: firmware)
    monkeypatch.setattr(firmware_supply, "engine_of", lambda *arguments: engines.brightness())
    monkeypatch.setattr(firmware_supply, "cross_compiler", lambda: None)
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    monkeypatch.setenv("EDGEBENCH_BOARD_LOCK", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    programs = FlashingPrograms(tmp_path, monkeypatch)
    programs.install("openocd")
    make_place(tmp_path)
    board = FlashedBoard(GoldenEngine(artifact), engines.model_id(artifact), programs)
    with served(board) as port:
        done = CliRunner().invoke(
            app,
            [
                *("run", "--device", "cortex-m", "--port", port, "--set", "board=nucleo-h743zi2"),
                *("--build", "--flash", "--depth", "0.25", "--sessions", "1", "--passes", "1"),
                *("--scene", "scene.png", "--images", "images", "--accuracy-images", "5"),
                *("--name", "desk", "--json"),
            ],
            env={"COLUMNS": "200"},
        )
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert [program for program, _, _ in programs.calls] == ["openocd"]
    notes = [
        "nucleo-h743zi2: firmware with mobilenet_v1-0.25-int8 takes FLASH 300 of 2,097,152 bytes",
        "flashing nucleo-h743zi2 by openocd",
        "flashed and verified: nucleo-h743zi2 has been reset",
        "waiting for the board to answer with its new firmware",
    ]
    places = [done.stderr.index(note) for note in notes]
    assert places == sorted(places)
    [trial] = json.loads(done.stdout)["trials"]
    # The board that was measured is a simulated one: it has no seconds.
    assert (trial["status"], trial["marks"]) == ("done", ["emulated"])
    assert trial["estimates"]["accuracy"]["n"] == 5
