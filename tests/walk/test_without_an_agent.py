"""A device without an agent goes the whole way: run, folder, fit, report, JSON, CSV, resume, explanation."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import edgebench
from edgebench import registry
from edgebench.cli.main import app
from edgebench.errors import UsageError
from edgebench.judge.trials import trials_of
from edgebench.testing import BackendContract
from tests.serial_board import PATCH_INSTRUCTIONS, PATCH_NS, UNCOUNTED, WINDOW_INFERENCES, SerialBackend
from tests.synthetic_results import write_record

SCENE_S = 6 * PATCH_NS / 1e9
PROFILE = """
schema_version = 1
name = "small"
title = "A small board"

[[requirements]]
name = "runtime"
quantity = "infer_s"
limit = 1.0

[[requirements]]
name = "picture"
quantity = "image_s"
limit = 1.0
"""


class SerialPoint:
    """The entry point that an installed package would have."""

    def load(self) -> type[SerialBackend]:
        return SerialBackend


@pytest.fixture
def run(tmp_path, monkeypatch):
    points = registry._points
    more = {"edgebench.backends": {"serial": SerialPoint()}}
    monkeypatch.setattr(registry, "_points", lambda group: {**points(group), **more.get(group, {})})
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(PROFILE)

    def invoke(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    return invoke


def measured(run, *words: str, options: dict[str, Any] | None = None, code: int = 0) -> str:
    settings = [word for name, value in (options or {}).items() for word in ("--set", f"{name}={value}")]
    base = ("run", "--device", "serial", "--port", "/dev/ttyACM7", "--name", "one", "--profile", "small.toml")
    output: str = run(*base, "--sessions", "3", "--passes", "3", *settings, *words, code=code)
    return output


def told(run) -> tuple[dict[str, Any], dict[str, str], str]:
    """The only trial in JSON and in CSV, and the whole report as Markdown."""
    for name in ("one.json", "one.csv", "one.md", "one.html"):
        run("report", "one", "-o", name)
    with Path("one.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    [trial] = json.loads(Path("one.json").read_text())["trials"]
    return trial, row, Path("one.md").read_text()


def test_windows_go_the_whole_way(run):
    output = measured(run)
    results = edgebench.load("results/one")
    windows = results.windows
    assert len(windows) == 3 * 4
    assert windows["inferences"].unique().tolist() == [50]
    assert windows[windows["phase"] == "steady"]["patch"].tolist() == [1, 2, 3] * 3
    assert not len(results.passes) and not len(results.batches)
    session = results.path / "trials" / results.experiment.trials[0].key / "sessions" / "000"
    assert not (session / "passes.parquet").exists() and (session / "windows.parquet").is_file()
    trial, row, report = told(run)
    estimates = trial["estimates"]
    image_s, infer_s = estimates["image_s"], estimates["infer_s"]
    assert image_s["value"] is None and "windows" in image_s["reason"]
    assert infer_s["value"] == pytest.approx(SCENE_S)
    assert len(infer_s["session_values"]) == 3 and infer_s["n"] == 9
    assert (trial["scene"]["measured_patches"], trial["marks"]) == (3, ["extrapolated"])
    assert row["marks"] == "extrapolated"
    assert "image_s" not in row and float(row["infer_s"]) == pytest.approx(SCENE_S)
    for name in ("accuracy", "scene_accuracy"):
        assert (estimates[name]["value"], estimates[name]["n"]) == (1.0, 4)
    assert "infer_s" in output and "9 of 9 windows covered 3 of 6 patches" in report
    verdicts = {one.requirement.name: one for one in edgebench_verdicts()}
    assert verdicts["runtime"].word == "pass"
    assert verdicts["picture"].word == "unknown" and "windows" in verdicts["picture"].reason
    # The port stands in experiment.json alone.
    assert results.experiment.targets[0].port == "/dev/ttyACM7"
    for name in ("one.json", "one.csv", "one.md", "one.html"):
        assert "ttyACM7" not in Path(name).read_text(), name
    assert json.loads((results.path / "experiment.json").read_text())["config"]["port"]["value"] == "..."


@pytest.fixture
def windowed(monkeypatch):
    """The board with defaults as one of windows has them."""
    for name, value in (("gives_windows", True), ("default_passes", 4), ("default_patches", 1)):
        monkeypatch.setattr(SerialBackend, name, value)
    monkeypatch.setattr(SerialBackend, "default_accuracy_images", 2)


WINDOWED = ("run", "--device", "serial", "--name", "one", "--sessions", "1", "--quiet")


def test_windows_patches_and_images_are_the_devices_where_the_run_names_none(run, windowed):
    run(*WINDOWED)
    results = edgebench.load("results/one")
    [trial] = results.experiment.trials
    assert results.windows["patch"].tolist() == [0] * 5
    assert (results.experiment.passes, trial.passes) == (4, None)
    assert trial.inputs["settings"]["patches"] == 1
    images = results.experiment.images_of(trial)
    assert images is not None and (images.n, images.name) == (2, "levels (2 of 4, seed 7)")
    trial_json, row, report = told(run)
    assert (trial_json["estimates"]["accuracy"]["n"], row["accuracy"]) == (2, "1.0")
    assert "1 session of 4 passes or windows over 1 of 6 patches" in report
    assert "levels (2 of 4, seed 7)" in Path("one.html").read_text()
    assert "extrapolated: 4 of 4 windows covered 1 of 6 patches" in report


def test_a_window_for_each_patch_and_the_images_that_were_asked_for(run, windowed):
    run(*WINDOWED, "--patches", "5", "--accuracy-images", "9")
    results = edgebench.load("results/one")
    steady = results.windows[results.windows["phase"] == "steady"]
    assert sorted(steady["patch"]) == [0, 1, 2, 3, 4]
    assert results.experiment.passes == 5
    assert results.experiment.images is not None and results.experiment.images.n == 4
    assert any("levels has 4" in warning for warning in results.experiment.warnings)


@pytest.mark.parametrize("flags", [("--patches", "7"), ("--patches", "3", "--passes", "2")])
def test_patches_that_cannot_be_are_refused(run, windowed, flags):
    result = CliRunner().invoke(app, [*WINDOWED, *flags])
    assert isinstance(result.exception, UsageError)
    assert not list(Path().glob("results/*"))


def edgebench_verdicts() -> list[Any]:
    from edgebench.judge.judged import judge_folder

    return judge_folder(Path("results/one")).verdicts


def test_a_narrow_interval_of_windows_ends_a_trial(run):
    measured(run, "--target-ci", "1%", "--sessions", "15", "--quiet")
    [trial] = trials_of(edgebench.load("results/one"))
    assert trial.ended is not None and trial.ended.by == "rule"
    assert "(infer_s)" in trial.ended.text


def test_it_is_resumed(run):
    measured(run, "--quiet")
    results = edgebench.load("results/one")
    sessions = results.path / "trials" / results.experiment.trials[0].key / "sessions"
    before = [trial.estimates for trial in trials_of(results)]
    shutil.rmtree(sessions / "002")
    (results.path / "run.json").unlink()
    measured(run, "--resume", "--quiet")
    assert (sessions / "002" / "windows.parquet").is_file()
    assert [trial.estimates for trial in trials_of(edgebench.load("results/one"))] == before


def test_passes_over_some_patches_are_scaled_up_and_flagged(run):
    measured(run, "--quiet", options={"gives": "passes", "patches": 2})
    trial, row, report = told(run)
    assert trial["estimates"]["image_s"]["value"] == pytest.approx(SCENE_S)
    assert (trial["scene"]["measured_patches"], trial["marks"]) == (2, ["extrapolated"])
    assert row["marks"] == "extrapolated"
    assert "9 of 9 passes covered 2 of 6 patches" in report
    assert trial["estimates"]["scene_accuracy"]["n"] == 2


def test_an_address_stands_in_experiment_json_alone(run):
    words = ("--set", "address=lab-7.example.org:8080", "--sessions", "1", "--quiet")
    measured(run, *words, options={"dies": True}, code=5)
    [trial] = edgebench.load("results/one").experiment.trials
    [target] = edgebench.load("results/one").experiment.targets
    assert target.options["address"] == "lab-7.example.org:8080"  # a run that goes on needs it
    assert "address" not in trial.inputs["settings"]["options"]
    measured(run, "--set=address=10.10.10.9", "--sessions", "1", "--quiet", "--name", "two")
    told(run)
    run("report", "two", "-o", "two.html")
    told_files = [*Path().glob("one.*"), *Path().glob("two.*")]
    stored_files = [path for path in Path("results").rglob("*.json") if path.name != "experiment.json"]
    assert len(told_files) == 5 and len(stored_files) > 3
    for path in (*told_files, *stored_files):
        assert "lab-7" not in path.read_text() and "10.10.10.9" not in path.read_text(), path
    for name in ("one", "two"):
        record = json.loads(Path(f"results/{name}/experiment.json").read_text())
        del record["targets"]
        assert "lab-7" not in json.dumps(record) and "10.10.10.9" not in json.dumps(record)
        assert "address=..." in record["config"]["set"]["value"]


def test_passes_of_patches_that_the_host_cut_are_told_without_patchify(run):
    options = {"gives": "passes", "patches": 2, "untimed": "patchify"}
    output = measured(run, options=options)
    omission = "image_s without patchify: the device is sent patches that were cut on the host"
    trial, row, report = told(run)
    assert trial["estimates"]["image_s"]["value"] == pytest.approx(SCENE_S)
    assert trial["scene"]["untimed_stages"] == ["patchify"]
    assert trial["marks"] == ["extrapolated", "without patchify"]
    assert row["marks"] == "extrapolated; without patchify"
    for text in (" ".join(output.split()), report, Path("one.html").read_text(), row["warnings"]):
        assert omission in text.replace("image\\_s", "image_s")
    verdicts = {one.requirement.name: one for one in edgebench_verdicts()}
    assert (verdicts["picture"].word, verdicts["runtime"].word) == ("pass", "pass")
    assert omission in verdicts["picture"].reason and "patchify" not in verdicts["runtime"].reason


def test_passes_of_inputs_that_the_host_prepared_tell_of_inference_alone(run):
    options = {"gives": "passes", "patches": 2, "untimed": "patchify,preprocess"}
    output = measured(run, options=options)
    reason = (
        "the device times inference alone, without patchify and preprocess: "
        "the device is sent inputs that were cut and prepared on the host"
    )
    trial, row, report = told(run)
    assert trial["estimates"]["image_s"]["value"] is None and "image_s" not in row
    assert trial["estimates"]["infer_s"]["value"] == pytest.approx(SCENE_S)
    assert (trial["scene"]["measured_patches"], trial["marks"]) == (2, ["extrapolated"])
    assert trial["estimates"]["image_s"]["reason"] == reason
    assert f"no latency per image: {reason}" in " ".join(output.split())
    assert "9 of 9 passes covered 2 of 6 patches" in report and "9 windows" not in report
    verdicts = {one.requirement.name: one for one in edgebench_verdicts()}
    assert (verdicts["picture"].word, verdicts["picture"].reason) == ("unknown", reason)
    assert verdicts["runtime"].word == "pass"


def test_a_device_that_scales_up_by_itself_is_flagged_by_its_word(run):
    measured(run, "--quiet", options={"gives": "passes"})
    assert "extrapolated" not in trials_of(edgebench.load("results/one"))[0].marks
    results = edgebench.load("results/one")
    for path in results.path.glob("trials/*/sessions/*/session.json"):
        write_record(path, json.loads(path.read_text()) | {"measured_patches": 4})
    [trial] = trials_of(edgebench.load("results/one"))
    assert trial.scene.measured_patches == 4 and "extrapolated" in trial.marks
    assert trial.estimate("image_s").value == pytest.approx(SCENE_S)


@pytest.mark.parametrize("gives", ["windows", "passes"])
def test_an_emulated_device_has_no_seconds_and_no_verdict(run, gives):
    output = measured(run, "--decide", "--sessions", "5", options={"gives": gives, "emulated": True})
    trial, row, report = told(run)
    assert trial["marks"] == ["emulated"] and row["marks"] == "emulated"  # no time was scaled up
    estimates = trial["estimates"]
    times = ("image_s", "infer_s", "stages_ms", "import_s", "load_s", "first_pass_s", "power_mean_w")
    for name in times:
        assert estimates[name]["value"] is None and "emulated" in estimates[name]["reason"]
    assert trial["rails"] == []
    assert estimates["accuracy"]["value"] == 1.0  # predictions are not a time
    assert {(one.word, "emulated" in one.reason) for one in edgebench_verdicts()} == {("unknown", True)}
    # All sessions that may be measured are: nothing settles its verdicts.
    assert (trial["ended"]["by"], trial["ended"]["sessions"]) == ("most", 5)
    for text in (output, report, Path("one.html").read_text()):
        assert "emulated" in text


def test_an_emulated_device_tells_its_instructions(run):
    output = measured(run, options={"emulated": True, "counts": True})
    windows = edgebench.load("results/one").windows
    assert windows["instructions"].tolist()[:2] == [
        WINDOW_INFERENCES * PATCH_INSTRUCTIONS + n for n in (0, 1)
    ]
    trial, row, report = told(run)
    # The median of the three steady windows.
    instructions = PATCH_INSTRUCTIONS + 2 / WINDOW_INFERENCES
    counted = trial["estimates"]["instructions"]
    assert counted["value"] == pytest.approx(instructions, rel=1e-12)
    assert float(row["instructions"]) == counted["value"]
    assert counted["reason"] == "" and trial["estimates"]["infer_s"]["value"] is None
    for text in (output, report, Path("one.html").read_text()):
        assert f"{PATCH_INSTRUCTIONS:,}" in text
    assert {verdict.word for verdict in edgebench_verdicts()} == {"unknown"}


@pytest.mark.parametrize("emulated", [True, False])
def test_instructions_that_nobody_counts_are_missing_with_the_reason(run, emulated):
    output = measured(run, "--sessions", "1", options={"emulated": emulated})
    trial, row, report = told(run)
    uncounted = trial["estimates"]["instructions"]
    assert uncounted["value"] is None and "instructions" not in row
    reason = UNCOUNTED if emulated else "where a device is emulated"
    assert reason in uncounted["reason"]
    for text in (" ".join(output.split()), report, Path("one.html").read_text()):
        assert ("nobody told the board" in text) == emulated


def test_a_sweep_measures_the_devices_own_pictures(run):
    measured(run, "--quiet", "--set", "gives=windows", "--set", "gives=passes")
    results = edgebench.load("results/one")
    assert results.trials["settings"].tolist() == ["gives=windows", "gives=passes"]
    assert results.trials["concurrency"].tolist() == [1, 1]
    first, second = trials_of(results)
    for trial in (first, second):
        assert trial.status == "done"
        assert trial.estimate("accuracy").notes[0] == "4 of 4"
        assert trial.estimate("infer_s").value == pytest.approx(SCENE_S)


@pytest.mark.parametrize("gives", ["windows", "passes"])
@pytest.mark.parametrize(
    ("flag", "value", "reason"),
    [("--period", "4.42", "did not pace"), ("--sustained", "1", "60 s were asked for")],
)
def test_a_device_that_takes_no_notice_of_pace_or_length_is_not_recorded_as_if_it_did(
    run, gives, flag, value, reason
):
    words = ("--device", "serial", "--name", "one", "--sessions", "1", "--retries", "0", "--quiet")
    passes = ("--passes", "3") if flag == "--period" else ()
    run("run", *words, *passes, flag, value, "--set", f"gives={gives}", code=5)
    results = edgebench.load("results/one")
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.failure is not None and reason in record.failure.what


def test_an_early_end_is_told_in_the_backends_words(run):
    measured(run, "--quiet", "--retries", "0", options={"dies": True}, code=5)
    record = edgebench.load("results/one").session_records(
        edgebench.load("results/one").experiment.trials[0].key
    )[0]
    assert record.failure is not None
    assert record.failure.what == "the board stopped answering amid a window"
    assert record.failure.fix == "flash it with the watchdog off"
    assert record.status == "timeout"


def test_its_sessions_time_is_what_its_backend_says(run):
    # Never measured: load and images alone are known, and the windows are not.
    text = " ".join(measured(run, "--dry-run").split())
    assert "0:02 once a trial for accuracy on 4 images (--accuracy-images)" in text
    assert "unknown" in text and "a session" not in text


class TestWindows(BackendContract):
    backend = SerialBackend()
    batch = 1
    skips = {  # noqa: RUF012  # as in any class of the contract
        "test_looking_at_it_loads_no_runtime": "it is no installed package",
    }


class TestPasses(TestWindows):
    options = {"gives": "passes", "patches": 5}  # noqa: RUF012
