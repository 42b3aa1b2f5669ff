"""The firmware's core as a program of this machine, under AddressSanitizer and UBSan."""

import pytest

from tests.backends.coralmicro.firmware.micro_core import HERE, CoreProgram, compile_core


@pytest.fixture(scope="session")
def core_program(tmp_path_factory):
    return compile_core(tmp_path_factory.mktemp("micro-core") / "core", HERE / "core_program.cc")


@pytest.fixture
def core(core_program):
    with CoreProgram(core_program) as core:
        yield core
