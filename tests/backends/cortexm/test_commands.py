"""`edgebench cortexm`: what its commands print, where, and with which exit codes."""

import importlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import InputError, UnavailableError, UnsupportedError, UsageError
from tests.backends.cortexm.flashing_programs import FlashingPrograms

boards = importlib.import_module("edgebench.backends.cortexm.boards")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
image = importlib.import_module("edgebench.backends.cortexm.commands.image")
commands = importlib.import_module("edgebench.backends.cortexm.commands")

UNBUILT = boards.Firmware(Path("x.elf"), (), ())


@pytest.fixture
def call(session_cache, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))

    def invoke(*words):
        return CliRunner().invoke(
            app, ["cortexm", *map(str, words)], env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
        )

    return invoke


@pytest.fixture
def compiler():
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross-compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")


@pytest.mark.parametrize("command", ["build", "size", "flash", "simulate"])
def test_help_fits_a_terminal(call, command):
    done = call(command, "--help")
    assert done.exit_code == 0, done.exception
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "Options" in done.stdout


def test_help_and_completion_import_nothing_heavy():
    """A shell waits for them at each press of its key."""
    code = "import sys, edgebench.cli.main, edgebench.backends.cortexm.commands; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "edgebench.backends.cortexm.commands" in modules.split()
    assert not {"numpy", "pydantic", "serial"} & set(modules.split())


def test_build_prints_the_path_alone_and_sizes_beside(compiler, call, tmp_path):
    done = call("build", "-m", "brightness")
    assert done.exit_code == 0, done.exception
    [path] = done.stdout.splitlines()
    assert Path(path).read_bytes()[:4] == b"\x7fELF"
    assert ".vectors" in done.stderr and "FLASH" in done.stderr
    copy = tmp_path / "mine.elf"
    done = call("build", "-m", "brightness", "-o", copy)
    assert done.stdout == f"{copy}\n"
    assert copy.read_bytes() == Path(path).read_bytes()


def test_size_is_a_table_or_a_document(compiler, call, tmp_path):
    file = tmp_path / "mine.elf"
    call("build", "-m", "brightness", "-o", file)
    done = call("size", file)
    assert done.exit_code == 0, done.exception
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert ".text" in done.stdout and "4,194,304" in done.stdout
    document = json.loads(call("size", file, "--json").stdout)
    firmware = document["firmware"]
    assert (document["schema_version"], firmware["board"]) == (1, "mps2-an500")
    [flash] = [memory for memory in firmware["memory"] if memory["name"] == "FLASH"]
    assert flash["used_bytes"] == sum(section["flash_bytes"] for section in firmware["sections"])
    assert flash["size_bytes"] == 4 << 20


def test_flash_of_a_file(compiler, call, tmp_path, monkeypatch):
    file = tmp_path / "mine.elf"
    call("build", "-m", "brightness", "--board", "nucleo-h743zi2", "-o", file)
    programs = FlashingPrograms(tmp_path, monkeypatch)
    programs.install("openocd")
    done = call("flash", file)
    assert (done.exit_code, done.stdout) == (0, ""), done.exception
    assert "flashing nucleo-h743zi2 by openocd" in done.stderr
    [(_, _, files)] = programs.calls
    assert files["firmware.elf"] == file.read_bytes()


def test_nothing_flashes(call, tmp_path, monkeypatch):
    FlashingPrograms(tmp_path, monkeypatch)
    error = call("flash", "there.elf").exception
    assert isinstance(error, UnavailableError) and "openocd" in error.fix


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["build", "--board", "nucleo"], UsageError),
        (["build", "--engine", "cmsis"], UsageError),
        (["build", "--engine", "generated", "--tflm", "."], UsageError),
        (["build", "-m", "mobilenet"], UsageError),
        (["build", "-m", "mobilenet_v1-0.25-fp32"], UnsupportedError),
        (["build", "-m", "brightness", "-o", "no/folder/x.elf"], UsageError),
        (["size", "missing.elf"], InputError),
        (["size", "/dev/zero"], InputError),
        (["flash", "there.elf", "--board", "mps2-an500"], UsageError),
        (["build", "-m", "brightness", "--engine", "tflm", "--tflm", "."], UsageError),
    ],
)
def test_what_cannot_be(call, tmp_path, monkeypatch, words, error):
    monkeypatch.chdir(tmp_path)
    Path("there.elf").write_bytes(b"")
    raised = call(*words).exception
    assert isinstance(raised, error), raised
    assert raised.what


def test_output_that_cannot_be_is_refused_before_anything_is_built(call, tmp_path, monkeypatch):
    monkeypatch.setattr(image, "build", None)
    assert isinstance(call("build", "-m", "brightness", "-o", tmp_path).exception, UsageError)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc, in which no file can be made")
def test_output_that_fails_says_where_the_firmware_is(call, monkeypatch):
    monkeypatch.setattr(image, "build", lambda *_: replace(UNBUILT, elf=Path(__file__)))
    error = call("build", "-m", "brightness", "-o", "/proc/self/x.elf").exception
    assert isinstance(error, InputError)
    assert __file__ in error.fix


def test_what_does_not_fit_is_unsupported_by_how_much(compiler, call, monkeypatch):
    monkeypatch.setattr(image, "brightness", lambda: engines.brightness(600_000))
    done = call("build", "-m", "brightness", "--board", "nucleo-h743zi2")
    assert isinstance(done.exception, UnsupportedError)
    assert "INPUT_RAM takes 337,856 bytes more than the board's 262,144" in done.exception.why


def test_an_energy_build_speaks_slowly(call, monkeypatch):
    lines = []

    def unbuilt(*arguments):
        lines.append(arguments[-1])
        return UNBUILT

    monkeypatch.setattr(image, "build", unbuilt)
    for words in ([], ["--energy"], ["--energy", "--baud", "115200"], ["--baud", "921600"]):
        assert call("build", "-m", "brightness", *words).exit_code == 0
    assert [(line.baud, line.energy) for line in lines] == [
        (115_200, False),
        (9_600, True),
        (115_200, True),
        (921_600, False),
    ]


@pytest.mark.parametrize(
    ("option", "incomplete", "names"),
    [
        ("board", "nu", ["nucleo-h743zi2"]),
        ("engine", "", ["generated", "tflm"]),
    ],
)
def test_names_are_completed(option, incomplete, names):
    group = get_command(commands.app)
    assert isinstance(group, TyperGroup)
    build = group.commands["build"]
    [parameter] = [parameter for parameter in build.params if parameter.name == option]
    found = parameter.shell_complete(build.make_context("build", [], resilient_parsing=True), incomplete)
    assert [item.value for item in found] == names
