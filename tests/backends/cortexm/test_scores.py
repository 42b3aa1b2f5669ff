"""Scores are written as printf's %0.3f writes them, without printf."""

import subprocess

import numpy as np
import pytest

from tests.backends.cortexm.host_programs import compile_program, require_compiler


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require_compiler()
    return compile_program("scores", tmp_path_factory.mktemp("scores"), core="text.c")


def written(program, values):
    done = subprocess.run([program], input=values.tobytes(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def test_scores_are_written_as_by_printf(program):
    draw = np.random.default_rng(5)
    ties = np.arange(-4000, 4000, dtype=np.float32) / 16  # with 16ths come exact halves of a thousandth
    values = np.concatenate(
        [
            draw.random(20_000, np.float32),
            (draw.normal(size=20_000) * 10.0 ** draw.integers(-12, 15, 20_000)).astype(np.float32),
            ties,
            np.asarray([0.0, -0.0, 1.0, 1e-45, 0.0005, 0.9995, 0.99951, 2.0**52, -(2.0**52)], np.float32),
        ]
    )
    assert written(program, values) == [f"{value:.3f}" for value in values.tolist()]


def test_what_is_no_number_and_what_is_too_large(program):
    values = np.asarray([np.inf, -np.inf, np.nan, 1e30], np.float32)
    assert written(program, values) == ["inf", "-inf", "nan", "inf"]
