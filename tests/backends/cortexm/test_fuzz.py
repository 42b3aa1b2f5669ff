"""Random and mutated commands into the core under AddressSanitizer and UBSan."""

import subprocess

import pytest

from tests.backends.cortexm.host_programs import compile_program, require_compiler


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory):
    require_compiler()
    return compile_program("fuzz", tmp_path_factory.mktemp("fuzz"), input_bytes=40)


def run(fuzz, commands, seed):
    done = subprocess.run([fuzz, str(commands), str(seed)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    ran, uploads = (int(word) for word in done.stdout.split() if word.isdigit())
    assert ran >= commands
    assert uploads > commands / 100


@pytest.mark.attack(
    "a host sends a board random and mutated commands: each is answered, and ends with m-ready"
)
def test_some_commands(fuzz):
    run(fuzz, 30_000, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_a_million_commands(fuzz, seed):
    run(fuzz, 250_000, seed)
