"""Google's pycoral is taken where it is, and another package of that name is not."""

from __future__ import annotations

import numpy as np
import pytest

from edgebench.errors import SessionError
from tests.backends.coral import pycorals
from tests.backends.coral.delegates import NO_DEVICE, PLAIN, TWO_DEVICES
from tests.backends.coral.sessions import coral, loader, take


@pytest.fixture(scope="module")
def device(agents_cache):
    with coral(agents_cache) as opened:
        yield opened


def with_pycoral(folder, library=None):
    return {"PYTHONPATH": str(folder), **(loader(library) if library else {})}


def test_a_compiled_model_by_googles_names(device, libraries, compiled, int8, plan, tmp_path):
    env = with_pycoral(pycorals.googles(tmp_path), libraries.library(*PLAIN))
    taken = take(device, compiled, plan, env, threads=0)
    runtime = taken.runtime
    assert runtime["name"] == "pycoral"
    assert runtime["version"].startswith("2.0.0 (ai-edge-litert ")
    assert runtime["runs_on"] == "edgetpu"
    assert runtime["threads"] is None  # make_interpreter takes no number of them
    assert runtime["delegate_version"].endswith("RuntimeVersion(14)")
    assert not [warning for warning in taken.facts.warnings if "processor" in warning]
    plain = take(device, int8, plan, allow_cpu=True)
    np.testing.assert_array_equal(taken.golden, plain.golden)


def test_the_edge_tpu_that_is_asked_for_reaches_it(device, libraries, compiled, plan, tmp_path):
    env = with_pycoral(pycorals.googles(tmp_path), libraries.library(*TWO_DEVICES))
    taken = take(device, compiled, plan, env, threads=0, edgetpu="usb:1")
    assert "stand-in: created, device=usb:1" in taken.stderr
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, env, threads=0, edgetpu="usb:2")
    assert "usb:2" in caught.value.why


def test_threads_that_are_asked_for_go_by_the_runtime_itself(device, libraries, int8, plan, tmp_path):
    env = with_pycoral(pycorals.googles(tmp_path), libraries.library(*PLAIN))
    runtime = take(device, int8, plan, env, threads=2, allow_cpu=True).runtime
    assert runtime["threads"] == 2
    assert runtime["name"] == "ai-edge-litert"


def test_no_edge_tpu_with_pycoral(device, libraries, compiled, plan, tmp_path):
    env = with_pycoral(pycorals.googles(tmp_path), libraries.library(*NO_DEVICE))
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, env, threads=0)
    assert caught.value.status == "load_failed"
    assert "libedgetpu.so.1 cannot be loaded" in caught.value.why


def test_another_package_named_pycoral_is_not_taken(device, int8, plan, tmp_path):
    folder = pycorals.anothers(tmp_path)
    runtime = take(device, int8, plan, with_pycoral(folder), threads=0, allow_cpu=True).runtime
    assert runtime["name"] == "ai-edge-litert"


def test_googles_pycoral_without_its_library_is_passed_by_with_the_reason(device, int8, plan, tmp_path):
    """Its extension module is linked against libedgetpu: without it, the import itself fails."""
    env = with_pycoral(pycorals.googles(tmp_path))
    runtime = take(device, int8, plan, env, threads=0, allow_cpu=True).runtime
    assert runtime["name"] == "ai-edge-litert"
    assert "libedgetpu.so.1" in runtime["absent"]["pycoral"]
