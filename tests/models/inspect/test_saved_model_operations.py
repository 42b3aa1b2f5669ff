"""What a model would do to the machine that reads it is refused before anything of it is carried out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.errors import InputError
from edgebench.installed import version_of
from edgebench.prepare.cache import Cache
from edgebench.prepare.model_file import inspect_model
from edgebench.prepare.user_model import read_source
from edgebench.records.model import InputChoice

_MAKE = """
import os, shutil, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np, tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
os.chdir(sys.argv[1])
WRITTEN = os.path.abspath("written")
open("secret", "w").write("a\\nb\\n")
raw, one = tf.raw_ops, tf.TensorSpec((1, 4), name="x")

class Table(tf.lookup.KeyValueTensorInitializer):
    def __init__(self, act):
        super().__init__(["a"], [1])
        self.act = act
    def initialize(self, table):
        self.act(table)
        return super().initialize(table)

def save(name, act=lambda x: None, begin=None, kind=None):
    module = tf.Module()
    module.scale = tf.Variable(2.0)
    if begin is not None or kind is not None:
        module.table = tf.lookup.StaticHashTable(kind or Table(begin), -1)
    @tf.function(input_signature=[one])
    def call(x):
        act(x)
        found = module.table.lookup(tf.constant("a")) if hasattr(module, "table") else 0
        return {"y": x * module.scale + tf.cast(found, tf.float32)}
    module.call = call
    tf.saved_model.save(module, name, signatures=call.get_concrete_function())

def write(*_):
    tf.io.write_file(WRITTEN, "x")

def nested(x):
    tf.cond(tf.reduce_sum(x) > 0, lambda: (tf.io.write_file(WRITTEN, "x"), 1)[1], lambda: 0)

def read_into(table):
    if tf.executing_eagerly():
        return
    other = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    raw.InitializeTableFromTextFileV2(
        table_handle=other, filename=os.path.abspath("secret"), key_index=-2, value_index=-1
    )

def text_table():
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(
        "secret", tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )

save("WriteFile.initialiser", begin=write)
save("WriteFile.call", write)
save("WriteFile.branch", nested)
save("ReadFile", lambda x: tf.io.read_file(WRITTEN))
save("InitializeTableFromTextFileV2", begin=read_into)
save("EagerPyFunc", lambda x: tf.py_function(lambda: 1.0, [], tf.float32))
save("PrintV2", lambda x: tf.print("x", output_stream="file://" + WRITTEN))
save("SaveV2", lambda x: raw.SaveV2(
    prefix=tf.constant(WRITTEN), tensor_names=["a"], shape_and_slices=[""], tensors=[x]))
save("fine", lambda x: tf.print("x", output_stream=sys.stderr))
save("fine.table", kind=text_table())
again = tf.saved_model.load("fine.table")
tf.saved_model.save(again, "fine.again", signatures=again.signatures)

old, builder = tf.compat.v1, tf.compat.v1.saved_model.Builder
def save_v1(name, writes):
    with tf.Graph().as_default(), old.Session() as session:
        x = old.placeholder(tf.float32, (1, 4))
        y = x * old.get_variable("v", (), use_resource=False, initializer=old.ones_initializer())
        session.run(old.global_variables_initializer())
        saver = old.train.Saver()
        if writes:  # what writes a checkpoint, in the way of the answer
            written = session.graph.get_operation_by_name("save/SaveV2")
            with tf.control_dependencies([written]):
                y = tf.identity(y)
        made = builder(name)
        predicted = old.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
        made.add_meta_graph_and_variables(session, ["serve"], {"serving_default": predicted}, saver=saver)
        made.save()
save_v1("fine.v1", False)
save_v1("SaveV2.v1", True)

shutil.copytree("fine.table", "secret.asset")
held = SavedModel.FromString(open("secret.asset/saved_model.pb", "rb").read())
held.meta_graphs[0].asset_file_def[0].filename = "../../secret"
open("secret.asset/saved_model.pb", "wb").write(held.SerializeToString())

for name in ("lambda", "TFSMLayer"):
    taken = tf.keras.Input((4,))
    layer = (
        tf.keras.layers.Lambda(lambda x: (__import__("pathlib").Path(WRITTEN).touch(), x)[1])
        if name == "lambda"
        else tf.keras.layers.TFSMLayer("fine", call_endpoint="serving_default")
    )
    tf.keras.Model(taken, layer(taken)).save(name + ".keras")
if os.path.exists(WRITTEN):
    os.remove(WRITTEN)
"""

_LOOK = """
import json, os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
from pathlib import Path
from edgebench.errors import InputError
from edgebench.prepare.workers.saved_model_operations import refuse_side_effects
said = {}
for path in sorted(Path(sys.argv[1]).glob("*/saved_model.pb")):
    try:
        said[path.parent.name] = refuse_side_effects(path.parent) or ""
    except InputError as error:
        said[path.parent.name] = error.what
print(json.dumps(said))
"""

REFUSED = (
    "WriteFile.initialiser", "WriteFile.call", "WriteFile.branch", "ReadFile", "EagerPyFunc", "PrintV2",
    "InitializeTableFromTextFileV2", "SaveV2", "SaveV2.v1",
)  # fmt: skip
FINE = ("fine", "fine.table", "fine.again", "fine.v1")


def _run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if version_of("tensorflow") is None:
        pytest.skip("the models are made with tensorflow")
    made = tmp_path_factory.mktemp("acting")
    _run(_MAKE, made)
    return made


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    answers: dict[str, str] = json.loads(_run(_LOOK, folder))
    return answers


@pytest.mark.attack(
    "a SavedModel writes or reads files, or calls Python: the operation is named, none is run"
)
@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_that_acts_outside_of_the_model_is_named(said: dict[str, str], name: str):
    assert f"the operation {name.partition('.')[0]}" in said[name]


@pytest.mark.attack("a SavedModel names a file outside of its folder as its asset: it is refused")
def test_an_asset_outside_of_the_folder_is_named(said: dict[str, str]):
    assert "../../secret" in said["secret.asset"]


@pytest.mark.parametrize("name", FINE)
def test_a_model_with_its_own_assets_and_checkpoint_is_taken(said: dict[str, str], name: str):
    assert said[name] == ""


@pytest.mark.attack(
    "a SavedModel writes a file when it is loaded: it is refused before, and nothing is written"
)
def test_nothing_is_carried_out_when_a_model_is_shown_or_prepared(folder: Path, tmp_path: Path):
    for read in (inspect_model, lambda path: read_source(path, InputChoice(), Cache(tmp_path))):
        with pytest.raises(InputError) as caught:
            read(folder / "WriteFile.initialiser")
        assert "WriteFile" in str(caught.value) and "export" in caught.value.fix
    assert not (folder / "written").exists()


@pytest.mark.attack(
    "a .keras file brings Python or a SavedModel of its own: it is refused, and nothing is run"
)
@pytest.mark.parametrize("name", ["lambda", "TFSMLayer"])
def test_code_in_a_keras_file_is_refused(folder: Path, name: str):
    with pytest.raises(InputError, match=r"Lambda|TFSMLayer"):
        inspect_model(folder / f"{name}.keras")
    assert not (folder / "written").exists()
