"""Firmware that a run builds and flashes: what is called, what is shown, what a board without it hears."""

import importlib
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest

from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UnsupportedError, UsageError
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.records.values import Scene, Variant
from tests.backends.cortexm.elf_files import elf
from tests.backends.cortexm.emulated import require_emulator
from tests.backends.cortexm.flashing_programs import FlashingPrograms

backend = importlib.import_module("edgebench.backends.cortexm.backend")
profiles = importlib.import_module("edgebench.backends.cortexm.profile")
boards = importlib.import_module("edgebench.backends.cortexm.boards")
device = importlib.import_module("edgebench.backends.cortexm.backend")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
faults = importlib.import_module("edgebench.backends.cortexm.line")
firmware_supply = importlib.import_module("edgebench.backends.cortexm.firmware_supply")
options = importlib.import_module("edgebench.backends.cortexm.options")

FLASH = 0x0800_0000
CARRIED = "mobilenet_v1-0.5-int8:" + "0" * 64


@pytest.fixture(scope="module")
def artifact(session_cache):
    [prepared] = TfliteChain().prepare([PrepareRequest(Variant(0.25, "int8"), 1, {})], session_cache, print)
    assert isinstance(prepared, Artifact)
    return prepared


@pytest.fixture
def programs(tmp_path, monkeypatch):
    return FlashingPrograms(tmp_path, monkeypatch)


@pytest.fixture
def firmware(tmp_path, monkeypatch):
    """What a build gives, without a compiler."""
    file = tmp_path / "built.elf"
    file.write_bytes(elf([(".text", 1, 6, FLASH, 300)], [(FLASH, 300)]))
    region = boards.board_of("nucleo-h743zi2").regions()[0]
    result = boards.Firmware(file, (), (replace(region, used_bytes=300),))
    monkeypatch.setattr(firmware_supply, "build", lambda *arguments: result)
    monkeypatch.setattr(firmware_supply, "engine_of", lambda *arguments: engines.brightness())
    return file


def supply_of(session_cache, **settings):
    return firmware_supply.FirmwareSupply(options.CortexMOptions(**settings), session_cache)


def refusal(supply, artifact):
    with pytest.raises(SessionError) as refused:
        supply.supply(artifact, CARRIED)
    assert refused.value.status == "load_failed"
    return refused.value


def test_without_build_and_flash_the_options_are_named(session_cache, artifact):
    error = refusal(supply_of(session_cache, baud=921_600), artifact)
    # Hashes in full would push the fix out of what a table shows.
    assert "mobilenet_v1-0.5-int8:000000000000," in error.why and artifact.sha256[:12] in error.why
    assert artifact.sha256 not in error.why
    assert error.fix == "add --set board=NAME --build --flash"


def test_a_run_without_a_port_ends_before_anything_is_prepared():
    plan = MeasurePlan(Scene(Path("scene.npy"), "00", 448, 448), 5, patches=1)
    for settings in ({}, {"board": "nucleo-h743zi2", "flash": True}):
        with pytest.raises(UnavailableError) as refused:
            backend.CortexMBackend().check_plan(Target("board", "cortex-m", options=settings), plan, None, 1)
        assert "--port" in refused.value.fix
    emulated = Target("board", "cortex-m", options={"board": "mps2-an500", "flash": True})
    backend.CortexMBackend().check_plan(emulated, plan, None, 1)


@pytest.mark.parametrize(
    ("port", "options", "what"),
    [
        ("/dev/ttyACM-nobody", {}, "there is no port /dev/ttyACM-nobody"),
        ("unix:/nowhere/board", {}, "nothing listens at unix:/nowhere/board"),
        ("/dev/null", {"board": "mps2-an500", "flash": True}, "--port and an emulated board (mps2-an500)"),
    ],
)
def test_a_run_at_a_port_that_cannot_be_ends_before_anything_is_prepared(port, options, what):
    plan = MeasurePlan(Scene(Path("scene.npy"), "00", 448, 448), 5, patches=1)
    target = Target("board", "cortex-m", port=port, options=options)
    with pytest.raises(EdgeBenchError, match=re.escape(what)):
        backend.CortexMBackend().check_plan(target, plan, None, 1)


def test_what_is_built_alone_is_flashed_by_hand(session_cache, artifact, firmware, programs):
    error = refusal(supply_of(session_cache, board="nucleo-h743zi2", build=True), artifact)
    assert error.fix.startswith(f"edgebench cortexm flash {firmware} --board nucleo-h743zi2")
    assert programs.calls == []


def test_what_is_built_is_flashed_and_its_memory_told(session_cache, artifact, firmware, programs, caplog):
    programs.install("openocd")
    with caplog.at_level(logging.WARNING):
        supply_of(session_cache, board="nucleo-h743zi2", flash=True, stlink="0671FF").supply(
            artifact, CARRIED
        )
    [(program, words, files)] = programs.calls
    assert program == "openocd" and "adapter serial 0671FF" in words
    assert files["firmware.elf"] == firmware.read_bytes()
    assert caplog.messages == [
        "nucleo-h743zi2: firmware with mobilenet_v1-0.25-int8 takes FLASH 300 of 2,097,152 bytes",
        "flashing nucleo-h743zi2 by openocd",
        "flashed and verified: nucleo-h743zi2 has been reset",
    ]


@pytest.mark.attack(
    "openocd cannot flash a run's board: its session fails with what it wrote, nothing is timed"
)
def test_a_board_that_cannot_be_flashed(session_cache, artifact, firmware, programs):
    programs.install("openocd")
    programs.behave("Error: open failed", exit_code=1)
    error = refusal(supply_of(session_cache, board="nucleo-h743zi2", flash=True), artifact)
    assert (error.stage, error.why) == ("load", "Error: open failed")


def test_a_board_has_to_be_named(session_cache, artifact):
    with pytest.raises(UsageError) as refused:
        supply_of(session_cache, flash=True).supply(artifact, CARRIED)
    assert "nucleo-h743zi2" in refused.value.fix


def test_what_is_not_installed_is_told_before_anything_is_made(programs):
    request = PrepareRequest(Variant(0.25, "int8"), 1, {"board": "nucleo-h743zi2", "flash": True})
    missing = backend.CortexMBackend().missing(request)
    assert isinstance(missing, UnavailableError) and "apt install" in missing.fix


def test_a_board_that_cannot_hold_it_is_an_outcome_of_preparing(session_cache, monkeypatch):
    error = UnsupportedError("it does not fit", why="RAM takes 12 bytes more")

    def refuse(*arguments):
        raise error

    monkeypatch.setattr(backend, "firmware_with", refuse)
    request = PrepareRequest(Variant(0.25, "int8"), 1, {"board": "nucleo-h743zi2", "build": True})
    assert backend.CortexMBackend().prepare([request], session_cache, print) == [error]


def test_what_says_how_firmware_comes_onto_the_board_is_not_in_the_key():
    assert options.CortexMOptions.not_in_key == {"baud", "benchmark_id", "board", "build", "flash", "stlink"}


def silent_until(monkeypatch, file):
    """Boards answer once the file is there."""

    def identify(board):
        if not file.exists():
            raise faults.AnswerTimeout("name% was not answered", awaited="m-name", came=())
        infos = {"board": "nucleo-h743zi2, Cortex-M7, 400 MHz"}
        return profiles.Profile("edgebench", "edgebench-cortexm 1", CARRIED, infos)

    monkeypatch.setattr(device.CortexMDevice, "identify", identify)


def test_a_board_that_does_not_answer_is_given_firmware_that_does(
    firmware, programs, tmp_path, monkeypatch, caplog
):
    programs.install("openocd")
    silent_until(monkeypatch, tmp_path / "calls")
    settings = {"board": "nucleo-h743zi2"}
    with pytest.raises(SessionError):
        device.CortexMDevice(Target("m7", "cortex-m", settings, port="/dev/none")).describe()
    assert programs.calls == []
    board = device.CortexMDevice(Target("m7", "cortex-m", {**settings, "flash": True}, port="/dev/none"))
    assert board.describe() == {"board": "nucleo-h743zi2", "cpu": "Cortex-M7, 400 MHz"}
    assert "does not answer" in caplog.messages[0]
    assert [program for program, _, _ in programs.calls] == ["openocd"]


def test_an_emulated_board_is_started_with_its_firmware(session_cache, artifact, monkeypatch):
    require_emulator()
    monkeypatch.setattr(firmware_supply, "engine_of", lambda *arguments: engines.brightness(100, 4))
    monkeypatch.setattr(firmware_supply, "Cache", lambda: session_cache)
    emulated = device.CortexMDevice(Target("m7", "cortex-m", {"board": "mps2-an500", "flash": True}))
    try:
        assert emulated.describe()["board"] == "mps2-an500"
        carried = emulated.identify().model_id
        assert carried == engines.brightness().model_id
        emulated.provide(artifact, carried)
        assert emulated.identify().model_id == engines.brightness(100, 4).model_id
    finally:
        emulated.close()
    emulated.close()


def test_an_emulated_board_that_is_started_has_no_port_of_the_user():
    board = device.CortexMDevice(
        Target("m7", "cortex-m", {"board": "mps2-an500", "flash": True}, port="/dev/ttyACM0")
    )
    with pytest.raises(UsageError):
        board.connect()
