"""The core's sources: no board code in them, and small enough for the board's program memory."""

import re
import shutil
import subprocess

import pytest

from tests.backends.coralmicro.firmware.micro_core import CORE, HERE, SANITIZED, STRICT, compile_core

STANDARD = {"cmath", "cstddef", "cstdint", "cstring", "initializer_list", "string_view"}
# As coralmicro compiles. Its linker script leaves 253 KB for the code that has no region of its own.
CORTEX_M7 = (
    *("-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "-mthumb"),
    *("-ffreestanding", "-fno-builtin", "-Os", "-c"),
)
MOST_BYTES = 20_000


def test_the_core_includes_itself_and_the_standard_library_alone():
    files = sorted(CORE.glob("*"))
    assert len(files) > 15
    for file in files:
        for quoted, standard in re.findall(r'#include (?:"(.*)"|<(.*)>)', file.read_text()):
            assert standard in STANDARD or (CORE / quoted).is_file(), (
                f"{file.name} includes {quoted}{standard}"
            )


def test_the_core_fits_the_board(tmp_path):
    binary = compile_core(tmp_path / "core.o", flags=CORTEX_M7, compiler="arm-none-eabi-g++")
    done = subprocess.run(["arm-none-eabi-size", str(binary)], capture_output=True, text=True, check=True)
    text, data, bss = map(int, done.stdout.splitlines()[1].split()[:3])
    print(f"the core: {text} bytes of code, {data} of data, {bss} of bss")
    assert 5_000 < text < MOST_BYTES
    assert data + bss < 64


@pytest.mark.slow
@pytest.mark.parametrize("source", sorted(CORE.glob("*.cc")), ids=lambda path: path.stem)
def test_each_file_compiles_by_itself(source, tmp_path):
    """As the board's build compiles them."""
    if shutil.which("c++") is None:
        pytest.skip("no c++")
    command = ["c++", *STRICT, "-O2", "-c", str(source), "-o", str(tmp_path / "object.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_ports_server_and_packages(tmp_path):
    """With a stand-in for coralmicro: one call at a time, connections that end early, packages by address."""
    port = CORE.parent / "ports" / "coralmicro"
    sources = (port / "call_server.cc", port / "edgetpu_packages.cc", HERE / "port_program.cc")
    includes = (f"-I{CORE.parent}", f"-I{HERE / 'coralmicro_standin'}", "-pthread")
    program = compile_core(tmp_path / "port", *sources, flags=(*SANITIZED, *includes))
    done = subprocess.run([program], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
