"""The stand-in for TFLM: as a library for a board, and under the firmware's adapter on this machine."""

import shutil
import subprocess

import pytest

from tests.backends.cortexm.host_programs import (
    FIRMWARE,
    FLAGS,
    HERE,
    INPUT_BYTES,
    SCORES,
    compile_program,
)

STANDIN = HERE / "tflm_standin"
INCLUDES = (STANDIN, STANDIN / "third_party" / "flatbuffers" / "include")
ADAPTER = FIRMWARE / "engines" / "tflm" / "model_tflm.cc"
LIBRARY = "libtensorflow-microlite.a"
_CXX = (
    "-std=c++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-Wall",
    "-Wextra",
    "-Werror",
)


def require_cxx_compiler():
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def host_program(folder, *flags_of_model):
    """The firmware with the adapter and the stand-in, under sanitizers."""
    file = folder / "model.tflite"
    file.write_bytes(b"....TFL3")
    defines = (
        f"-DMODEL_INPUT_BYTES={INPUT_BYTES}",
        f"-DSTANDIN_INPUT_BYTES={INPUT_BYTES}",
        f'-DTFLM_MODEL_FILE="{file}"',
        '-DTFLM_ENGINE="TFLM stand-in"',
        f"-DTFLM_ARENA_BYTES={INPUT_BYTES + SCORES}",
        "-DTFLM_OPERATORS=OPERATOR(Conv2D) OPERATOR(Mean)",
        *flags_of_model,
    )
    flags = [flag for flag in FLAGS if not flag.startswith("-std")]
    objects = []
    for source in (ADAPTER, STANDIN / "standin.cc"):
        objects.append(folder / f"{source.stem}.o")
        includes = [f"-I{path}" for path in INCLUDES]
        run("c++", *flags, *_CXX, *defines, *includes, "-c", source, "-o", objects[-1])
    return compile_program("host", folder, engine=objects, flags=(*FLAGS, "-lstdc++"))


def board_library(folder, input_bytes, cpu_flags, program="arm-none-eabi-"):
    """A folder as TFLM's makefile leaves one: headers, and the library of a target."""
    shutil.copytree(STANDIN, folder, dirs_exist_ok=True)
    place = folder / "gen" / "cortex_m_generic_cortex-m7+fp_default_gcc" / "lib"
    place.mkdir(parents=True)
    includes = [f"-I{path}" for path in INCLUDES]
    flags = (*cpu_flags, *_CXX, "-O1", "-ffunction-sections", f"-DSTANDIN_INPUT_BYTES={input_bytes}")
    run(f"{program}g++", *flags, *includes, "-c", STANDIN / "standin.cc", "-o", place / "standin.o")
    run(f"{program}ar", "rcs", place / LIBRARY, place / "standin.o")
    return folder
