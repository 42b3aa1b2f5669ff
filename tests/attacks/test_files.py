"""Files that a user names: no regular files, without an end, or made to do harm."""

import json
import os
import shutil
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgebench import registry
from edgebench.cli.common import results_folder
from edgebench.errors import EdgeBenchError, InputError, StoredResultError, UsageError
from edgebench.files import MAX_BYTES, parse_toml, read_regular, require_file_name, write_atomically
from edgebench.judge.requirements.profile import load_profile
from edgebench.prepare import shipped
from edgebench.prepare.cache import Cache
from edgebench.prepare.description import show
from edgebench.prepare.families import read_weights
from edgebench.prepare.image_lists import list_files
from edgebench.prepare.images import load_images, load_scene
from edgebench.prepare.labels import read_labels
from edgebench.prepare.model_file import folder_files
from edgebench.prepare.samples import read_inputs
from edgebench.prepare.user_model import read_source, source_from_weights
from edgebench.records.model import FixedInput, InputChoice
from edgebench.results.listing import resolve_results
from edgebench.run.config import read_config_files, resolve_one
from edgebench.run.measuring.execution import host_facts
from edgebench.run.targets_file import read_targets


@contextmanager
def at_most(seconds):
    """TimeoutError where the block waits for what never comes."""

    def late(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def project_file(path, cache):
    path.replace(path.with_name("edgebench.toml"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        patch.setenv("XDG_CONFIG_HOME", str(path.parent))
        read_config_files()


def trained(path, cache):
    shutil.copyfile(
        shipped.TFLITE_FOLDER / "mobilenet_v1-0.25-fp32.tflite",
        path.with_name("w.npz"),
    )
    path.replace(path.with_name("w.json"))
    source_from_weights(path.with_name("w.npz"), cache)


def listed_in_csv(path, cache):
    path.with_name("set.csv").write_text(f"path\n{path.name}\n")
    load_images(path.with_name("set.csv"), cache)


def result(path, cache):
    folder = path.with_name("result")
    folder.mkdir()
    path.replace(folder / "experiment.json")
    resolve_results(str(folder), path.parent)


def replayed(path, cache):
    registry.backend("replay").offers({"source": str(path)})


TOKENS = FixedInput("tokens", "float32", (1, 4))

READERS = {
    "targets.toml": lambda path, cache: read_targets(path),
    "p.toml": lambda path, cache: load_profile(str(path)),
    "settings.toml": project_file,
    "scenario.toml": replayed,
    "labels.txt": lambda path, cache: read_labels(path),
    "scene.png": load_scene,
    "scene.npy": load_scene,
    "images.csv": lambda path, cache: list_files(path),
    "one.png": listed_in_csv,
    "inputs.npz": lambda path, cache: read_inputs(path, [TOKENS]),
    "inputs.npy": lambda path, cache: read_inputs(path, [TOKENS]),
    "model.tflite": lambda path, cache: read_source(path, InputChoice(), cache),
    "model.onnx": lambda path, cache: show(str(path), cache),
    "weights.npz": source_from_weights,
    "w.npz": lambda path, cache: read_weights(path),
    "record": trained,
    "experiment": result,
}


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def socket_file(path):
    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # a socket's path is short
        made.bind(path.name)


def sparse(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            pipe,
            ("it is a pipe", "not a plain file"),
            marks=pytest.mark.attack("a pipe in place of any file: refused with the reason, never opened"),
        ),
        pytest.param(
            endless,
            ("it is a device", "leads out of the result folder"),
            marks=pytest.mark.attack("a link to /dev/zero in place of any file: refused by its kind"),
        ),
        pytest.param(
            socket_file,
            ("it is a socket", "not a plain file"),
            marks=pytest.mark.attack("a socket in place of any file: refused with the reason"),
        ),
        pytest.param(
            sparse,
            ("more than", "too large"),
            marks=pytest.mark.attack("a file of a terabyte in place of any: refused by its size, not read"),
        ),
    ],
)
def test_only_regular_files_of_a_bounded_size_are_read(tmp_path, name, make, words):
    folder = tmp_path / "given"
    folder.mkdir()
    make(folder / name)
    with at_most(20), pytest.raises(EdgeBenchError) as caught:
        READERS[name](folder / name, Cache(tmp_path / "cache"))
    assert any(one in str(caught.value) for one in words), str(caught.value)
    assert caught.value.fix


@pytest.mark.attack("a pipe among the files of a SavedModel: refused, no reader waits")
def test_a_saved_model_with_a_pipe_is_refused(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"a")
    (tmp_path / "variables").mkdir()
    os.mkfifo(tmp_path / "variables" / "variables.index")
    with pytest.raises(InputError, match=r"variables\.index, which is no file"):
        folder_files(tmp_path)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a = 1\nb = = 2", "at line 2"),
        (b"a" + b".a" * 15_000 + b" = 1", "more than 32 parts (at line 1)"),
        (b'"a".' * 100 + b"b = 1", "more than 32 parts"),
        (b"\nx = " + b"9" * 5000, "thousands of digits (at line 2)"),
        (b"\nx = 1" + b"_0" * 5000, "thousands of digits (at line 2)"),
        (b"x = [0x" + b"f" * 5000 + b"]", "'x' has more than 64 bits"),
        (b"x = 9223372036854775808", "'x' has more than 64 bits"),
        (b"x = " + b"[" * 20_000, "nested too deeply"),
        (b"x = " + b"{a.a.a=" * 40 + b"1" + b"}" * 40, "nested too deeply"),
        ("a = 1".encode("utf-16"), "line 1 is not UTF-8"),
        (b"a = 1\nb = '\xe9'", "line 2 is not UTF-8"),
    ],
)
@pytest.mark.attack(
    "TOML with keys of 15,000 parts, numbers of 5,000 digits or no UTF-8: a message with the line"
)
def test_toml_that_was_made_to_do_harm_is_refused_in_words(data, why):
    with pytest.raises(UsageError, match=r"^f\.toml is not TOML") as caught:
        parse_toml(data, "f.toml")
    assert why in caught.value.why
    assert len(caught.value.why) < 400


LONG = ".".join(["word"] * 40)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"# {LONG}\na = 1", ["a"]),
        (f'a = \'{LONG}\'\nb = "\\" {LONG}"', ["a", "b"]),
        (f'a = """\n{LONG} = "" 1\n""""', ["a"]),
        (f"a = '''\n{LONG} = '' 1\n'''", ["a"]),
        (f'"{LONG}" = 1', [LONG]),
    ],
)
def test_dotted_words_that_are_no_key_are_read(text, keys):
    assert list(parse_toml(text.encode(), "f").tables) == keys


@pytest.mark.parametrize(
    "text", [f"x.{LONG} = 1", f"[{LONG}]", f"a = {{ b = 1, {LONG} = 2 }}", f"'a'.'#'.{LONG} = 1"]
)
@pytest.mark.attack("TOML with a key of 40 parts, in a table's head too: a message with the line")
def test_a_long_key_is_found_wherever_a_key_can_be(text):
    with pytest.raises(UsageError) as caught:
        parse_toml(f"# {LONG}\n{text}".encode(), "f")
    assert caught.value.why == "a key of more than 32 parts (at line 2)"
    assert caught.value.fix == "mend that line"


def test_a_mark_of_byte_order_is_no_fault():
    assert parse_toml(b"\xef\xbb\xbfa = -9223372036854775808", "f").tables == {"a": -(2**63)}


def test_a_file_that_grows_is_read_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "log.toml"
    path.write_bytes(b"a = 1\n")
    opened = os.open

    def growing(*arguments):
        handle = opened(*arguments)
        path.write_bytes(b"a" * (MAX_BYTES - 1))
        return handle

    monkeypatch.setattr(os, "open", growing)
    assert len(read_regular(path, MAX_BYTES)) == MAX_BYTES - 1
    with pytest.raises(OSError, match="more than 10 bytes"):
        read_regular(path, 10)


@pytest.mark.parametrize("tools", [{}, {"tools": None}, {"tools": "tensorflow"}])
@pytest.mark.attack("artifacts.json that is well-formed and names no tools: a message with its fix")
def test_a_manifest_without_tools_is_not_the_one_that_came(tmp_path, monkeypatch, tools):
    manifest = json.loads((shipped.TFLITE_FOLDER / shipped.MANIFEST).read_text())
    first = manifest["artifacts"][0]
    inputs = dict(first["inputs"])
    first["inputs"] = {name: value for name, value in inputs.items() if name != "tools"} | tools
    (tmp_path / shipped.MANIFEST).write_text(json.dumps(manifest))
    monkeypatch.setattr(shipped, "TFLITE_FOLDER", tmp_path)
    with pytest.raises(InputError, match="not the file that came with EdgeBench") as caught:
        shipped.with_shipped_tools(inputs)
    assert "tools" in caught.value.why
    assert "install EdgeBench again" in caught.value.fix


@pytest.mark.attack("a machine without /proc: what it would tell is missing with its reason")
def test_without_proc_the_host_is_described_as_far_as_it_tells(tmp_path, monkeypatch):
    def untold():
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    def unobtainable():
        raise OSError("Load averages are unobtainable")

    monkeypatch.setattr("psutil.virtual_memory", untold)
    monkeypatch.setattr("psutil.cpu_freq", untold)
    monkeypatch.setattr("os.getloadavg", unobtainable)
    facts = host_facts()
    assert facts["memory_bytes"] is facts["cpu_mhz"] is facts["load_average"] is None
    assert facts["absent"]["memory_bytes"] == "/proc/meminfo: No such file or directory"
    assert facts["absent"]["load_average"] == "Load averages are unobtainable"
    assert facts["python"]
    (tmp_path / "m.tflite").write_bytes(b"no model")
    with pytest.raises(InputError, match="cannot be read as a model"):
        show(str(tmp_path / "m.tflite"), Cache(tmp_path / "cache"))


@pytest.mark.attack("another setting of edgebench.toml is wrong: commands that measure nothing read on")
def test_one_setting_is_taken_and_the_others_are_not_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("EDGEBENCH_OUTPUT_DIR", raising=False)
    assert resolve_one("output_dir", None).output_dir == Path("results")
    (tmp_path / "edgebench.toml").write_text('output_dir = "elsewhere"\nsessions = "many"\n')
    assert resolve_one("output_dir", None).output_dir == Path("elsewhere")
    assert resolve_one("output_dir", Path("typed")).output_dir == Path("typed")
    # What `show`, `fit` and `report` read, as `run` writes there.
    with pytest.raises(StoredResultError, match="nothing was measured yet in elsewhere"):
        results_folder("latest")
    monkeypatch.setenv("EDGEBENCH_OUTPUT_DIR", "from-environment")
    assert resolve_one("output_dir", None).output_dir == Path("from-environment")


@pytest.mark.attack(
    "a report or firmware is written to a device, a pipe or a folder: refused, and that stays"
)
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to a device"])
def test_output_in_place_of_a_device(tmp_path, kind):
    path = tmp_path / "output"
    {
        "pipe": os.mkfifo,
        "folder": os.mkdir,
        "link to a device": lambda name: os.symlink("/dev/zero", name),
    }[kind](path)
    before = path.lstat()
    with pytest.raises(OSError, match="no plain file"):
        write_atomically(path, b"figures")
    with pytest.raises(UsageError):
        require_file_name(path, "-o")
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert list(tmp_path.iterdir()) == [path]
