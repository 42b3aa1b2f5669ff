"""Firmware for boards: what it takes of their memory, what it says where it cannot be built."""

import importlib
import re
import shutil

import pytest

from edgebench.errors import InputError, UnavailableError, UnsupportedError, UsageError
from tests.backends.cortexm.elf_files import elf

boards = importlib.import_module("edgebench.backends.cortexm.boards")
building = importlib.import_module("edgebench.backends.cortexm.building")
elf_sections = importlib.import_module("edgebench.backends.cortexm.boards")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
stack_depth = importlib.import_module("edgebench.backends.cortexm.building")
toolchain = importlib.import_module("edgebench.backends.cortexm.tflm_library")


def quiet(_):
    pass


@pytest.fixture
def compiler():
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross-compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")


@pytest.mark.parametrize("board", boards.BOARDS, ids=lambda board: board.name)
def test_the_core_is_small_on_every_board(compiler, session_cache, board):
    firmware = building.build(board, engines.brightness(3072), session_cache, quiet)
    by_name = {section.name: section for section in firmware.sections}
    assert by_name[".resident_input"].ram_bytes == 3072
    flash = sum(section.flash_bytes for section in firmware.sections)
    ram = sum(section.ram_bytes for section in firmware.sections) - 2 * 3072  # the resident one, the engine's
    assert 2_000 < flash < 16_384
    assert 500 < ram < 2_048
    assert [usage.name for usage in firmware.usage] == ["FLASH", "RAM", "INPUT_RAM"]
    assert firmware.usage[0].used_bytes == flash
    assert firmware.usage[2].used_bytes == 3072
    assert firmware.usage[1].used_bytes == ram + 3072


def test_firmware_is_built_once(compiler, session_cache):
    board, engine = boards.BOARDS[0], engines.brightness(3072)
    first = building.build(board, engine, session_cache, quiet)
    said: list[str] = []
    assert building.build(board, engine, session_cache, said.append) == first
    assert said == []


@pytest.mark.slow
def test_a_line_of_its_own_is_firmware_of_its_own(compiler, session_cache):
    shas = {
        building.build(boards.BOARDS[0], engines.brightness(3072), session_cache, quiet, options).sha256
        for options in (
            building.LineOptions(),
            building.LineOptions(baud=921_600),
            building.LineOptions(energy=True),
            building.LineOptions(benchmark_id="vww01"),
        )
    }
    assert len(shas) == 4


@pytest.mark.parametrize("baud", [1_525, 6_250_001])
def test_a_rate_that_the_boards_port_does_not_take(session_cache, baud):
    board = next(board for board in boards.BOARDS if board.name == "nucleo-h743zi2")
    with pytest.raises(UsageError, match=f"takes 1526 to 6250000 baud, not {baud}"):
        building.build(board, engines.brightness(3072), session_cache, quiet, building.LineOptions(baud=baud))


def test_a_board_that_cannot_hold_it_is_told_by_how_much(compiler, session_cache):
    board = next(board for board in boards.BOARDS if board.name == "nucleo-h743zi2")
    with pytest.raises(UnsupportedError) as refused:
        building.build(board, engines.brightness(600_000), session_cache, quiet)
    missing = {
        region: int(more.replace(",", ""))
        for region, more in re.findall(r"(\w+) takes ([\d,]+) bytes more", refused.value.why)
    }
    assert missing["INPUT_RAM"] == 600_000 - 256 * 1024
    assert 600_000 - 512 * 1024 < missing["RAM"] < 600_000 - 512 * 1024 + 2048


def test_without_a_compiler(session_cache, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UnavailableError) as refused:
        building.build(boards.BOARDS[0], engines.brightness(), session_cache, quiet)
    assert "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi" in refused.value.fix


def test_without_the_compilers_library(tmp_path, monkeypatch):
    compiler = tmp_path / "arm-none-eabi-gcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UnavailableError) as refused:
        toolchain.cross_compiler()
    assert "newlib" in refused.value.why


def test_a_compiler_that_fails_is_quoted():
    with pytest.raises(toolchain.BuildError) as failed:
        toolchain.run(["sh", "-c", "echo no such header >&2; exit 3"], "linking")
    assert "no such header" in failed.value.why


def test_sections_take_flash_and_ram():
    sections, _ = elf_sections.parsed(
        elf(
            [
                (".text", 1, 6, 0x1000, 300),
                (".data", 1, 3, 0x2000, 40),
                (".bss", 8, 3, 0x2040, 500),
                (".comment", 1, 0, 0, 20),
                (".empty", 1, 2, 0x3000, 0),
            ]
        )
    )
    assert [(section.name, section.flash_bytes, section.ram_bytes) for section in sections] == [
        (".text", 300, 0),
        (".data", 40, 40),
        (".bss", 0, 500),
    ]
    flash = "FLASH (rx) : ORIGIN = 0x1000, LENGTH = 4K"
    regions = boards.regions_of(f"MEMORY\n{{\n    {flash}\n    RAM (rwx) : ORIGIN = 0x2000, LENGTH = 1M\n}}")
    assert [(usage.used_bytes, usage.size_bytes) for usage in boards.usage_of(sections, regions)] == [
        (340, 4096),
        (540, 1 << 20),
    ]


@pytest.mark.parametrize(
    "data", [b"", b"MZ", b"\x7fELF\x02\x01" + bytes(60), elf([(".text", 1, 6, 0, 1)])[:70]]
)
def test_what_is_no_firmware(data):
    with pytest.raises(InputError):
        elf_sections.parsed(data)


GRAPH = """
node: { title: "run" label: "run\\nmodel.c:1:2\\n16 bytes (static)" }
node: { title: "deep" label: "deep\\nmodel.c:3:4\\n1000 bytes (static)" }
node: { title: "leaf" label: "leaf\\nmodel.c:5:6\\n24 bytes (dynamic,bounded)" }
node: { title: "other" label: "other\\nmodel.c:7:8\\n9000 bytes (static)" }
node: { title: "memcpy" label: "__builtin_memcpy\\n<built-in>" shape : ellipse }
edge: { sourcename: "run" targetname: "deep" label: "model.c:1:9" }
edge: { sourcename: "run" targetname: "leaf" label: "model.c:1:9" }
edge: { sourcename: "deep" targetname: "leaf" }
edge: { sourcename: "leaf" targetname: "memcpy" }
"""


def test_the_deepest_stack_is_that_of_the_deepest_calls():
    assert stack_depth.stack_bytes(GRAPH, "run") == 16 + 1000 + 24
    assert stack_depth.stack_bytes(GRAPH, "leaf") == 24
    assert stack_depth.all_frames_bytes(GRAPH) == 10040


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param("", id="not there"),
        pytest.param(GRAPH + 'edge: { sourcename: "leaf" targetname: "run" }\n', id="recursion"),
        pytest.param(GRAPH.replace("dynamic,bounded", "dynamic"), id="unbounded"),
    ],
)
def test_stacks_that_cannot_be_known(graph):
    with pytest.raises(ValueError):
        stack_depth.stack_bytes(graph, "run")
