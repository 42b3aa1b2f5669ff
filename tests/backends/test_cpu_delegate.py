"""External delegates by LiteRT: one that takes convolutions, takes nothing, aborts, or is not there."""

import importlib
import io
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgebench import registry
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare.cache import Cache
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import Scene
from edgebench.run.measuring import session as golden
from tests.backends.coral.delegates import why_none
from tests.fakes import agent_backend

runner: Any = importlib.import_module(
    registry.backend("cpu").__module__.rpartition(".")[0] + ".device.runner"
)
SOURCE = Path(__file__).with_name("conv_delegate.c")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if why := why_none():
        pytest.skip(why)
    path = tmp_path_factory.mktemp("delegate") / "libconv_delegate.so"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O3", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", path, SOURCE, "-lm"], check=True, timeout=60)
    return path


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    agent, _ = agent_file(Cache(tmp_path_factory.mktemp("agent")))
    opened = AgentDevice(LocalLink(agent), agent_backend("cpu").runner_files())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """One steady pass over one patch."""
    held = io.BytesIO()
    np.save(held, np.random.default_rng(7).integers(0, 256, (224, 224, 3), np.uint8))
    path, digest = Cache(tmp_path_factory.mktemp("scene")).add_bytes(held.getvalue(), ".npy")
    return MeasurePlan(Scene(path, digest, 224, 224), passes=1, warmup_floor=1, warmup_cap=2)


def measured(device, artifact, plan, **options):
    """Golden scores, which have to be right, and the runtime's record."""
    chosen = registry.backend("cpu").options_model.model_validate({"threads": 1, **options}).model_dump()
    settings = SessionSettings(1, chosen, Launch())
    with device.session(artifact, settings) as session:
        scores = session.golden()
        golden.require(golden.compare(scores, artifact.golden, settings.options))
        assert [each.phase for each in session.measure(plan)][-1] == "steady"
        return scores, session.facts().runtime


def test_a_delegate_that_takes_all_convolutions_computes_the_reference_scores(
    device, prepared_quarter, library, plan
):
    artifact = prepared_quarter["int8"]
    scores, runtime = measured(device, artifact, plan, delegate=str(library), kernels="reference")
    np.testing.assert_array_equal(scores, np.array(artifact.golden.scores, np.float32))
    assert runtime["placement"] == {"delegate": 27, "cpu": 3}
    assert (runtime["delegate"], runtime["delegate_options"]) == (str(library), "")


def test_options_reach_the_delegate(device, prepared_quarter, library, plan):
    first = {"delegate": str(library), "delegate_options": "takes=first"}
    _, runtime = measured(device, prepared_quarter["int8"], plan, **first)
    assert runtime["placement"] == {"delegate": 1, "cpu": 29}
    assert runtime["delegate_options"] == "takes=first"


def test_a_delegate_that_takes_nothing_is_refused_unless_the_processor_may_do_it(
    device, prepared_quarter, library, plan
):
    nothing = {"delegate": str(library), "delegate_options": "takes=nothing"}
    with pytest.raises(SessionError) as caught:
        measured(device, prepared_quarter["int8"], plan, **nothing)
    assert caught.value.status == "load_failed"
    assert f"the delegate {library} took none of the 30 operations" in caught.value.why
    assert "--set allow-cpu=true" in caught.value.why
    _, runtime = measured(device, prepared_quarter["int8"], plan, **nothing, allow_cpu=True)
    assert runtime["placement"] == {"delegate": 0, "cpu": 30}


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ("takes=abort", "crash", "SIGABRT"),
        ("speed=high", "load_failed", "cannot be loaded with speed=high"),
    ],
)
def test_a_delegate_that_fails_is_one_failed_session(
    device, prepared_quarter, library, plan, options, status, words
):
    with pytest.raises(SessionError) as caught:
        measured(device, prepared_quarter["int8"], plan, delegate=str(library), delegate_options=options)
    assert caught.value.status == status
    assert words in caught.value.why
    measured(device, prepared_quarter["int8"], plan)


def test_a_library_that_is_not_there(device, prepared_quarter, plan):
    with pytest.raises(SessionError) as caught:
        measured(device, prepared_quarter["int8"], plan, delegate="/no/libvx_delegate.so")
    assert caught.value.status == "load_failed"
    assert "the delegate /no/libvx_delegate.so cannot be loaded" in caught.value.why


def node(index, name, inputs, outputs):
    return {"index": index, "op_name": name, "inputs": inputs, "outputs": outputs}


def test_operations_are_counted_on_the_paths_from_outputs_to_inputs_of_a_delegates_node():
    """A branch joins behind the part, which takes one side of it; a second part takes the last operation."""
    operations = [
        node(0, "CONV_2D", [0, 10], [1]),
        node(1, "CONV_2D", [1, 11], [2]),
        node(2, "RELU", [1], [3]),
        node(3, "ADD", [2, 3], [4]),
        node(4, "SOFTMAX", [4], [5]),
        node(5, "DELEGATE", [1, 11], [2]),
        node(6, "DELEGATE", [2, 3], [4]),
    ]
    assert runner.placed(operations) == {"delegate": 2, "cpu": 3}
    assert runner.placed(operations[:5]) == {"delegate": 0, "cpu": 5}
