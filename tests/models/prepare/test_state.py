"""Models with a state: what they are fed, what they are checked with, and who says so."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgebench import registry
from edgebench.agent.timed import TimedLoop
from edgebench.errors import UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.description import show
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, InputChoice, ModelSource, PrepareRequest, state_of
from edgebench.records.values import Variant
from edgebench.report.words import STATES
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.models.crafted_lite import CLASSES, write_memory

runner: Any = importlib.import_module(
    registry.backend("cpu").__module__.rpartition(".")[0] + ".device.runner"
)

SAMPLES = np.eye(CLASSES, dtype=np.float32)[:, None] * np.arange(1, 5, dtype=np.float32)[:, None, None]
ALONE = SAMPLES[:, 0]
"""Scores of samples that nothing came before."""
IN_ORDER = np.stack([ALONE[max(0, at - 2) : at + 1].sum(0) for at in range(len(ALONE))])
"""Scores of samples in a stream: sums of the last three."""


def chosen_source(folder: Path, cache: Cache, *, keep: bool) -> ModelSource:
    inputs = folder / "samples.npz"
    np.savez(inputs, samples=SAMPLES)
    (chosen,) = resolve_sources(
        [str(write_memory(folder / "memory.tflite"))],
        cache=cache, progress=lambda _: None, inputs=inputs, choice=InputChoice(keep_state=keep),
    )  # fmt: skip
    return with_golden(chosen, cache, None, None).source


def prepared(source: ModelSource, cache: Cache) -> Artifact:
    request = PrepareRequest(Variant(None, "fp32", source.name), 1, {}, source=source)
    (artifact,) = TfliteChain().prepare([request], cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    return artifact


@pytest.mark.parametrize(("keep", "state", "scores"), [(False, "reset", ALONE), (True, "kept", IN_ORDER)])
@pytest.mark.parametrize("kernels", ["xnnpack", "reference"])
def test_a_state_is_reset_before_each_inference_unless_it_is_kept(
    tmp_path: Path, keep: bool, state: str, scores: np.ndarray[Any, Any], kernels: str
):
    cache = Cache(tmp_path / "cache")
    artifact = prepared(chosen_source(tmp_path, cache, keep=keep), cache)
    assert artifact.state == state
    np.testing.assert_array_equal(artifact.golden.scores, scores)
    model = runner.load(str(artifact.path), {"threads": 1, "kernels": kernels, "state": artifact.state})
    tensors = [tensor.model_dump() for tensor in artifact.tensors]
    loop = TimedLoop(model, {"height": 1, "width": 1}, 1, CLASSES, lambda: 1, tensors)
    for stage in ("golden", "measure"):  # a stream begins anew with each of them
        model.begin(stage)
        np.testing.assert_array_equal(loop.run([(sample,) for sample in SAMPLES]).scores, scores)


def test_the_choice_is_part_of_the_key_and_shown(tmp_path: Path):
    cache = Cache(tmp_path / "cache")
    reset, kept = (chosen_source(tmp_path, cache, keep=keep) for keep in (False, True))
    assert reset.identity() != kept.identity()
    for keep, state in ((False, "reset"), (True, "kept")):
        facts = show(str(tmp_path / "memory.tflite"), cache, keep_state=keep)
        assert (facts["state"], facts["states"]) == (state, ["state"])


def test_resource_variables_are_kept_whatever_is_asked():
    assert state_of([], ["VAR_HANDLE", "ADD"], keep=False) == "resources"
    assert state_of(["h"], ["VAR_HANDLE"], keep=False) == "partly"
    assert state_of([], ["VAR_HANDLE"], keep=True) == "kept"
    assert state_of([], ["ADD"], keep=True) == "none"
    assert "VAR_HANDLE" in STATES["resources"] and "VAR_HANDLE" in STATES["partly"]


def test_to_keep_a_state_that_there_is_not_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="what was said of the input"):
        resolve_sources([], cache=Cache(tmp_path), progress=print, choice=InputChoice(keep_state=True))
    path = recurrent(tmp_path / "gru.onnx", "h0", "hn")
    with pytest.raises(UsageError, match="--keep-state"):
        resolve_sources(
            [str(path)], cache=Cache(tmp_path), progress=print, choice=InputChoice(keep_state=True)
        )


def recurrent(path: Path, state: str, state_out: str) -> Path:
    """x [1, 4] and a state [2, 4] to y [1, 4] and the next state."""
    kind = TensorProto.FLOAT
    nodes = [
        helper.make_node("Add", [state, "x"], [state_out]),
        helper.make_node("ReduceMean", [state_out], ["y"], axes=[0], keepdims=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", kind, [1, 4]),
            helper.make_tensor_value_info(state, kind, [2, 4]),
        ],
        [
            helper.make_tensor_value_info("y", kind, [1, 4]),
            helper.make_tensor_value_info(state_out, kind, [2, 4]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@pytest.mark.parametrize(
    ("state", "state_out", "is_state"),
    [
        ("h0", "hn", True),
        ("state", "stateN", True),
        ("cache_in", "cache_out", True),
        ("prev_hidden.1", "next_hidden.1", True),
        ("content", "stylised", False),
        ("image_in", "image_out", False),
    ],
)
def test_inputs_of_onnx_that_hold_a_state_are_zeros(
    tmp_path: Path, state: str, state_out: str, is_state: bool
):
    path, cache = recurrent(tmp_path / "m.onnx", state, state_out), Cache(tmp_path / "cache")
    np.savez(tmp_path / "x.npz", x=np.ones((6, 4), np.float32))
    (drawn,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None)
    assert show(str(path), cache)["states"] == ([state] if is_state else [])
    assert drawn.source.inputs is not None
    with np.load(drawn.source.inputs.path) as arrays:
        assert arrays["0"].any() and bool(arrays["1"].any()) is not is_state
    assert any(state in note for note in drawn.notes) is is_state
    if is_state:
        (given,) = resolve_sources(
            [str(path)], cache=cache, progress=lambda _: None, inputs=tmp_path / "x.npz"
        )
        assert given.source.inputs is not None
        with np.load(given.source.inputs.path) as arrays:
            assert arrays["1"].shape == (6, 2, 4) and not arrays["1"].any()
        np.savez(tmp_path / "both.npz", **{"x": np.ones((6, 4)), state: np.ones((6, 2, 4))})  # type: ignore[arg-type]
        (own,) = resolve_sources(
            [str(path)], cache=cache, progress=lambda _: None, inputs=tmp_path / "both.npz"
        )
        assert not own.notes
