"""Reading a user's model from disk: formats, hashes, and everything else."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import InputError
from edgebench.prepare import user_model as files
from edgebench.prepare.cache import Cache
from edgebench.prepare.formats import format_of
from edgebench.prepare.model_file import folder_sha256
from edgebench.prepare.user_model import read_source
from edgebench.records.model import Artifact, InputChoice
from edgebench.run.model_choice import requests_for, resolve_sources
from tests.fakes import agent_backend
from tests.user_models import SIDE


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_tflite_file_is_named_by_its_name_and_hash(user_models: Path, cache: Cache):
    source = read_source(user_models / "tower.tflite", InputChoice(), cache)
    assert source.sha256 is not None
    assert source.name == f"tower-{source.sha256[:8]}"
    assert source.model is not None and source.model.picture is not None
    assert (source.model.picture.height, source.model.scores, source.model.precision) == (SIDE, 3, "fp32")


def test_a_saved_model_is_read_once(user_models: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch):
    source = read_source(user_models / "tower_saved", InputChoice(), cache)
    assert source.model is not None and source.model.picture is not None
    assert source.model.scores == 3
    assert source.model.macs == 9
    monkeypatch.setattr(files, "inspect_model", lambda _: pytest.fail("read again"))
    again = read_source(user_models / "tower_saved", InputChoice(), cache)
    assert again == source


def test_a_saved_model_without_signature_says_how_to_save_it(user_models: Path, cache: Cache):
    with pytest.raises(InputError, match="bare_saved") as caught:
        read_source(user_models / "bare_saved", InputChoice(), cache)
    assert "no signature serving_default" in str(caught.value)


@pytest.mark.attack("a model is larger than memory: it is not loaded")
def test_a_saved_model_larger_than_memory_is_not_loaded(
    user_models: Path, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Free:
        available = 100

    copy = shutil.copytree(user_models / "tower_saved", tmp_path / "saved")
    monkeypatch.setattr("psutil.virtual_memory", Free)
    with pytest.raises(InputError, match="0 MiB are free"):
        read_source(copy, InputChoice(), cache)


def test_a_folders_hash_is_of_its_names_and_contents(tmp_path: Path):
    folder = tmp_path / "saved"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"a")
    first = folder_sha256(folder)
    assert format_of(folder).kind == "saved_model"
    (folder / "variables" / "x").write_bytes(b"b")
    assert folder_sha256(folder) != first


@pytest.mark.attack("a user's file is not a model: a message says why")
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.tflite", b"no model", "cannot be read"),
        ("a.tflite", b"", "is empty"),
        ("a.pt", b"x", "is not read"),
        ("a.h5", b"\x89HDF", "is not read"),
        ("a", b"x", "is no model file"),
    ],
)
def test_what_is_no_model(tmp_path: Path, cache: Cache, name: str, content: bytes, says: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_source(tmp_path / name, InputChoice(), cache)


def test_no_file_and_a_folder_that_is_no_saved_model(tmp_path: Path, cache: Cache):
    with pytest.raises(InputError, match=r"none\.onnx"):
        read_source(tmp_path / "none.onnx", InputChoice(), cache)
    with pytest.raises(InputError, match="no SavedModel"):
        read_source(tmp_path, InputChoice(), cache)


def test_an_h5_file_is_refused_with_the_two_commands_that_convert_it(tmp_path: Path, cache: Cache):
    (tmp_path / "net.h5").write_bytes(b"\x89HDF")
    with pytest.raises(InputError) as caught:
        read_source(tmp_path / "net.h5", InputChoice(), cache)
    assert "pip install tf-keras; python -c" in caught.value.fix
    assert "load_model('net.h5', compile=False).export('net')" in caught.value.fix


_MAKE_TRAINED = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
net = tf.Module()
net.kernel = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
net.optimizer = tf.Module()
net.optimizer.momentum = tf.Variable(tf.zeros((3, 2)))
call = tf.function(lambda x: {"y": x @ net.kernel}, input_signature=[tf.TensorSpec((1, 3), name="x")])
net.call = call
tf.saved_model.save(net, sys.argv[1], signatures=call.get_concrete_function())

# As Keras 2 writes the variables of an optimiser: as slots of the variables that it trains.
file = os.path.join(sys.argv[1], "saved_model.pb")
model = SavedModel.FromString(open(file, "rb").read())
nodes = model.meta_graphs[0].object_graph_def.nodes
children = lambda node: {child.local_name: child.node_id for child in node.children}
root = children(nodes[0])
optimizer = nodes[root["optimizer"]]
optimizer.slot_variables.add(
    original_variable_node_id=root["kernel"],
    slot_name="m",
    slot_variable_node_id=children(optimizer)["momentum"],
)
open(file, "wb").write(model.SerializeToString())
"""


def test_a_saved_model_with_the_state_of_a_keras_2_optimiser_is_read_and_made(tmp_path: Path, cache: Cache):
    folder = tmp_path / "trained"
    subprocess.run([sys.executable, "-c", _MAKE_TRAINED, str(folder)], check=True, timeout=300)
    (chosen,) = resolve_sources((str(folder),), cache=cache, progress=lambda _: None)
    assert chosen.source.model is not None
    assert [tensor.shape for tensor in chosen.source.model.inputs] == [(1, 3)]
    backend = agent_backend("cpu")
    (artifact,) = backend.prepare(
        requests_for((chosen,), backend, ("fp32",), 1, cache), cache, lambda _: None
    )
    assert isinstance(artifact, Artifact), artifact
    with np.load(artifact.golden.patches) as samples:
        expected = samples["0"][:, 0] @ np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_allclose(artifact.golden.scores, expected, atol=1e-4)
