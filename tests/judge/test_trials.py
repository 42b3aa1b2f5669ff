import json

import numpy as np
import pytest

import edgebench
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import load_profile
from edgebench.judge.trial import Estimate
from edgebench.judge.trials import trials_of
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
def trials(experiment_folder):
    return {trial.variant: trial for trial in trials_of(edgebench.load(experiment_folder))}


def _trials(folder, **arguments):
    made = made_experiment(folder, **arguments)
    return {trial.variant: trial for trial in trials_of(edgebench.load(made))}


def test_one_trial_a_variant_in_the_plans_order(tmp_path):
    by_variant = _trials(tmp_path, variants=NINE, sessions=1, passes=1, images=5)
    assert list(by_variant) == list(NINE)
    assert {trial.status for trial in by_variant.values()} == {"done"}


def test_latency_is_that_of_the_steady_passes_by_session(experiment_folder, trials):
    passes = edgebench.load(experiment_folder).passes
    for trial in trials.values():
        mine = passes[(passes["trial"] == trial.key) & (passes["phase"] == "steady")]
        medians = mine.groupby("session")["image_ns"].median() / 1e9
        image_s = trial.estimate("image_s")
        assert image_s.value == pytest.approx(medians.mean())
        assert image_s.low < image_s.value < image_s.high
        assert (len(image_s.sessions), image_s.n) == (3, 9)
        assert np.ravel(trial.values_of("image_s")) == pytest.approx(mine["image_ns"].to_numpy() / 1e9)
        assert trial.estimate("infer_s").value < image_s.value


def test_large_tables_are_read_trial_by_trial_with_the_same_figures(experiment_folder, trials, monkeypatch):
    monkeypatch.setattr("edgebench.results.load.MOST_KEPT", 0)
    by_trial = trials_of(edgebench.load(experiment_folder))
    assert [trial.estimates for trial in by_trial] == [trial.estimates for trial in trials.values()]
    assert by_trial[0].rails


def test_stages_are_milliseconds_a_patch(trials):
    stages = {key.stage: estimate.value for key, estimate in trials[FP32].estimates_of("stages_ms")}
    assert list(stages) == ["patchify", "preprocess", "infer"]
    a_patch_ms = trials[FP32].estimate("image_s").value * 1000 / 20
    assert stages["infer"] == pytest.approx(0.86 * a_patch_ms, rel=0.02)
    assert sum(stages.values()) == pytest.approx(0.98 * a_patch_ms, rel=0.02)


def test_start_and_memory_are_means_over_sessions(trials):
    trial = trials[FP32]
    load_s, start_s = trial.estimate("load_s"), trial.estimate("start_s")
    assert (load_s.value, load_s.sessions) == (0.012, (0.012,) * 3)
    for name in ("import_s", "first_inference_s", "first_pass_s"):
        assert trial.estimate(name).value is not None
    assert start_s.sessions == pytest.approx((0.4, 0.41, 0.42))
    assert start_s.value == pytest.approx(0.41)
    assert start_s.low < 0.4 and start_s.high > 0.42
    assert trial.estimate("memory_bytes").value == pytest.approx(131_000_001, abs=1)
    assert trial.estimate("artifact_bytes").value == 1_000_000
    assert trial.workers == ()


def test_accuracy_counts_images_by_class(experiment_folder, trials):
    predictions = edgebench.load(experiment_folder).predictions
    for trial in trials.values():
        mine = predictions[(predictions["trial"] == trial.key) & (predictions["set"] == "images")]
        right = int((mine["label"] == mine["predicted"]).sum())
        accuracy = trial.estimate("accuracy")
        assert (accuracy.value, accuracy.n) == (right / 40, 40)
        assert accuracy.notes == (f"{right} of 40", "overlapping crops make it a little too narrow")
        images, scene = trial.confusions
        assert np.sum(images.counts) == 40 and np.trace(images.counts) == right
        assert images.classes == CLASSES
        assert sum(scene.n) == 20 == trial.estimate("scene_accuracy").n
        assert trial.estimate("accuracy_top5").reason == "it takes 10 classes, and there are 5"


def test_agreement_is_with_the_fp32_variant(experiment_folder, trials):
    predictions = edgebench.load(experiment_folder).predictions
    images = predictions[predictions["set"] == "images"]
    by_variant = {
        name: images[images["trial"] == trial.key].set_index("index") for name, trial in trials.items()
    }
    assert trials[FP32].estimate("agreement").reason == "this is the fp32 variant"
    (_, agreement), (_, p) = trials[INT8].estimates_of("agreement")
    same = by_variant[INT8]["predicted"] == by_variant[FP32]["predicted"]
    assert (agreement.value, agreement.n) == (int(same.sum()) / 40, 40)
    assert 0 < p.value <= 1


def test_without_an_fp32_variant_there_is_no_agreement(tmp_path):
    agreement = _trials(tmp_path, variants=[INT8], sessions=1)[INT8].estimate("agreement")
    assert (agreement.value, agreement.reason) == (None, "there is no fp32 variant to compare with")


def test_power_over_the_steady_windows(trials):
    trial = trials[FP32]
    (rail,) = trial.rails
    assert (rail.name, rail.scope) == ("rapl:package package", "chip")
    mean, idle, peak, energy, net = (
        trial.estimate(name)
        for name in ("power_mean_w", "power_idle_w", "power_peak_w", "energy_j", "net_energy_j")
    )
    assert mean.value == pytest.approx(3.2, rel=0.01)
    assert idle.value == pytest.approx(1.5, rel=0.01)
    assert peak.value > mean.value
    image_s = trial.estimate("image_s").value
    assert energy.value == pytest.approx(mean.value * image_s, rel=0.02)
    assert net.value == pytest.approx(1.7 * image_s, rel=0.03)
    assert rail.reason == "" and mean.basis == "chip"
    assert len(mean.sessions) == 3


def test_a_window_too_short_for_energy_says_so(tmp_path):
    trial = _trials(tmp_path, variants=[INT8], power=True, rate_hz=50.0)[INT8]
    assert trial.estimate("power_mean_w").value == pytest.approx(3.2, rel=0.02)
    energy, net = trial.estimate("energy_j"), trial.estimate("net_energy_j")
    assert (energy.value, net.value) == (None, None)
    assert energy.reason.startswith("window too short")


def test_no_meter_is_a_reason_and_no_figure(tmp_path):
    trial = _trials(tmp_path, variants=[INT8], sessions=1)[INT8]
    assert trial.rails == ()
    assert trial.estimate("power_mean_w").reason == "no meter"


def test_what_did_not_run_well(tmp_path):
    by_variant = _trials(
        tmp_path,
        variants=NINE[:5],
        crashed_once=[FP32],
        failed=[FP16],
        not_run=[INT8],
        unsupported=[NINE[3]],
        power=True,
    )
    assert [trial.status for trial in by_variant.values()] == [
        "partial",
        "failed",
        "not_run",
        "unsupported",
        "done",
    ]
    partial, failed, not_run, unsupported, done = by_variant.values()
    assert partial.reason == "2 of 3 planned sessions are there, 1 failed"
    assert len(partial.estimate("image_s").sessions) == 2 and partial.estimate("image_s").low is None
    assert partial.failures == ("session 001: crash in load: the worker ended by SIGSEGV",)
    assert any("2 of the 3 sessions" in warning for warning in partial.warnings)
    assert failed.latency is None and failed.rails == ()
    assert "3 failed; the last: the worker ended by SIGSEGV" in failed.reason
    for name in ("image_s", "accuracy", "power_mean_w"):
        assert failed.estimate(name) == Estimate(reason=failed.reason)
    assert len(failed.failures) == 3
    assert not_run.reason == "no session has run" == not_run.estimate("energy_j").reason
    assert unsupported.reason == "it needs 12 MB and the device has 8 MB"
    assert unsupported.estimate("artifact_bytes").value is None
    assert done.reason == "" and done.failures == ()
    # Predictions of a crashed fp32 variant would be missing; those of its good sessions are enough.
    assert partial.estimate("accuracy").value is not None
    shares = [trial.estimate("failed_sessions") for trial in (partial, failed, done)]
    assert [share.notes for share in shares] == [(f"{failed} failed of 3 sessions",) for failed in (1, 3, 0)]
    for trial in (not_run, unsupported):
        assert trial.estimate("failed_sessions").reason == "no session has ended by itself"


def test_nothing_at_all_was_run(tmp_path):
    by_variant = _trials(tmp_path, not_run=QUARTER)
    assert {trial.status for trial in by_variant.values()} == {"not_run"}
    assert all(trial.latency is None for trial in by_variant.values())


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
    trial = _trials(tmp_path, variants=[INT8, FP32], sessions=1, **arguments)[INT8]
    accuracy = trial.estimate("accuracy")
    assert (accuracy.value, accuracy.reason) == (None, reason)
    if arguments.get("images") == 0:
        assert trial.estimate("agreement").value is None
    else:
        # Agreement of two variants needs no labels; McNemar's test does.
        (_, agreement), (_, p) = trial.estimates_of("agreement")
        assert agreement.n == 40 and (p.value, p.reason) == (None, "the images are not labelled")


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
    assert [verdict.word for verdict in own.verdicts] == ["pass", "unknown", "fail", "pass"] * 2
    assert judge_folder(folder, [load_profile("disco-realtime")]).verdicts[0].profile == "disco-realtime"


def with_trial(path, **changes):
    """The experiment with its first trial changed, as a run of another model records it."""
    file = path / "experiment.json"
    record = json.loads(file.read_text())
    record["trials"][0] |= changes
    write_record(file, record)
    return trials_of(edgebench.load(path))[0]


def test_a_trial_may_have_a_scene_of_its_own(tmp_path):
    path = made_experiment(tmp_path)
    scene = json.loads((path / "experiment.json").read_text())["scene"]
    own = {**scene, "name": "5 samples, drawn", "kind": "samples", "labels": None, "class_names": []}
    trial = with_trial(path, scene=own)
    assert trial.scene.text == "5 samples, drawn (image_s is the time of 20 inferences)"
    assert trial.estimate("scene_accuracy").value is None
    trial = with_trial(path, scene={**scene, "patch": 40, "patch_width": 60, "stride": 50, "labels": None})
    assert trial.scene.text.endswith("20 patches of 60 x 40, 50 apart, 4.1 % of the scene")


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
    assert trial.estimate("accuracy") == Estimate(reason="the weights are random")


def test_a_trial_may_have_images_of_its_own_or_none(tmp_path):
    path = made_experiment(tmp_path)
    trial = with_trial(path, images_reason="no images were given (--images)")
    assert trial.estimate("accuracy") == Estimate(reason="no images were given (--images)")
    images = json.loads((path / "experiment.json").read_text())["images"]
    trial = with_trial(path, images={**images, "class_names": ["cat", "dog"]}, images_reason="")
    assert "cat, dog" in trial.estimate("accuracy").reason


def test_a_clock_that_was_moved_for_a_test_marks_every_figure(tmp_path):
    folder = made_experiment(tmp_path, variants=NINE[:2], sessions=1)
    [path] = folder.glob(f"trials/{key_of(NINE[1])}/sessions/*/session.json")
    record = json.loads(path.read_text())
    record["clock"]["test_clock"] = {"offset_ns": 5, "drift_ppm": 0.5}
    write_record(path, record)
    trials = trials_of(edgebench.load(folder))
    assert [trial.marks for trial in trials] == [(), ("on a test clock",)]
    assert [name.endswith("on a test clock") for name in labels(trials).values()] == [False, True]


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
