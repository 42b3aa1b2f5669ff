"""Stored results replayed: the same passes, batches, samples, predictions, failures and figures."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import edgebench
from edgebench.errors import StoredResultError, UsageError
from edgebench.fit.summarise import summarise
from edgebench.measure.campaign import Campaign
from edgebench.measure.progress import SilentObserver
from edgebench.plan.config import resolve
from edgebench.plan.planner import build
from tests.backends.replaying import figures, replay, run, scenario, without

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parents[1] / "store" / "version1"
MEASURED = {"passes", "batches", "predictions"}


def assert_same_tables(source, replayed, names=MEASURED):
    for name in names:
        expected, actual = (
            getattr(results, name).drop(columns="trial").reset_index(drop=True)
            for results in (source, replayed)
        )
        if name == "probes":  # which channel comes first is the chunks' affair
            expected, actual = (
                rows.sort_values(["session", "channel", "t_ns"], ignore_index=True)
                for rows in (expected, actual)
            )
        pd.testing.assert_frame_equal(expected, actual, check_exact=True, check_categorical=False)


def records(results):
    [trial] = results.experiment.trials
    return results.session_records(trial.key)


def test_a_replay_of_a_replay_is_the_first_one_again(session_cache, tmp_path):
    probed = """
power = { idle_w = 2, active_w = 4, noise_w = 0.1 }
telemetry = { rate_hz = 20, cpu_clock_mhz = 1500 }
heat = { throttle_flags = 4, clock_drop_percent = 20 }
crashes = [{ session = 1, kind = "abort" }]
"""
    flags: dict[str, Any] = {"meter": ["replay"], "passes": 8}
    source = replay(session_cache, tmp_path, scenario(tmp_path, probed), name="source", **flags)
    again = replay(session_cache, tmp_path, str(source.path), name="again", **flags)
    assert_same_tables(source, again, MEASURED | {"probes"})
    windows, replayed = ([record.windows_ns for record in records(results)] for results in (source, again))
    assert windows == replayed and windows[0]["idle_after"] is not None
    [first], [second] = summarise(source), summarise(again)
    # What ended a session is told in the words of both times.
    assert without(first, ["failures"]) == without(second, ["failures"])
    assert [text.split()[:5] for text in first.failures] == [text.split()[:5] for text in second.failures]
    assert [text for text in first.warnings if "replayed" not in text] == [
        text for text in second.warnings if "replayed" not in text
    ]
    assert any("throttled" in text for text in second.warnings)
    assert any("replayed from source: no figure was measured here" in text for text in second.warnings)


def test_what_was_measured_on_a_device_is_replayed(session_cache, tmp_path):
    source = edgebench.load(KEPT / "measured")
    again = replay(session_cache, tmp_path, str(KEPT / "measured"), meter=["replay"])
    assert_same_tables(source, again)
    # Its name, its body, the meter's name and the words of failures are the replay's own, or nobody's.
    ours = {"target", "failures", "cold", "cold_values", "power", "mass_g", "size_mm", "memory_bytes"}
    for expected, actual in zip(summarise(source), summarise(again), strict=True):
        assert without(expected, ours) == without(actual, ours)
        assert expected.memory_bytes == actual.memory_bytes
        assert expected.power and actual.power
        assert [replace(power, meter="replay:") for power in expected.power] == list(actual.power)
        known = {name: value for name, value in expected.cold.items() if name != "import_s"}
        assert {name: actual.cold[name] for name in known} == known
        assert expected.memory_bytes_values == actual.memory_bytes_values
    statuses = [
        [record.status for record in results.session_records(trial.key)]
        for results in (source, again)
        for trial in results.experiment.trials
    ]
    assert statuses[:2] == statuses[2:]


@pytest.mark.parametrize(
    ("name", "target", "flags"),
    [
        ("paced", None, {"sessions": 2, "period": 0.2}),
        ("sustained", "second", {"sessions": 1, "sustained": 0.012, "batch": [4]}),
    ],
)
def test_pace_and_duration_are_those_of_the_source(session_cache, tmp_path, name, target, flags):
    source = edgebench.load(KEPT / name)
    chosen = [f"target={target}"] if target else []
    again = replay(session_cache, tmp_path, str(KEPT / name), *chosen, telemetry=False, **flags)
    [key] = [trial.key for trial in source.experiment.trials if target in (None, trial.target)]
    sessions = [record.n for record in source.session_records(key) if record.status == "ok"]
    for table in ("passes", "batches"):
        rows = getattr(source, table)
        mine = rows[(rows["trial"] == key) & rows["session"].isin(sessions)]
        pd.testing.assert_frame_equal(
            mine.drop(columns="trial").reset_index(drop=True),
            getattr(again, table).drop(columns="trial").reset_index(drop=True),
            check_exact=True,
            check_dtype=False,
        )


def test_batches_that_overlapped_overlap_again(session_cache, tmp_path):
    # The toy with a queue, really measured, on a replay's small pictures.
    stand_in = build(
        resolve({"device": ["replay"], "set": [f"source={scenario(tmp_path)}"]}).config, session_cache, print
    )
    resolved = resolve(
        {
            "device": ["toy"],
            "set": ["queue=3", "delay_us=300"],
            "depth": [0.25],
            "precision": ["int8"],
            "scene": stand_in.plan.scene.path,
            "images": _images(tmp_path),
            "sessions": 1,
            "passes": 2,
            "output_dir": tmp_path,
            "name": "queued",
        }
    )
    built = build(resolved.config, session_cache, lambda text: None)
    folder, _ = Campaign(
        built, resolved, (), ("edgebench",), False, session_cache, SilentObserver()
    ).carry_out()
    source = edgebench.load(folder)
    steady = source.batches.query("phase == 'steady'")
    assert (steady["patchify_start_ns"].to_numpy()[1:] < steady["infer_end_ns"].to_numpy()[:-1]).any()
    again = replay(session_cache, tmp_path, str(folder), name="again", sessions=1, passes=2)
    assert_same_tables(source, again)
    [measured], [replayed] = summarise(source), summarise(again)
    assert measured.request_ms is not None and measured.in_flight is not None
    assert measured.in_flight > 1
    assert (replayed.request_ms, replayed.in_flight) == (measured.request_ms, measured.in_flight)


def _images(folder):
    (folder / "images" / "ice").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(folder / "images" / "ice" / "one.png")
    return folder / "images"


@pytest.mark.parametrize(
    ("target", "status", "stage"),
    [
        ("aborts", "crash", "measure"),
        ("leaves", "crash", "predict"),
        ("hangs", "timeout", "measure"),
        ("babbles", "protocol_error", "measure"),
        ("raises", "error", "measure"),
        ("fills-memory", "out_of_memory", "measure"),
        ("does-not-load", "load_failed", "load"),
        ("computes-something-else", "golden_mismatch", "golden"),
        ("gone", "lost_connection", "load"),
    ],
)
def test_each_way_of_ending_ends_so_again(session_cache, tmp_path, target, status, stage):
    source = edgebench.load(KEPT / "failures")
    replayed = replay(
        session_cache,
        tmp_path,
        str(KEPT / "failures"),
        f"target={target}",
        sessions=1,
        passes=2,
        retries=0,
        telemetry=False,
    )
    [trial] = replayed.experiment.trials
    [record] = replayed.session_records(trial.key)
    assert record.failure
    assert (record.status, record.failure.stage) == (status, stage)
    [key] = [recorded.key for recorded in source.experiment.trials if recorded.target == target]
    [was] = source.session_records(key)
    assert was.failure
    if was.failure.signal == "SIGABRT":
        assert record.failure.signal == "SIGABRT"
    mine = source.passes[source.passes["trial"] == key]
    assert mine["image_ns"].tolist() == replayed.passes["image_ns"].tolist()


def test_what_was_unsupported_is_so_again(session_cache, tmp_path):
    replayed = replay(
        session_cache, tmp_path, str(KEPT / "failures"), "target=too-small", sessions=1, passes=2
    )
    [trial] = replayed.experiment.trials
    assert trial.status == "unsupported" and trial.reason


@pytest.mark.parametrize(
    ("name", "more", "flags", "message", "fix"),
    [
        ("sustained", [], {}, "holds 2 targets", "target=NAME: plain, second"),
        ("sustained", ["target=third"], {}, "no target 'third'", "plain, second"),
        ("measured", [], {"sessions": 4}, "has 3 sessions", "--sessions 3"),
        ("measured", [], {"passes": 4}, "has 3 passes", "--passes 3"),
        ("measured", [], {"batch": [2]}, "at batch 2", "--batch 1"),
        ("measured", [], {"period": 1.0}, "no period", "leave --period out"),
        ("paced", [], {}, "another period", "--period 0.2"),
        ("measured", ["seed=3"], {}, "seed belongs to a scenario", "leave it out"),
        ("measured", [], {"depth": [0.5]}, "no variant 0.5", "mobilenet_v1-0.25-fp32"),
    ],
)
def test_what_the_source_does_not_have_is_said(session_cache, tmp_path, name, more, flags, message, fix):
    with pytest.raises(UsageError) as caught:
        run(session_cache, tmp_path, str(KEPT / name), *more, **flags)
    assert message in caught.value.what
    assert fix in caught.value.fix


def test_another_scene_or_other_images_are_refused(session_cache, tmp_path):
    np.save(tmp_path / "scene.npy", np.zeros((224, 224, 3), np.uint8))
    with pytest.raises(UsageError, match="2 x 3 patches"):
        run(session_cache, tmp_path, str(KEPT / "measured"), scene=tmp_path / "scene.npy")
    with pytest.raises(UsageError, match=r"15 images.* 1"):
        run(session_cache, tmp_path, str(KEPT / "measured"), images=_images(tmp_path))


@pytest.mark.parametrize("damage", ["truncated table", "no result", "html", "nothing"])
def test_a_damaged_source_is_a_clear_error(session_cache, tmp_path, damage):
    folder = tmp_path / "source"
    if damage != "nothing":
        shutil.copytree(KEPT / "measured", folder)
    if damage == "truncated table":
        for path in folder.glob("trials/*/sessions/000/batches.parquet"):
            path.write_bytes(path.read_bytes()[:100])
    elif damage == "no result":
        (folder / "experiment.json").unlink()
    elif damage == "html":
        (folder / "experiment.json").write_text("<html>")
    with pytest.raises((UsageError, StoredResultError)) as caught:
        run(session_cache, tmp_path, str(folder))
    assert caught.value.fix


def test_figures_are_equal_over_two_replays_of_a_result(session_cache, tmp_path):
    first, second = (
        replay(
            session_cache, tmp_path, str(KEPT / "measured"), name=name, telemetry=False, precision=["int8"]
        )
        for name in ("one", "other")
    )
    assert figures(first) == figures(second)
