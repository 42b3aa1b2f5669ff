"""The Pythons and the runtimes of boards with an Edge TPU, at the far end of a real SSH."""

from __future__ import annotations

import numpy as np
import pytest

from edgebench.errors import SessionError
from tests.backends.coral import played_tpu
from tests.backends.coral.delegates import ABORTS, FAULTS_LATER, PLAIN
from tests.backends.coral.sessions import coral, loader, take
from tests.link.old_python import TOY, Board, python_of

pytestmark = pytest.mark.slow

RUNTIME = "import tflite_runtime.interpreter"
# The wheel of 2.14.0 is built against numpy 1, which Python 3.9 and later no longer get by themselves.
NUMPY_1 = "numpy==1.26.4"
DEV_BOARD_MINI = Board("3.7", ("tflite-runtime==2.11.0",), RUNTIME)
PYTHON_3_8 = Board("3.8", ("tflite-runtime==2.14.0",), RUNTIME)
BOARDS = (
    DEV_BOARD_MINI,
    PYTHON_3_8,
    *(Board(version, ("tflite-runtime==2.14.0", NUMPY_1), RUNTIME) for version in ("3.9", "3.10", "3.11")),
    Board("3.13", ("ai-edge-litert",), "import ai_edge_litert.interpreter"),
)


def python_for(board: Board) -> str:
    python, why = python_of(board)
    if python is None:
        pytest.skip(why)
    return python


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_on_each_python(board, agents_cache, ssh_board, libraries, int8, plan):
    """The processor alone and the delegate's way give the same scores: TfLiteDelegate is laid out alike."""
    library = libraries.library(*PLAIN)
    with coral(agents_cache, ssh_board, python_for(board)) as device:
        assert device.describe()["python"].startswith(board.version + ".")
        delegated = take(device, int8, plan, delegate=str(library), edgetpu="usb", allow_cpu=True)
        alone = take(device, int8, plan, allow_cpu=True)
    package, _, version = board.packages[0].partition("==")
    assert delegated.runtime["name"] == package
    assert not version or delegated.runtime["version"] == version
    assert delegated.runtime["delegate_path"] == str(library)
    assert delegated.runtime["delegate_version"].endswith("RuntimeVersion(14)")
    assert "stand-in: prepared, no nodes claimed" in delegated.stderr
    assert alone.runtime["delegate_path"] is None
    assert "libedgetpu.so.1" in alone.runtime["absent"]["delegate"]
    np.testing.assert_array_equal(delegated.golden, alone.golden)
    np.testing.assert_array_equal(delegated.passes[-1].scores, alone.passes[-1].scores)


@pytest.mark.parametrize("board", [DEV_BOARD_MINI, PYTHON_3_8], ids=lambda board: board.name)
@pytest.mark.parametrize("which", [ABORTS, FAULTS_LATER], ids=lambda which: which[0])
def test_a_delegate_that_dies_on_the_board(board, which, agents_cache, ssh_board, libraries, int8, plan):
    with coral(agents_cache, ssh_board, python_for(board)) as device:
        with pytest.raises(SessionError) as caught:
            take(device, int8, plan, delegate=str(libraries.library(*which)), allow_cpu=True)
        assert (caught.value.status, caught.value.stage) == ("crash", "load")
    assert caught.value.signal == which[0].partition("=")[2]
    package, _, version = board.packages[0].partition("==")
    assert f"under {package} {version}, Python {board.version}." in caught.value.why
    assert "built against another TFLite" in caught.value.why
    assert "pip install" in caught.value.fix


def test_a_compiled_model_on_the_board(agents_cache, ssh_board, libraries, compiled, int8, plan, tmp_path):
    """A compiled model on Python 3.8, whose processor plays the Edge TPU."""
    env = loader(libraries.library(*PLAIN)) | {"PYTHONPATH": played_tpu.runtime(tmp_path)}
    with coral(agents_cache, ssh_board, python_for(PYTHON_3_8)) as device:
        played = take(device, compiled, plan, env, threads=0)
        plain = take(device, int8, plan, allow_cpu=True)
    assert (played.runtime["name"], played.runtime["version"]) == ("tflite-runtime", "2.14.0")
    assert played.runtime["runs_on"] == "edgetpu"
    np.testing.assert_array_equal(played.golden, plain.golden)


def test_the_environment_that_a_crash_advises(agents_cache, ssh_board, libraries, int8, plan):
    """Made as the message says, it has a runtime that takes the delegate's way."""
    pinned = ("tflite-runtime==2.11.0", "numpy<2")
    library = str(libraries.library(*ABORTS))
    with coral(agents_cache, ssh_board, python_for(Board("3.9", pinned, RUNTIME))) as device:
        with pytest.raises(SessionError) as caught:
            take(device, int8, plan, delegate=library, allow_cpu=True)
        assert "python3.9 -m venv" in caught.value.fix
        assert all(f"'{package}'" in caught.value.fix for package in pinned)
        taken = take(device, int8, plan, delegate=str(libraries.library(*PLAIN)), allow_cpu=True)
    assert taken.runtime["version"] == "2.11.0"


def test_a_runtime_of_another_numpy_says_so(agents_cache, ssh_board, int8, plan):
    """tflite-runtime 2.14.0 is imported with numpy 2, and then makes nothing."""
    newer = Board("3.11", ("tflite-runtime==2.14.0", "numpy==2.2.6"), RUNTIME)
    with (
        coral(agents_cache, ssh_board, python_for(newer)) as device,
        pytest.raises(SessionError) as caught,
    ):
        take(device, int8, plan, allow_cpu=True)
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert "numpy 2.2.6" in caught.value.why and "pip install 'numpy<2'" in caught.value.why


def test_a_board_without_a_runtime_says_what_to_install(agents_cache, ssh_board, int8, plan):
    with (
        coral(agents_cache, ssh_board, python_for(TOY)) as device,
        pytest.raises(SessionError) as caught,
    ):
        take(device, int8, plan, allow_cpu=True)
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert "no TFLite runtime here" in caught.value.why
    assert "edgebench targets check" in caught.value.fix
