"""Firmware with TFLM: what of a user's build is taken and refused, and the adapter on an emulated board."""

import importlib
import shutil

import pytest

from edgebench.errors import InputError, UnavailableError, UnsupportedError
from edgebench.installed import version_of
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import PrepareRequest
from edgebench.records.values import Variant
from tests.backends.cortexm.emulated import EmulatedBoard, require_emulator
from tests.backends.cortexm.tflm_programs import LIBRARY, board_library
from tests.backends.cortexm.uploading import upload

boards = importlib.import_module("edgebench.backends.cortexm.boards")
building = importlib.import_module("edgebench.backends.cortexm.building")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
tflm_library = importlib.import_module("edgebench.backends.cortexm.tflm_library")

BOARD = boards.BOARDS[0]
NUCLEO = boards.board_of("nucleo-h743zi2")
INPUT_BYTES = 224 * 224 * 3
ARENA_BYTES = 431_296
needed_bytes = engines.arena_bytes


def quiet(_):
    pass


@pytest.fixture(autouse=True)
def no_library_of_the_users(monkeypatch):
    monkeypatch.delenv(tflm_library.VARIABLE, raising=False)
    monkeypatch.setattr(engines, "arena_bytes", lambda artifact, progress: ARENA_BYTES)


@pytest.fixture(scope="module")
def standin(tmp_path_factory):
    """A folder with a stand-in's headers and library for the boards."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross-compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    return board_library(tmp_path_factory.mktemp("standin"), INPUT_BYTES, BOARD.cpu_flags)


@pytest.fixture(scope="module")
def quarter(session_cache):
    """The int8 artifact that comes with the package."""
    [artifact] = TfliteChain().prepare([PrepareRequest(Variant(0.25, "int8"), 1, {})], session_cache, quiet)
    return artifact


@pytest.fixture
def engine(standin, quarter):
    if version_of("ai-edge-litert") is None:
        pytest.skip("a .tflite is read with ai-edge-litert")
    return engines.tflm(quarter, tflm_library.tflm_library(BOARD, standin), quiet)


def test_the_adapter_on_an_emulated_board(engine, quarter, session_cache):
    require_emulator()
    firmware = building.build(BOARD, engine, session_cache, quiet)
    by_name = {section.name: section for section in firmware.sections}
    assert by_name[".rodata"].flash_bytes > quarter.size_bytes
    assert by_name[".bss"].ram_bytes > ARENA_BYTES
    with EmulatedBoard(firmware.elf) as board:
        assert board.answer() == ["m-timestamp-mode-performance", "m-init-done", "m-ready"]
        profile = board.command("profile")
        assert profile[1] == f"m-model-[{engines.model_id(quarter)}]"
        assert f"m-info-[engine={engine.title}]" in profile
        assert f"m-info-[engine-bytes={INPUT_BYTES + 5}]" in profile
        # A fifth of the input at level -28, the rest at 0: pixels of 100 and of 128.
        assert upload(board, bytes([256 - 28]) * (INPUT_BYTES // 5)) == ["m-load-done"]
        assert board.command("infer 2 0")[-1] == "m-results-[0.391,0.500,0.500,0.500,0.500]"


def test_arena_and_resident_input_fit_on_a_nucleo(engine, standin, quarter, session_cache):
    of_nucleo = engines.tflm(quarter, tflm_library.tflm_library(NUCLEO, standin), quiet)
    firmware = building.build(NUCLEO, of_nucleo, session_cache, quiet)
    used = {usage.name: usage.used_bytes for usage in firmware.usage}
    assert ARENA_BYTES + 8192 < used["RAM"] < 512 * 1024
    assert used["INPUT_RAM"] == INPUT_BYTES
    assert firmware.engine_bytes > ARENA_BYTES + 8192


def test_the_library_and_its_headers_decide_the_firmware(standin, tmp_path):
    first = tflm_library.tflm_library(BOARD, standin)
    copy = shutil.copytree(standin, tmp_path / "copy")
    assert tflm_library.tflm_library(BOARD, copy).identity == first.identity
    header = copy / "tensorflow" / "lite" / "micro" / "debug_log.h"
    header.write_text(header.read_text() + "\n")
    other = tflm_library.tflm_library(BOARD, copy)
    assert other.identity != first.identity
    assert other.title == first.title


def test_without_a_library():
    with pytest.raises(UnavailableError) as refused:
        tflm_library.tflm_library(BOARD)
    assert "EDGEBENCH_TFLM=" in refused.value.fix
    assert "engine=generated" in refused.value.fix


@pytest.mark.attack(
    "a folder of TFLM without its library: firmware is not built, and the folders looked at are named"
)
def test_a_folder_without_a_library(tmp_path):
    with pytest.raises(InputError) as refused:
        tflm_library.tflm_library(BOARD, tmp_path)
    assert LIBRARY in refused.value.why


@pytest.mark.parametrize(
    ("flags", "program", "words"),
    [
        pytest.param(
            ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=soft"),
            "arm-none-eabi-",
            "core registers",
            marks=pytest.mark.attack(
                "a library of TFLM for a soft-float Cortex-M7: refused, with both conventions"
            ),
        ),
        pytest.param(
            ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard"),
            "arm-none-eabi-",
            "v8-M",
            marks=pytest.mark.attack("a library of TFLM for another Cortex-M: refused, with both processors"),
        ),
        pytest.param(
            (),
            "",
            "no Arm processor",
            marks=pytest.mark.attack("a library of TFLM for this machine: refused before anything is linked"),
        ),
    ],
)
def test_a_library_for_another_processor(standin, tmp_path, flags, program, words):
    if shutil.which(f"{program}g++") is None:
        pytest.skip("no C++ compiler")
    folder = board_library(tmp_path, INPUT_BYTES, flags, program)
    with pytest.raises(InputError) as refused:
        tflm_library.tflm_library(BOARD, folder)
    assert words in refused.value.why
    assert "v7E-M" in refused.value.why


def test_what_is_no_library(standin, tmp_path):
    (tmp_path / LIBRARY).write_bytes(b"nothing")
    with pytest.raises(InputError):
        tflm_library.tflm_library(BOARD, tmp_path)


def test_of_several_libraries_the_one_for_the_board(standin, tmp_path):
    folder = shutil.copytree(standin, tmp_path / "several")
    [library] = folder.glob("gen/*/lib/*.a")
    other = library.parent.parent.with_name("other") / "lib"
    other.mkdir(parents=True)
    shutil.copy(library, other)
    with pytest.raises(InputError) as refused:
        tflm_library.tflm_library(BOARD, folder)
    assert "gen/other/lib" in refused.value.why
    assert tflm_library.tflm_library(BOARD, other / LIBRARY).path == other / LIBRARY
    soft = board_library(tmp_path / "soft", INPUT_BYTES, ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=soft"))
    shutil.copy(next(soft.glob("gen/*/lib/*.a")), other)
    assert tflm_library.tflm_library(BOARD, folder).path == library


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("tensorflow/lite/micro/micro_interpreter.h", "micro_interpreter.h"),
        ("third_party/flatbuffers/include/flatbuffers/flatbuffers.h", "flatbuffers/flatbuffers.h"),
    ],
)
def test_headers_that_are_missing(standin, tmp_path, header, words):
    folder = shutil.copytree(standin, tmp_path / "incomplete")
    (folder / header).unlink()
    with pytest.raises(InputError) as refused:
        tflm_library.tflm_library(BOARD, folder)
    assert words in refused.value.why


def test_a_compiler_without_its_cxx_library(standin, tmp_path):
    folder = shutil.copytree(standin, tmp_path / "included")
    header = folder / "tensorflow" / "lite" / "micro" / "debug_log.h"
    header.write_text("#include <cstdnone>\n")
    with pytest.raises(InputError, match="cstdnone") as refused:
        tflm_library.tflm_library(BOARD, folder)
    assert "libstdc++-arm-none-eabi-newlib" in refused.value.fix


def test_what_tflm_cannot_run(standin, quarter):
    library = tflm_library.TflmLibrary(standin, (), "TFLM", "")
    with pytest.raises(UnsupportedError):
        engines.tflm(quarter.model_copy(update={"format": "onnx"}), library, quiet)
    with pytest.raises(UnsupportedError):
        engines.resolver_names(["CONV_2D", "custom:Detector"], "a-model")


def test_operators_are_named_as_by_the_resolver():
    operations = ["CONV_2D", "MEAN", "PADV2", "BATCH_MATMUL", "L2_POOL_2D", "RELU6", "SPLIT_V"]
    assert engines.resolver_names(operations, "a-model") == (
        *("BatchMatMul", "Conv2D", "L2Pool2D", "Mean", "PadV2", "Relu6", "SplitV"),
    )


@pytest.mark.skipif(version_of("tflite-micro") is None, reason="the arena is found with tflite-micro")
def test_the_arena_is_as_large_as_tflm_says(quarter, session_cache):
    # What the same model takes on an emulated Cortex-M7: 428,292 bytes.
    assert 428_340 < needed_bytes(quarter, quiet) < 440_000
    half = PrepareRequest(Variant(0.25, "fp16"), 1, {})
    [float16] = TfliteChain().prepare([half], session_cache, quiet)
    with pytest.raises(UnsupportedError) as refused:
        needed_bytes(float16, quiet)
    assert "DEQUANTIZE" in refused.value.why
