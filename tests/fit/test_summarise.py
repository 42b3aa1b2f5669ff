import json
from dataclasses import fields

import numpy as np
import pytest

import edgebench
from edgebench.judge.judged import judge_folder
from edgebench.judge.profile import load_profile
from edgebench.judge.summarise import summarise, trial_json
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.stored import SceneRecord
from edgebench.report.words import labels
from edgebench.results.listing import status_of
from tests.synthetic_results import CLASSES, NINE, QUARTER, key_of, made_experiment, write_record

FP32, FP16, INT8 = QUARTER


@pytest.fixture(scope="session")
def experiment_folder(tmp_path_factory):
    return made_experiment(
        tmp_path_factory.mktemp("experiment"),
        power=True,
        rate_hz=500.0,
        mass_g=140.0,
        size_mm=(10.0, 60.0, 80.0),
    )


@pytest.fixture(scope="session")
def summaries(experiment_folder):
    return {summary.variant: summary for summary in summarise(edgebench.load(experiment_folder))}


def _summarise(folder, **arguments):
    return {
        summary.variant: summary
        for summary in summarise(edgebench.load(made_experiment(folder, **arguments)))
    }


def test_one_summary_a_trial_in_the_plans_order(tmp_path):
    by_variant = _summarise(tmp_path, variants=NINE, sessions=1, passes=1, images=5)
    assert list(by_variant) == list(NINE)
    assert {summary.status for summary in by_variant.values()} == {"done"}


def test_latency_is_that_of_the_steady_passes_by_session(experiment_folder, summaries):
    passes = edgebench.load(experiment_folder).passes
    for summary in summaries.values():
        mine = passes[(passes["trial"] == summary.key) & (passes["phase"] == "steady")]
        medians = mine.groupby("session")["image_ns"].median() / 1e9
        assert summary.image_s.median == pytest.approx(medians.mean())
        assert summary.image_s.low < summary.image_s.median < summary.image_s.high
        assert (summary.image_s.sessions, summary.image_s.n) == (3, 9)
        assert np.ravel(summary.image_s_values) == pytest.approx(mine["image_ns"].to_numpy() / 1e9)
        assert summary.infer_s.median < summary.image_s.median


def test_large_tables_are_read_trial_by_trial_with_the_same_figures(
    experiment_folder, summaries, monkeypatch
):
    monkeypatch.setattr("edgebench.results.load.MOST_KEPT", 0)
    by_trial = summarise(edgebench.load(experiment_folder))
    assert by_trial == list(summaries.values())
    assert by_trial[0].primary_rail is not None


def test_stages_are_milliseconds_a_patch(summaries):
    stages = summaries[FP32].stages_ms
    assert list(stages) == ["patchify", "preprocess", "infer"]
    a_patch_ms = summaries[FP32].image_s.median * 1000 / 20
    assert stages["infer"] == pytest.approx(0.86 * a_patch_ms, rel=0.02)
    assert sum(stages.values()) == pytest.approx(0.98 * a_patch_ms, rel=0.02)


def test_cold_figures_and_memory_are_medians(summaries):
    summary = summaries[FP32]
    assert summary.cold["load_s"] == 0.012
    assert set(summary.cold) == {"import_s", "load_s", "first_inference_s", "first_pass_s"}
    assert summary.load_s_values == (0.012,) * 3
    assert summary.start_s_values == pytest.approx((0.4, 0.41, 0.42))
    assert summary.start_s.median == pytest.approx(0.41)
    assert summary.start_s.low < 0.4 and summary.start_s.high > 0.42
    assert summary.memory_bytes == 131_000_001
    assert summary.artifact_bytes == 1_000_000
    assert summary.workers == ({"worker": 0},)


def test_accuracy_keeps_k_n_and_the_confusion(experiment_folder, summaries):
    predictions = edgebench.load(experiment_folder).predictions
    for summary in summaries.values():
        mine = predictions[(predictions["trial"] == summary.key) & (predictions["set"] == "images")]
        right = int((mine["label"] == mine["predicted"]).sum())
        assert (summary.accuracy.k, summary.accuracy.n) == (right, 40)
        confusion = np.array(summary.accuracy.confusion)
        assert confusion.sum() == 40 and np.trace(confusion) == right
        assert summary.accuracy.class_names == CLASSES
        assert summary.accuracy.overlapping
        assert summary.accuracy_reason == ""
        assert summary.scene_accuracy.n == 20 and not summary.scene_accuracy.overlapping


def test_agreement_is_with_the_fp32_variant(experiment_folder, summaries):
    predictions = edgebench.load(experiment_folder).predictions
    images = predictions[predictions["set"] == "images"]
    by_variant = {
        name: images[images["trial"] == summary.key].set_index("index") for name, summary in summaries.items()
    }
    assert summaries[FP32].agreement is None
    agreement = summaries[INT8].agreement
    same = by_variant[INT8]["predicted"] == by_variant[FP32]["predicted"]
    assert (agreement.k, agreement.n) == (int(same.sum()), 40)
    difference = summaries[INT8].accuracy.k - summaries[FP32].accuracy.k
    assert agreement.only_this_right - agreement.only_fp32_right == difference
    assert 0 < agreement.mcnemar_p <= 1


def test_without_an_fp32_variant_there_is_no_agreement(tmp_path):
    assert _summarise(tmp_path, variants=[INT8], sessions=1)[INT8].agreement is None


def test_power_over_the_steady_windows(summaries):
    (figure,) = summaries[FP32].power
    assert (figure.meter, figure.channel, figure.scope, figure.primary) == (
        "rapl:package",
        "package",
        "chip",
        True,
    )
    assert figure.mean_w == pytest.approx(3.2, rel=0.01)
    assert figure.idle_w == pytest.approx(1.5, rel=0.01)
    assert figure.peak_w > figure.mean_w
    assert figure.energy_j == pytest.approx(figure.mean_w * summaries[FP32].image_s.median, rel=0.02)
    assert figure.net_energy_j == pytest.approx(1.7 * summaries[FP32].image_s.median, rel=0.03)
    assert figure.reason == "" and summaries[FP32].power_reason == ""
    assert len(figure.mean_w_sessions) == 3


def test_a_window_too_short_for_energy_says_so(tmp_path):
    (figure,) = _summarise(tmp_path, variants=[INT8], power=True, rate_hz=50.0)[INT8].power
    assert figure.mean_w == pytest.approx(3.2, rel=0.02)
    assert (figure.energy_j, figure.net_energy_j) == (None, None)
    assert figure.reason.startswith("window too short")


def test_no_meter_is_a_reason_and_no_figure(tmp_path):
    summary = _summarise(tmp_path, variants=[INT8], sessions=1)[INT8]
    assert summary.power is None
    assert summary.power_reason == "no meter"


def test_what_did_not_run_well(tmp_path):
    by_variant = _summarise(
        tmp_path,
        variants=NINE[:5],
        crashed_once=[FP32],
        failed=[FP16],
        not_run=[INT8],
        unsupported=[NINE[3]],
        power=True,
    )
    assert [summary.status for summary in by_variant.values()] == [
        "partial",
        "failed",
        "not_run",
        "unsupported",
        "done",
    ]
    partial, failed, not_run, unsupported, done = by_variant.values()
    assert partial.reason == "2 of 3 planned sessions are there, 1 failed"
    assert partial.image_s.sessions == 2 and partial.image_s.low is None
    assert partial.failures == ("session 001: crash in load: the worker ended by SIGSEGV",)
    assert any("2 of the 3 sessions" in warning for warning in partial.warnings)
    assert failed.image_s is None and failed.accuracy is None and failed.power is None
    assert "3 failed; the last: the worker ended by SIGSEGV" in failed.reason
    assert failed.accuracy_reason == failed.power_reason == failed.reason
    assert len(failed.failures) == 3
    assert not_run.reason == "no session has run" == not_run.power_reason
    assert unsupported.reason == "it needs 12 MB and the device has 8 MB"
    assert unsupported.artifact_bytes is None
    assert done.reason == "" and done.failures == ()
    # Predictions of a crashed fp32 variant would be missing; those of its good sessions are enough.
    assert partial.accuracy is not None
    counts = [(trial.failed_sessions.k, trial.failed_sessions.n) for trial in (partial, failed, done)]
    assert counts == [(1, 3), (3, 3), (0, 3)]
    assert not_run.failed_sessions is None and unsupported.failed_sessions is None


def test_nothing_at_all_was_run(tmp_path):
    by_variant = _summarise(tmp_path, not_run=QUARTER)
    assert {summary.status for summary in by_variant.values()} == {"not_run"}
    assert all(summary.image_s is None and summary.stages_ms == {} for summary in by_variant.values())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"images": 0}, "no images were given"),
        ({"labelled": False}, "the images are not labelled"),
        (
            {"image_classes": ("daisy", "rose")},
            "the images' classes (daisy, rose) are not the artifact's (water, ice, vegetation, bare, cloud)",
        ),
    ],
)
def test_accuracy_is_absent_with_the_reason(arguments, reason, tmp_path):
    summary = _summarise(tmp_path, variants=[INT8, FP32], sessions=1, **arguments)[INT8]
    assert summary.accuracy is None
    assert summary.accuracy_reason == reason
    if arguments.get("images") == 0:
        assert summary.agreement is None
    else:
        # Whether two variants agree needs no labels; who is right does.
        assert summary.agreement.n == 40 and summary.agreement.mcnemar_p is None


def test_a_summary_is_plain_data(summaries):
    for summary in summaries.values():
        record = json.loads(json.dumps(trial_json(summary), allow_nan=False))
        assert record["schema_version"] == 3
        assert set(record) == {"schema_version", "warnings", "said"} | (
            {field.name for field in fields(TrialSummary)}
            - {"cautions", "request_ms_values", "cold_values", "power_curves", "figures_of_values"}
            - {"interfered", "undisturbed"}
        )
        assert record["warnings"] == [caution.sentence() for caution in summary.cautions]


def test_hostile_text_is_only_text(tmp_path):
    for summary in _summarise(
        tmp_path, variants=QUARTER[:2], sessions=1, hostile=True, failed=[FP16]
    ).values():
        json.dumps(trial_json(summary), allow_nan=False)
        assert summary.warnings or summary.failures


def test_a_folder_is_judged_by_its_own_profiles_or_others(tmp_path):
    arctic = load_profile("disco-arctic")
    folder = made_experiment(
        tmp_path,
        variants=[FP32, INT8],
        profiles=[arctic.as_record()],
        mass_g=200.0,
        size_mm=(10.0, 60.0, 80.0),
    )
    own = judge_folder(folder)
    assert own.profiles == (arctic,)
    assert [figures.verdict for figures in own.verdicts] == ["pass", "unknown", "fail", "pass"] * 2
    assert judge_folder(folder, [load_profile("disco-realtime")]).verdicts[0].profile == "disco-realtime"


def with_trial(path, **changes):
    """The experiment with its first trial changed, as a run of another model records it."""
    file = path / "experiment.json"
    record = json.loads(file.read_text())
    record["trials"][0] |= changes
    write_record(file, record)
    return summarise(edgebench.load(path))[0]


def test_a_trial_may_have_a_scene_of_its_own(tmp_path):
    path = made_experiment(tmp_path)
    scene = json.loads((path / "experiment.json").read_text())["scene"]
    own = {**scene, "name": "5 samples, drawn", "kind": "samples", "labels": None, "class_names": []}
    trial = with_trial(path, scene=own)
    assert trial.timed == "5 samples, drawn (image_s is the time of 20 inferences)"
    assert trial.scene_accuracy is None
    trial = with_trial(path, scene={**scene, "patch": 40, "patch_width": 60, "stride": 50, "labels": None})
    assert trial.timed.endswith("20 patches of 60 x 40, 50 apart, 4.1 % of the scene")


@pytest.mark.parametrize(
    ("cut", "covered"),
    [
        ({"height": 4512, "width": 4512, "patch": 224, "rows": 20, "columns": 20}, 4480**2 / 4512**2),
        ({"height": 4512, "width": 4512, "patch": 512, "rows": 8, "columns": 8}, 4096**2 / 4512**2),
        ({"height": 100, "width": 150, "patch": 20, "patch_width": 40, "rows": 5, "columns": 3}, 0.8),
        ({"height": 100, "width": 100, "patch": 50, "stride": 25, "rows": 3, "columns": 3}, 1.0),
        ({"height": 100, "width": 100, "patch": 25, "stride": 75, "rows": 2, "columns": 2}, 0.25),
        ({"height": 50, "width": 50, "patch": 25, "rows": 2, "columns": 2, "cropped": 0.25}, 0.25),
        ({"height": 9, "width": 1, "patch": 1, "rows": 9, "columns": 1, "kind": "samples"}, None),
    ],
)
def test_how_much_of_the_scene_a_pass_covers(cut, covered):
    assert SceneRecord(name="", sha256="", **cut).covered == covered


def test_a_model_whose_accuracy_means_nothing_says_why(tmp_path):
    trial = with_trial(made_experiment(tmp_path), accuracy_reason="the weights are random")
    assert (trial.accuracy, trial.accuracy_reason) == (None, "the weights are random")


def test_a_trial_may_have_images_of_its_own_or_none(tmp_path):
    path = made_experiment(tmp_path)
    trial = with_trial(path, images_reason="no images were given (--images)")
    assert (trial.accuracy, trial.accuracy_reason) == (None, "no images were given (--images)")
    images = json.loads((path / "experiment.json").read_text())["images"]
    trial = with_trial(path, images={**images, "class_names": ["cat", "dog"]}, images_reason="")
    assert trial.accuracy is None and "cat, dog" in trial.accuracy_reason


def test_a_clock_that_was_moved_for_a_test_marks_every_figure(tmp_path):
    folder = made_experiment(tmp_path, variants=NINE[:2], sessions=1)
    [path] = folder.glob(f"trials/{key_of(NINE[1])}/sessions/*/session.json")
    record = json.loads(path.read_text())
    record["clock"]["test_clock"] = {"offset_ns": 5, "drift_ppm": 0.5}
    write_record(path, record)
    summaries = summarise(edgebench.load(folder))
    assert [summary.mark for summary in summaries] == ["", "on a test clock"]
    assert [name.endswith("on a test clock") for name in labels(summaries).values()] == [False, True]


def test_what_an_interrupted_first_session_measured_is_said_to_be_kept(tmp_path):
    results = edgebench.load(made_experiment(tmp_path, sessions=1))
    trial = results.experiment.trials[0]
    records = [
        record.model_copy(update={"status": "interrupted"}) for record in results.session_records(trial.key)
    ]
    status, reason = status_of(trial, records, 1)
    assert (status, reason) == (
        "not_run",
        "it was interrupted in its first session, which is kept and gives no figure",
    )
