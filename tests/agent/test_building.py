"""A build by itself: what decides it, what is kept of it, and which of a runner's results are taken."""

import json
import time
from types import ModuleType
from typing import Any

import pytest

from edgebench.agent import building
from edgebench.agent.files import FileStore, WrongContent, sha256_of

CODE = {"entry": "runner", "files": {"runner": {"path": "/runner.py", "sha256": "c" * 64}}}


def stored(folder, name, text):
    path = folder / name
    path.write_text(text)
    return {"path": str(path), "sha256": sha256_of(str(path))}


@pytest.fixture
def request_of(tmp_path):
    """A request with one calibration; anything in it can be another."""

    def request(text="a model", calibration="pictures", **other):
        companions = {"calibration.npz": stored(tmp_path, "calibration.npz", calibration)}
        source = stored(tmp_path, "source.onnx", text)
        asked = {"source": source, "companions": companions, "options": {}, "code": CODE}
        return {**asked, **other}

    return request


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "board"
    path.mkdir(0o700)
    return path


def a_runner(build=None, version="toy 1"):
    """A runner whose build is the source in capitals; `builds` counts them."""
    runner: Any = ModuleType("runner")
    runner.builds = 0

    def default(source, calibration, cache_dir, options, progress):
        runner.builds += 1
        progress(1, 2, "half")
        with open(source) as file, open(calibration) as pictures:
            text = file.read().upper() + pictures.read()
        with open(cache_dir + "/engine.PLAN", "w") as file:
            file.write(text)
        with open(cache_dir + "/timing.cache", "w") as file:
            file.write("scratch")
        return cache_dir + "/engine.PLAN"

    runner.build = build or default
    runner.build_version = lambda: version
    return runner


def build(folder, runner, request, notes=None):
    times = iter(range(0, 10**12, 10**9))
    scratch = FileStore(str(folder)).scratch(1)
    tell = (lambda note: None) if notes is None else notes.append
    return building.build(runner, request, scratch, tell, lambda: next(times))


def test_a_build_is_kept_under_its_hash_and_given_again(folder, request_of):
    runner = a_runner()
    notes: list[Any] = []
    first = build(folder, runner, request_of(), notes)
    assert notes == [{"progress": 1, "total": 2, "text": "half"}]
    assert not first.cached
    assert first.seconds == 1.0
    with open(first.path) as file:
        assert file.read() == "A MODELpictures"
    assert first.path == str(folder / f"{first.sha256}.plan")
    assert first.sha256 == sha256_of(first.path)
    assert first.size == 15
    again = build(folder, runner, request_of())
    assert again == first._replace(cached=True)
    assert runner.builds == 1
    assert {path.suffix for path in folder.iterdir()} == {".plan", ".built", ".ok"}  # no scratch
    assert FileStore(str(folder)).clean().left == 0
    assert not folder.exists()


def test_whatever_decides_a_build_makes_another_one(folder, request_of):
    runner = a_runner()
    build(folder, runner, request_of())
    code = {"entry": "runner", "files": {"runner": {"path": "/runner.py", "sha256": "d" * 64}}}
    changes: list[dict[str, Any]] = [
        {"text": "another model"},
        {"calibration": "other pictures"},
        {"options": {"fp16": True}},
        {"code": code},
    ]
    for number, changed in enumerate(changes):
        assert not build(folder, runner, request_of(**changed)).cached
        assert runner.builds == number + 2
    assert not build(folder, a_runner(version="toy 2"), request_of()).cached
    assert build(folder, runner, request_of()).cached


def test_options_that_only_the_load_takes_share_a_build(folder, request_of):
    given: list[dict[str, Any]] = []

    def note_options(source, calibration, cache_dir, options, progress):
        given.append(options)
        with open(cache_dir + "/engine.plan", "w") as file:
            file.write(str(options["fp16"]))
        return cache_dir + "/engine.plan"

    runner = a_runner(note_options)
    runner.BUILD_OPTIONS = ("fp16",)
    build(folder, runner, request_of(options={"fp16": True, "queue": 1}))
    assert build(folder, runner, request_of(options={"fp16": True, "queue": 2})).cached
    assert not build(folder, runner, request_of(options={"fp16": False, "queue": 2})).cached
    assert [set(options) for options in given] == [{"fp16", "companions"}] * 2


@pytest.mark.attack("a file that was built on a board is damaged, or its note: it is built again")
@pytest.mark.parametrize(
    ("suffix", "harm"),
    [
        (".plan", lambda path: path.write_text("damaged")),
        (".plan", lambda path: path.unlink()),
        (".built", lambda path: path.write_text("")),
        (".built", lambda path: path.write_text(json.dumps({"name": "../x", "size": 1, "seconds": 1}))),
        (".built", lambda path: path.write_text(json.dumps({"name": "0" * 64}))),
        (".built", lambda path: path.write_text("[]")),
    ],
)
def test_what_was_damaged_is_built_again(folder, request_of, suffix, harm):
    runner = a_runner()
    build(folder, runner, request_of())
    [path] = [path for path in folder.iterdir() if path.suffix == suffix]
    harm(path)
    assert not build(folder, runner, request_of()).cached
    assert build(folder, runner, request_of()).cached


@pytest.mark.attack(
    "a build has the suffix of a file on its way: it is found again after the board's folder was swept"
)
def test_a_build_under_a_suffix_of_the_folders_own_stays(folder, request_of):
    def named(source, calibration, cache_dir, options, progress):
        path = cache_dir + "/engine.part"
        with open(path, "w") as file:
            file.write("an engine")
        return path

    first = build(folder, a_runner(named), request_of())
    FileStore(str(folder)).sweep()
    again = build(folder, a_runner(named), request_of())
    assert (again.cached, again.path, again.sha256) == (True, first.path, first.sha256)


def test_a_source_that_is_another_one_is_not_built(folder, request_of):
    wrong = request_of()
    wrong["source"]["sha256"] = "0" * 64
    with pytest.raises(WrongContent):
        build(folder, a_runner(), wrong)
    assert list(folder.iterdir()) == []


def test_no_build_without_a_function_and_a_version(folder, request_of):
    with pytest.raises(building.BuildFailed):
        build(folder, ModuleType("runner"), request_of())
    with pytest.raises(building.BuildFailed):
        build(folder, a_runner(version=""), request_of())


def test_progress_goes_out_when_it_is_further_and_not_too_often(monkeypatch):
    now = [0.0]
    notes: list[Any] = []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = building.BuildProgress(notes.append)
    for at, done in [(0.0, 1), (0.1, 2), (1.0, 2), (2.0, 2), (3.0, 1), (4.0, 3)]:
        now[0] = at
        progress(done, 10, "x" * 1000)
    progress.end()
    now[0] = 9.0
    progress(9, 10)  # a thread that outlives the build
    assert [note["progress"] for note in notes] == [1, 2, 3]
    assert len(notes[0]["text"]) == building.MOST_TEXT
    with pytest.raises(ValueError, match=r"progress\(11, 10\)"):
        progress(11, 10)
