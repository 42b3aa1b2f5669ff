"""The delegate's way for real, by a delegate that claims no nodes, and by ones that are not there or die."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch
from edgebench.testing.backend_kit import workers
from tests.backends.coral.delegates import (
    ABORTS,
    FAULTS,
    FAULTS_LATER,
    NO_DEVICE,
    PLAIN,
    SONAME,
    TWO_DEVICES,
)
from tests.backends.coral.sessions import coral, loader, options, take
from tests.backends.usb_trees import AFTER_FIRMWARE, USB_3, Tree


@pytest.fixture(scope="module")
def device(agents_cache):
    with coral(agents_cache) as opened:
        yield opened


def test_a_delegate_that_claims_nothing_leaves_the_scores_as_they_are(device, libraries, int8, plan):
    library = libraries.library(*PLAIN)
    with_it = take(device, int8, plan, delegate=str(library), edgetpu="usb:0", allow_cpu=True)
    without = take(device, int8, plan, allow_cpu=True, delegate=SONAME)
    assert "stand-in: created, device=usb:0" in with_it.stderr
    assert "stand-in: prepared, no nodes claimed" in with_it.stderr
    assert "stand-in" not in without.stderr
    np.testing.assert_array_equal(with_it.golden, without.golden)
    np.testing.assert_array_equal(with_it.passes[-1].scores, without.passes[-1].scores)


def test_what_is_recorded_of_a_delegate(device, libraries, int8, plan):
    library = libraries.library(*PLAIN)
    runtime = take(device, int8, plan, delegate=str(library), allow_cpu=True).runtime
    assert runtime["name"] == "ai-edge-litert"
    assert runtime["delegate_path"] == str(library)
    assert runtime["delegate_version"].endswith("RuntimeVersion(14)")
    assert runtime["edgetpu_devices"] == ["usb /sys/bus/usb/devices/2-1"]
    assert runtime["delegate_clock"] is None
    assert str(library) in runtime["absent"]["delegate_clock"]
    assert runtime["threads"] == 1


def test_it_is_found_by_its_name_as_the_loader_finds_it(device, libraries, int8, plan):
    library = libraries.library(*PLAIN)
    runtime = take(device, int8, plan, loader(library), allow_cpu=True).runtime
    assert runtime["delegate"] == SONAME
    assert runtime["delegate_path"] == str(library)


def test_figures_without_an_edge_tpu_are_the_processors(device, int8, plan):
    taken = take(device, int8, plan, allow_cpu=True)
    assert taken.runtime["runs_on"] == "cpu"
    assert any("processor" in warning for warning in taken.facts.warnings)


def test_which_edge_tpu_is_passed_on(device, libraries, int8, plan):
    two = str(libraries.library(*TWO_DEVICES))
    taken = take(device, int8, plan, delegate=two, edgetpu="usb:1", allow_cpu=True)
    assert "stand-in: created, device=usb:1" in taken.stderr
    assert len(taken.runtime["edgetpu_devices"]) == 2


@pytest.mark.parametrize("which", ["usb:1", "pci", ":3"])
def test_an_edge_tpu_that_is_not_there(device, libraries, int8, plan, which):
    library = libraries.library(*PLAIN)
    with pytest.raises(SessionError) as caught:
        take(device, int8, plan, delegate=str(library), edgetpu=which, allow_cpu=True)
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert f"for {which}" in caught.value.why


def test_no_edge_tpu_at_all_says_what_sysfs_shows(device, libraries, compiled, plan, tmp_path):
    library = str(libraries.library(*NO_DEVICE))
    empty = {"EDGEBENCH_TEST_ROOT": str(Tree(tmp_path / "empty").root)}
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, empty, delegate=library)
    assert caught.value.status == "load_failed"
    assert "sysfs shows no Edge TPU" in caught.value.why
    held = Tree(tmp_path / "held")
    held.stick(AFTER_FIRMWARE, USB_3)
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, {"EDGEBENCH_TEST_ROOT": str(held.root)}, delegate=library)
    assert "18d1:9302" in caught.value.why
    assert "another process" in caught.value.why


def test_a_library_that_is_not_there(device, compiled, plan, tmp_path):
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, delegate=str(tmp_path / "none.so"))
    assert caught.value.status == "load_failed"
    assert "none.so" in caught.value.why


def test_a_library_that_is_no_delegate(device, compiled, plan, tmp_path):
    words = tmp_path / SONAME
    words.write_text("not a library\n")
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, delegate=str(words))
    assert caught.value.status == "load_failed"


@pytest.mark.parametrize("which", [ABORTS, FAULTS, FAULTS_LATER], ids=lambda which: which[0])
def test_a_delegate_that_dies_is_one_session_and_explained(device, libraries, compiled, int8, plan, which):
    expected = which[0].partition("=")[2]
    library = str(libraries.library(*which))
    with pytest.raises(SessionError) as caught:
        take(device, int8, plan, delegate=library, allow_cpu=True)
    error = caught.value
    assert (error.status, error.signal, error.stage) == ("crash", expected, "load")
    assert "delegate" in error.what
    assert expected in error.why and library in error.why  # what died, under what, and what it most likely is
    assert "ai-edge-litert" in error.why and "built against another TFLite" in error.why
    assert "tflite-runtime==2.11.0" in error.fix and "--python" in error.fix
    assert "loading the delegate" in error.stderr_tail
    if which != FAULTS_LATER:  # which is reached by a model that the runtime can carry out alone
        with pytest.raises(SessionError, match="the Edge TPU's delegate crashed"):
            take(device, compiled, plan, delegate=library)
    # The same device goes on.
    take(device, int8, plan, allow_cpu=True)


def test_a_crash_that_is_not_the_delegates_is_not_explained_as_such(device, libraries, int8, plan):
    """A worker that is killed amid measuring died of something else."""
    library = str(libraries.library(*PLAIN))
    chosen = SessionSettings(1, options(delegate=library, allow_cpu=True), Launch())
    with pytest.raises(SessionError) as caught, device.session(int8, chosen) as session:
        session.golden()
        [worker] = workers()
        os.kill(worker, signal.SIGSEGV)
        list(session.measure(plan))
    assert caught.value.signal == "SIGSEGV"
    assert "TFLite" not in caught.value.why


def test_an_uncompiled_model_is_refused(device, libraries, int8, plan):
    with pytest.raises(SessionError) as caught:
        take(device, int8, plan, delegate=str(libraries.library(*PLAIN)))
    assert caught.value.status == "load_failed"
    assert "not compiled" in caught.value.why
    assert "allow-cpu=true" in caught.value.why + caught.value.fix


def test_a_compiled_model_takes_more_than_a_delegate_that_claims_nothing(device, libraries, compiled, plan):
    """No Edge TPU, no run: the custom operation stays unresolved, and the runtime says so."""
    with pytest.raises(SessionError) as caught:
        take(device, compiled, plan, delegate=str(libraries.library(*PLAIN)))
    assert caught.value.status == "load_failed"
    assert "edgetpu-custom-op" in caught.value.why
