"""The main road, walked as a user does: run, show, fit, report, resume."""

import json
import os
import signal
import time

import jsonschema
import pytest

import edgebench
from edgebench.report.schemas import schema
from tests.walk.conftest import CLASSES

DOCUMENT = ("run", "--json")


def test_a_run_ends_with_tables_and_the_reports_path(measured):
    place, done = measured
    assert done.returncode == 0, done.stderr
    report = place.folder / "results" / "first" / "report.html"
    assert report.exists()
    assert str(report.relative_to(place.folder)) in done.stdout
    assert "0.25" in done.stdout and "int8" in done.stdout
    assert "DISCO, real time" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout + done.stderr


def test_every_session_is_on_disk_with_passes_predictions_and_golden(measured):
    place, _ = measured
    results = edgebench.load(place.folder / "results" / "first")
    assert (results.sessions["status"] == "ok").all()
    assert len(results.sessions) == 6
    steady = results.passes.query("phase == 'steady'")
    assert len(steady) == 2 * 3 * 2
    assert (steady["patches"] == 6).all()
    assert (steady["image_ns"] >= steady["infer_ns"]).all()
    stages = ["patchify_ns", "preprocess_ns", "infer_ns"]
    assert (steady[stages].sum(axis=1) <= steady["image_ns"]).all()
    counts = results.predictions.groupby(["trial", "set"], observed=True).size()
    assert sorted(counts.tolist()) == [10, 10, 18, 18]  # images once a trial, the scene every session
    images = results.predictions.dropna(subset=["image"])
    assert list(images["image"].unique()) == [f"{name}/{n}.png" for name in sorted(CLASSES) for n in (0, 1)]
    assert (images["image"].astype("str").str.partition("/")[0] == images["label_name"].astype("str")).all()
    # Telemetry runs beside every session, and is no meter.
    assert set(results.probes["probe"].astype(str)) == {"telemetry:1"}
    assert results.probes.groupby(["trial", "session"], observed=True).ngroups == 6
    for trial in results.experiment.trials:
        for record in results.session_records(trial.key):
            assert (record.clock["fit"]["n"] or 0) >= 16
            assert record.probe_reasons == {"": "no meter"}
    assert not results.warnings


def test_json_is_one_valid_document(measured):
    place, _ = measured
    done = place.run("show", "first", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("result"))
    assert len(document["trials"]) == 2
    trial = document["trials"][0]
    assert trial["status"] == "done"
    estimates = trial["estimates"]
    image_s, power = estimates["image_s"], estimates["power_mean_w"]
    assert image_s["low"] <= image_s["value"] <= image_s["high"]
    assert len(image_s["session_values"]) == 3
    assert power["value"] is None and "meter" in power["reason"]
    assert estimates["accuracy"]["n"] == 10
    verdicts = {(one["requirement"], one["verdict"]) for one in document["verdicts"]}
    assert ("latency", "pass") in verdicts
    assert any(word == "unknown" for _, word in verdicts)


def test_the_run_records_its_verdicts_and_the_list_of_results_shows_them(measured):
    place, _ = measured
    [row] = json.loads(place.run("results", "--json").stdout)["results"]
    judged = json.loads(place.run("fit", "latest", "--json").stdout)["verdicts"]
    assert (row["result"], row["latest"], row["measured"]) == ("first", True, row["trials"])
    assert sum(row["verdicts"]["disco-realtime"].values()) == len({verdict["trial"] for verdict in judged})
    run = json.loads((place.folder / "results" / "first" / "run.json").read_text())
    jsonschema.validate(run, schema("run"))
    assert run["verdicts"].keys() == {"disco-realtime"}


def test_trial_json_is_derived_and_valid(measured):
    place, _ = measured
    found = list((place.folder / "results" / "first" / "trials").glob("*/trial.json"))
    assert len(found) == 2
    for path in found:
        jsonschema.validate(json.loads(path.read_text()), schema("trial"))


def test_another_profile_needs_no_new_measurement(measured):
    place, _ = measured
    strict = place.folder / "strict.toml"
    strict.write_text(
        'schema_version = 1\nname = "strict"\ntitle = "never"\n[[requirements]]\nname = "small"\n'
        'quantity = "artifact_bytes"\nstatistic = "recorded"\nlimit = 1\nunit = "bytes"\n'
    )
    done = place.run("fit", "latest", "--profile", "strict.toml", "--json")
    assert done.returncode == 3, done.stderr
    verdicts = json.loads(done.stdout)["verdicts"]
    assert {one["verdict"] for one in verdicts} == {"fail"}
    assert all(one["margin"] < 0 for one in verdicts)
    assert place.run("fit", "latest", "--profile", "disco-realtime").returncode == 0
    assert place.run("fit", "latest", "--profile", "disco-realtime", "--strict").returncode == 4


@pytest.mark.parametrize("name", ["out.html", "out.md", "out.csv", "out.json"])
def test_reports_are_written_where_asked(measured, name):
    place, _ = measured
    done = place.run("report", "latest", "-o", name)
    assert done.returncode == 0, done.stderr
    assert "0.25" in (place.folder / name).read_text()


def test_a_finished_run_is_not_measured_again_and_not_overwritten(measured):
    place, _ = measured
    words = place.toy("--depth", "0.25", "--precision", "fp32", "--precision", "int8", "--name", "first")
    folder = place.folder / "results" / "first"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("sessions/*/*")}
    again = place.run(*words)
    assert again.returncode == 1
    assert "--resume" in again.stderr
    resumed = place.run(*words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("sessions/*/*")}


def test_a_dry_run_prints_trials_and_sessions_and_measures_nothing(place):
    done = place.run(*place.toy("--dry-run"))
    assert done.returncode == 0, done.stderr
    assert "9 trials" in done.stdout
    assert not (place.folder / "results").exists()
    document = json.loads(place.run(*place.toy("--dry-run", "--json")).stdout)
    assert len(document["trials"]) == 9
    # Nothing of it was measured here, and no time is made up.
    assert document["plan"]["estimated_s"] is None


def test_json_of_a_run_is_alone_on_stdout(place):
    done = place.run(*place.toy("--depth", "0.25", "--precision", "int8", "--json", "--quiet"))
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["trials"]) == 1


def session_folders(place, name):
    return sorted((place.folder / "results" / name / "trials").glob("*/sessions/[0-9]*"))


def wait_for_sessions(place, process, name, count):
    deadline = time.monotonic() + 60
    while len(session_folders(place, name)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


SLOW = ("--set", "delay_us=20000", "--depth", "0.25", "--precision", "int8", "--precision", "fp32")


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_repeats_at_most_the_session_in_hand(place):
    words = place.toy("--name", "killed", *SLOW)
    process = place.start(*words)
    wait_for_sessions(place, process, "killed", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {path: path.stat().st_mtime_ns for path in session_folders(place, "killed")}
    resumed = place.run(*words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    after = session_folders(place, "killed")
    assert len(after) == 6
    assert kept == {path: path.stat().st_mtime_ns for path in after if path in kept}
    assert (edgebench.load(place.folder / "results" / "killed").sessions["status"] == "ok").all()


def test_ctrl_c_keeps_what_was_measured_and_says_how_to_go_on(place):
    words = place.toy("--name", "stopped", *SLOW)
    process = place.start(*words)
    wait_for_sessions(place, process, "stopped", 1)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "--resume" in error
    sessions = edgebench.load(place.folder / "results" / "stopped").sessions
    assert (sessions["status"] == "ok").any()
    assert set(sessions["status"]) <= {"ok", "interrupted"}
    resumed = place.run(*words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    sessions = edgebench.load(place.folder / "results" / "stopped").sessions
    assert (sessions["status"] == "ok").sum() == 6


def test_a_second_ctrl_c_during_the_report_says_how_to_go_on_too(place):
    process = place.start(*place.toy("--name", "twice", *SLOW))
    wait_for_sessions(place, process, "twice", 1)
    os.kill(process.pid, signal.SIGINT)
    run = place.folder / "results" / "twice" / "run.json"
    while process.poll() is None and json.loads(run.read_text())["ended"] is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "go on with the same command and --resume" in error


def test_a_trial_that_fails_is_reported_and_the_others_go_on(place):
    done = place.run(
        *place.toy("--name", "faulty", "--depth", "0.25", "--precision", "int8", "--set", "fault=abort",
                   "--set", "fault_stage=measure")
    )  # fmt: skip
    assert done.returncode == 5, done.stderr
    sessions = edgebench.load(place.folder / "results" / "faulty").sessions
    assert set(sessions["status"]) == {"crash"}
    assert "SIGABRT" in place.run("show", "faulty").stdout
