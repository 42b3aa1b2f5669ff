"""Scenarios through the real agent, worker, store and fit: the same figures on every run."""

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import edgebench
from edgebench.agent import lock
from edgebench.errors import UsageError
from edgebench.judge.comparisons.comparison import compare_results
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.trials import trials_of
from edgebench.report.comparison import as_text
from edgebench.report.page import first_screen
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.renderers.terminal import make_console, print_first_screen, print_sections
from edgebench.report.sections import details
from edgebench.results.load import load
from tests.backends.replaying import figures, replay, run, scenario
from tests.link.old_python import python36

pytestmark = pytest.mark.slow

PROBED = """
power = { idle_w = 2, active_w = 4, noise_w = 0.1 }
telemetry = { rate_hz = 20, cpu_clock_mhz = 1500 }
"""


@pytest.fixture(scope="module")
def played(session_cache, tmp_path_factory):
    """One scenario with probes and a crash, twice over."""
    folder = tmp_path_factory.mktemp("played")
    source = scenario(folder, PROBED + 'crashes = [{ session = 1, kind = "segfault" }]')
    flags: dict[str, Any] = {"meter": ["replay"], "passes": 8}
    return [replay(session_cache, folder / name, source, **flags) for name in ("one", "other")]


def test_two_runs_give_the_same_to_the_last_bit(played):
    first, second = played
    for name in ("passes", "batches", "probes", "predictions"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name), check_exact=True)
    assert figures(first) == figures(second)
    assert first.experiment.trials[0].key == second.experiment.trials[0].key


def test_it_says_of_itself_that_nothing_was_measured(played):
    [trial] = trials_of(played[0])
    [warning] = [text for text in trial.warnings if "replay" in text]
    assert warning.startswith("replay: no figure was measured (the scenario made was played)")
    record = played[0].session_records(trial.key)[0]
    assert record.runtime["name"] == "replay" and len(record.runtime["source_sha256"]) == 64
    assert any("plays the scenario" in line["message"] for line in played[0].experiment.preflight)


def test_reports_and_comparisons_say_so_once(played):
    folders = [each.path for each in played]
    judged = judge_folder(folders[0], shipped_profiles()[:1])
    screen, file = first_screen(judged), io.StringIO()
    print_first_screen(make_console(file), screen, details=True)
    print_sections(make_console(file), details(judged, [], [], screen.matrix))
    comparison = compare_results([load(folder) for folder in folders])
    pages = [export_markdown(judged), render(judged), file.getvalue(), as_text(comparison, "md")]
    for page in pages:
        assert " ".join(page.split()).count("replay: no figure was measured") == 1


def test_what_the_script_does_not_say_is_absent_and_never_this_machines(played):
    record = played[0].session_records(played[0].experiment.trials[0].key)[0]
    assert record.cold["import_s"] is None and record.cold["load_s"] == 0.2
    assert record.cold["first_inference_s"] == 0.02
    assert record.memory == {"after_load_bytes": 50_000_000, "peak_bytes": 60_000_000}
    assert record.clock == {} and record.harness_s is None
    assert set(played[0].probes["probe"].astype(str)) == {"replay:", "replay:telemetry"}


def test_figures_are_those_of_the_scenario(played):
    [trial] = trials_of(played[0])
    assert trial.estimate("image_s").value == pytest.approx(0.3, rel=0.03)
    assert trial.estimate("accuracy").notes[0] == "18 of 20"
    assert trial.estimate("power_mean_w").value == pytest.approx(4, abs=0.05)
    assert trial.estimate("power_idle_w").value == pytest.approx(2, abs=0.05)
    passes = played[0].passes
    assert (passes["end_ns"] - passes["start_ns"] == passes["image_ns"]).all()


def test_samples_lie_in_the_session_and_cover_its_windows(played):
    results = played[0]
    for record in results.session_records(results.experiment.trials[0].key):
        mine = results.probes[results.probes["session"] == record.n]
        idle, steady = record.windows_ns["idle"], record.windows_ns["steady"]
        last = results.passes.loc[results.passes["session"] == record.n, "end_ns"].max()
        if idle_after := record.windows_ns["idle_after"]:
            assert (idle_after[0] - last, idle_after[1] - idle_after[0]) == (1_020_000_000, 2_000_000_000)
            last = idle_after[1]
        assert mine["t_ns"].min() == record.windows_ns["settling"][0]  # 1 s and a period before
        assert idle[0] - mine["t_ns"].min() == 1_020_000_000 and idle[1] - idle[0] == 2_000_000_000
        assert mine["t_ns"].max() <= last
        if steady is None:
            continue
        watts = mine[(mine["channel"] == "board") & (mine["t_ns"] >= steady[0])]
        assert np.diff(watts["t_ns"]).tolist() == [20_000_000] * (len(watts) - 1)
        assert last - watts["t_ns"].max() < 20_000_000


def test_the_worker_of_a_crash_truly_dies_and_the_session_is_repeated(played):
    records = played[0].session_records(played[0].experiment.trials[0].key)
    assert [record.status for record in records] == ["ok", "crash", "ok", "ok"]
    assert records[1].failure
    assert records[1].failure.signal == "SIGSEGV" and records[1].failure.stage == "measure"
    assert len(played[0].passes.query("session == 1")) == 2  # the first and the warm-up came before


def test_a_resumed_run_plays_the_very_sessions_that_were_missing(
    session_cache, tmp_path, played, monkeypatch
):
    from edgebench.run.measuring.session import LocalDevice

    source = scenario(tmp_path, PROBED + 'crashes = [{ session = 1, kind = "segfault" }]')
    flags: dict[str, Any] = {"meter": ["replay"], "passes": 8}
    measured = LocalDevice.measure
    left = [2]

    def interrupted(*arguments):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return measured(*arguments)

    monkeypatch.setattr(LocalDevice, "measure", interrupted)
    folder, outcome = run(session_cache, tmp_path, source, **flags)
    assert outcome.interrupted and outcome.sessions == 2
    monkeypatch.setattr(LocalDevice, "measure", measured)
    again, _ = run(session_cache, tmp_path, source, resume=True, **flags)
    assert again == folder
    assert figures(edgebench.load(folder)) == figures(played[0])


@pytest.mark.parametrize(
    ("stage", "kind", "status", "signal"),
    [
        ("load", "abort", "crash", "SIGABRT"),
        ("load", "raise", "load_failed", None),
        ("golden", "exit", "crash", None),
        ("golden", "golden_mismatch", "golden_mismatch", None),
        ("scene", "segfault", "crash", "SIGSEGV"),
        ("measure", "out_of_memory", "out_of_memory", None),
        ("measure", "raise", "error", None),
        ("predict", "abort", "crash", "SIGABRT"),
    ],
)
def test_a_crash_in_every_stage(session_cache, tmp_path, stage, kind, status, signal):
    source = scenario(tmp_path, f'crashes = [{{ session = 0, stage = "{stage}", kind = "{kind}" }}]')
    results = replay(session_cache, tmp_path, source, sessions=1, passes=1, retries=0, telemetry=False)
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.status == status, record.failure
    assert record.failure
    assert (record.failure.stage, record.failure.signal) == (stage, signal)


def test_a_hang_is_ended_by_the_stages_longest_time(session_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_STAGE_TIMEOUT_S", "1")
    source = scenario(tmp_path, 'crashes = [{ session = 0, stage = "measure", kind = "hang", pass = 0 }]')
    results = replay(session_cache, tmp_path, source, sessions=1, passes=1, retries=0, telemetry=False)
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.status == "timeout"


def test_variants_are_those_of_the_source(session_cache, tmp_path):
    source = scenario(tmp_path, '\n[variants."mobilenet_v1-0.5-fp32"]\nimage_s = 0.7\n')
    results = replay(session_cache, tmp_path, source, precision=["fp32"], sessions=1, passes=1)
    assert [trial.variant for trial in results.experiment.trials] == ["mobilenet_v1-0.5-fp32"]
    with pytest.raises(UsageError) as caught:
        run(session_cache, tmp_path, source, depth=[1.0])
    assert "mobilenet_v1-0.25-int8, mobilenet_v1-0.5-fp32" in caught.value.fix
    with pytest.raises(UsageError, match=r"0\.5 at int8"):
        run(session_cache, tmp_path, source, depth=[0.5], precision=["int8"])


def test_the_boards_oldest_python_plays_the_same(session_cache, tmp_path):
    old, why = python36()
    if old is None:
        pytest.skip(why)
    source = scenario(tmp_path, PROBED)
    flags: dict[str, Any] = {"meter": ["replay"], "sessions": 1}
    here = replay(session_cache, tmp_path, source, name="here", **flags)
    there = replay(session_cache, tmp_path, source, name="there", python=old, **flags)
    assert there.session_records(there.experiment.trials[0].key)[0].device["python"].startswith("3.6.")
    for name in ("passes", "batches", "probes", "predictions"):
        new_rows, old_rows = (getattr(results, name).drop(columns="trial") for results in (here, there))
        pd.testing.assert_frame_equal(new_rows, old_rows, check_exact=True)


def test_another_seed_is_another_trial_and_another_noise(session_cache, tmp_path):
    source = scenario(tmp_path)
    first, second = (
        replay(session_cache, tmp_path / seed, source, f"seed={seed}", sessions=1, telemetry=False)
        for seed in ("1", "2")
    )
    assert first.experiment.trials[0].key != second.experiment.trials[0].key
    assert set(first.passes["image_ns"]).isdisjoint(second.passes["image_ns"])


def test_a_paced_replay_waits_on_its_own_clock(session_cache, tmp_path):
    source = scenario(tmp_path, "power = { idle_w = 1, active_w = 3 }")
    results = replay(
        session_cache, tmp_path, source, sessions=1, passes=20, period=50.0, meter=["replay"], images=None
    )
    steady = results.passes.query("phase == 'steady'")
    assert steady["due_ns"].diff().dropna().unique().tolist() == [50_000_000_000]
    assert (steady["lateness_ns"] < 0).all()
    [trial] = trials_of(results)
    assert trial.estimate("deadline_misses").value == 0
    # A third of a second of work in fifty.
    assert trial.estimate("power_mean_w").value == pytest.approx(1 + 2 * 0.3 / 50, abs=0.02)


def test_listed_sessions_are_played_as_they_are_listed(session_cache, tmp_path):
    listed = [[0.3, 0.301, 0.302], [0.31, 0.312, 0.311], [0.2, 0.25, 0.225]]
    source = tmp_path / "listed.toml"
    source.write_text(
        'schema_version = 1\nname = "listed"\n[variants."mobilenet_v1-0.25-int8"]\n'
        f"image_s = {json.dumps(listed)}\n"
    )
    results = replay(session_cache, tmp_path, str(source), telemetry=False)
    steady = results.passes.query("phase == 'steady'")
    assert (steady["image_ns"].to_numpy().reshape(3, 3) == np.array(listed) * 1e9).all()
    with pytest.raises(UsageError) as caught:
        run(session_cache, tmp_path, str(source), passes=4)
    assert "--passes 3" in caught.value.fix
    with pytest.raises(UsageError) as caught:
        run(session_cache, tmp_path, str(source), sessions=4)
    assert "--sessions 3" in caught.value.fix


def test_a_given_scene_has_its_own_number_of_patches(session_cache, tmp_path):
    np.save(tmp_path / "scene.npy", np.zeros((224, 3 * 224, 3), np.uint8))
    results = replay(
        session_cache,
        tmp_path,
        scenario(tmp_path),
        scene=tmp_path / "scene.npy",
        sessions=1,
        batch=[1, 2],
        telemetry=False,
    )
    steady = results.passes.query("phase == 'steady'")
    assert set(steady["patches"]) == {3}
    assert len(results.experiment.trials) == 2
    assert (steady["image_ns"] / 3e8 - 1).abs().max() < 0.05
    [single, double] = [trial.key for trial in results.experiment.trials]
    batches = results.batches.query("phase == 'steady'").groupby("trial", observed=True).size()
    assert (batches[single], batches[double]) == (9, 6)


def test_a_replay_neither_waits_for_the_machine_nor_holds_it(session_cache, tmp_path, monkeypatch):
    place = tmp_path / "machine"
    place.mkdir()
    monkeypatch.setenv(lock.ENVIRONMENT, str(place))
    monkeypatch.setenv("EDGEBENCH_LOCK_WAIT_S", "0.5")
    measuring = lock.BoardLock(str(tmp_path / "note"), str(place))
    assert measuring.take({}) is None
    try:
        played = replay(session_cache, tmp_path / "beside", scenario(tmp_path), passes=2, sessions=1)
    finally:
        measuring.release()
    assert [record.status for record in played.session_records(played.experiment.trials[0].key)] == ["ok"]
