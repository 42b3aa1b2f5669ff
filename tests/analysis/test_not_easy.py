"""Results that are not the easy case: what docs/python.md computes of them is what the Parquet files hold.

Two batches with a partial last one, two workers, a session that fails after its steady passes, images whose
folders are in another order than the model's classes, an emulated device, and the same run twice.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import edgebench
from edgebench.errors import StoredResultError
from edgebench.report.plots.latency import ratios_to_quickest
from tests import synthetic_results
from tests.analysis.columns_page import KEYS
from tests.synthetic_results import CLASSES, QUARTER, key_of, write_record

matplotlib.use("Agg")

TABLES = ("passes", "batches", "windows", "probes", "predictions")
FOLDERS = tuple(reversed(CLASSES))
"""The classes in the order of the images' folders."""


@pytest.fixture(scope="session")
def results(not_easy: Path) -> edgebench.Results:
    return edgebench.load(not_easy)


def files(result: Path, table: str, *, ok: bool = True) -> dict[tuple[str, int], pd.DataFrame]:
    """The Parquet files of a table, by trial and session; of finished sessions."""
    found = {}
    for path in sorted(result.glob(f"trials/*/sessions/*/{table}.parquet")):
        is_ok = '"status":"ok"' in (path.parent / "session.json").read_text().replace(": ", ":")
        if is_ok or not ok:
            found[path.parents[2].name, int(path.parent.name)] = pq.read_table(path).to_pandas()
    return found


def page_names(result: Path) -> dict[str, Any]:
    """The variables of the page's blocks on samples, executed for a result."""
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    section = text[text.index("## Samples") : text.index("## Figures\n")]
    results = edgebench.load(result)
    names: dict[str, Any] = {"results": results, "summaries": results.summaries()}
    for block in re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL):
        exec(block, names)
    return names


def test_the_page_gives_the_median_of_the_reports_and_of_the_files(not_easy: Path) -> None:
    names = page_names(not_easy)
    medians_s = names["medians_s"].groupby(["trial", "worker"], observed=True).mean()
    sessions: dict[tuple[str, int], list[float]] = {}
    for (key, _), rows in files(not_easy, "passes").items():
        for worker, own in rows[rows["phase"] == "steady"].groupby("worker"):
            sessions.setdefault((key, int(str(worker))), []).append(own["image_ns"].median() / 1e9)
    assert {key: pytest.approx(np.mean(values)) for key, values in sessions.items()} == medians_s.to_dict()
    reported = names["summaries"]["image_s"].dropna()
    assert len(reported) == 4
    for key, value in reported.items():
        assert medians_s[key, 0] == pytest.approx(value)
    for row in names["results"].workers().itertuples():
        assert medians_s[row.trial, row.number] == pytest.approx(row.image_s)
    # The session that failed took half as long: with it the line would give another number.
    every = names["results"].passes.query("phase == 'steady'")
    late = every[every["trial"] == key_of(QUARTER[0])]
    assert set(late["status"]) == {"ok", "lost_connection"}
    assert late["image_ns"].mean() / 1e9 < 0.9 * reported[key_of(QUARTER[0])]


def test_every_row_has_the_status_of_its_session(results: edgebench.Results, not_easy: Path) -> None:
    for name in TABLES:
        frame = getattr(results, name)
        finished = frame[frame["status"] == "ok"]
        assert len(finished) == sum(map(len, files(not_easy, name).values())) > 0
        assert len(frame) == sum(map(len, files(not_easy, name, ok=False).values()))
    warm_ups = results.passes.query("phase == 'warmup'")
    assert (warm_ups["scenes"] == warm_ups["patches"] / 20).all() and (warm_ups["scenes"] > 1).any()
    assert set(results.passes.query("phase == 'steady'")["scenes"]) == {1.0}


def test_labels_count_in_the_models_classes_wherever_they_are_read(not_easy: Path) -> None:
    labels = {  # by the folders' order of the file
        key: [FOLDERS[label] for label in rows.loc[rows["set"] == "images", "label"]]
        for key, rows in files(not_easy, "predictions", ok=False).items()
    }
    one = edgebench.load(not_easy).predictions
    many = edgebench.concat([not_easy]).predictions.reset_index()
    scanned = edgebench.scan(not_easy.parent).predictions
    table = scanned.to_pandas(filter=pads.field("result") == not_easy.name)
    few = scanned.to_pandas(["label", "label_name"], filter=pads.field("result") == not_easy.name)
    assert few["label"].tolist() == table["label"].tolist()
    for frame in (one, many, table):
        images = frame[(frame["set"] == "images") & (frame["worker"] == 0)]
        for key, rows in images.groupby(["trial", "session"], observed=True):
            names = labels[str(key[0]), int(key[1])][: len(rows)]  # type: ignore[call-overload]
            assert rows["label_name"].tolist() == names
            assert [CLASSES[label] for label in rows["label"]] == names
            assert [CLASSES[number] for number in rows["predicted"]] == rows["predicted_name"].tolist()
        assert list(frame["label_name"].cat.categories) == list(frame["predicted_name"].cat.categories)
    assert list(one["label_name"].cat.categories) == list(CLASSES)


def test_the_page_finds_the_pictures_that_are_wrong(not_easy: Path) -> None:
    names = page_names(not_easy)
    images, summaries = names["images"], names["summaries"]
    own = images[(images["trial"] == key_of(QUARTER[0]))]
    wrong = own[own["label"] != own["predicted"]]
    share, k, n = summaries.loc[key_of(QUARTER[0]), "accuracy"], len(own) - len(wrong), len(own)
    assert k / n == share and 0 < len(wrong) < n / 2
    shares = pd.crosstab(own["label_name"], own["predicted_name"])
    assert list(shares.index) == list(shares.columns) == list(CLASSES)
    assert np.trace(shares.to_numpy()) == k
    assert (wrong["label_name"].astype("str") != wrong["predicted_name"].astype("str")).all()


def test_a_label_that_the_model_has_no_class_for_keeps_its_name(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(
        tmp_path, variants=QUARTER[:1], sessions=1, image_classes=("fog", *CLASSES)
    )
    images = edgebench.load(folder).predictions.query("set == 'images'")
    foggy = images["label_name"] == "fog"
    assert foggy.any() and (images["label"] == -1).equals(foggy)
    assert list(images["label_name"].cat.categories) == [*CLASSES, "fog"]


def computed(results: Any) -> dict[str, pd.DataFrame]:
    """Every frame of a result, or of several."""
    frames = {name: getattr(results, name) for name in ("trials", "sessions", *TABLES)}
    frames |= {
        name: getattr(results, name)() for name in ("estimates", "summaries", "classes", "rails", "workers")
    }
    profiles = ["disco-realtime", "disco-greenland"]
    return frames | {"verdicts": results.verdicts(profiles), "mission": results.mission(profiles[1], days=1)}


def test_no_two_rows_have_the_same_key(results: edgebench.Results, not_easy: Path) -> None:
    repeated = edgebench.concat([not_easy, not_easy])
    for name, frame in computed(results).items():
        key = list(KEYS[name])
        levels = frame.reset_index()
        assert len(frame) and not levels.duplicated(key).any(), name
        if {"variant", "target"} <= set(frame):
            assert {"batch", "concurrency", "settings"} <= set(frame), name
            assert all(isinstance(text, str) for text in frame["settings"]), name
    for name, frame in computed(repeated).items():
        assert frame.index.names == ["result", "trial"]
        rest = [column for column in KEYS[name] if column not in ("trial", "key")]
        assert not frame.reset_index().duplicated(["result", "trial", *rest]).any(), name
    comparison = edgebench.compare(not_easy, not_easy)
    for name, frame in (("comparison", comparison.table), ("unpaired", comparison.unpaired)):
        assert not frame.duplicated(list(KEYS[name])).any(), name
    assert not edgebench.boards().reset_index().duplicated(list(KEYS["boards"])).any()


def test_frames_of_trials_can_be_written(results: edgebench.Results, tmp_path: Path) -> None:
    for name in ("trials", "estimates", "classes", "rails", "workers", "summaries"):
        computed(results)[name].to_parquet(tmp_path / f"{name}.parquet")
    assert pd.read_parquet(tmp_path / "trials.parquet")["settings"].str.startswith("with=").any()


def test_a_repeated_run_is_joined_by_result_and_trial(not_easy: Path) -> None:
    repeated = edgebench.concat({"first": not_easy, "again": not_easy})
    joined = repeated.passes.join(repeated.summaries()[["variant", "batch"]])
    assert len(joined) == len(repeated.passes) and joined["batch"].notna().all()
    with pytest.raises(ValueError, match="level"):
        repeated.passes.join(repeated.summaries()[["variant"]], on="trial")
    assert len(repeated.workers()) == 2 * len(edgebench.load(not_easy).workers()) > 0


def test_what_is_missing_has_its_reason(results: edgebench.Results) -> None:
    trials = results.trials.set_index("key")
    late = trials.loc[key_of(QUARTER[0])]
    assert late["status"] == "partial" and "2 of 3 planned sessions" in late["reason"]
    assert (trials["reason"] == "").equals(trials["status"] == "done")
    assert set(trials.loc[trials["emulated"], "target"]) == {"mcu"}
    assert results.windows["emulated"].all()
    tidy = results.estimates()
    missing = tidy[tidy["value"].isna()]
    assert (missing["reason"] != "").all()
    reasons = missing[missing["worker"].isna()].set_index(["trial", "metric"])["reason"]
    assert {"stages_ms", "load_s", "import_s", "first_pass_s", "image_s"} <= {key[1] for key in reasons.index}
    assert "emulated" in reasons[key_of(QUARTER[0], "mcu"), "load_s"]


def test_a_trial_that_failed_says_why(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, failed=QUARTER[:1], variants=QUARTER[:1])
    [trial] = edgebench.load(folder).trials.itertuples()
    assert trial.status == "failed" and "SIGSEGV" in str(trial.reason)


def test_a_mission_of_an_emulated_device_says_that_it_has_no_time(results: edgebench.Results) -> None:
    with pytest.raises(StoredResultError) as caught:
        results.mission("disco-greenland", trial=key_of(QUARTER[2], "mcu"))
    assert "no latency of a device" in caught.value.what and "emulated" in caught.value.why


def legend(axes: list[Axes]) -> set[str]:
    """The names in the legend, of the figure or of its panels."""
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    found = [*figure.legends, *(panel.get_legend() for panel in axes)]
    return {text.get_text() for each in found if each is not None for text in each.get_texts()}


def test_batches_are_told_apart(results: edgebench.Results) -> None:
    expected = {"fp32 b1", "fp32 b7", "int8 b1", "int8 b7"}
    for name in ("latency", "accuracy"):
        axes = getattr(results.plot, name)(target="cpu", ax=Figure())
        assert legend(axes) == expected, name
        places = {
            tuple(np.round(np.ravel(line.get_xydata()), 9))
            for line in axes[0].lines
            if len(line.get_xdata()) == 1
        }
        assert len(places) == 4


def test_the_scene_is_compared_by_name_and_of_a_finished_session(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, variants=QUARTER[:1], sessions=2)
    record = json.loads((folder / "experiment.json").read_text())
    [trial], scene = record["trials"], record["scene"]
    seen = pq.read_table(
        folder / "trials" / trial["key"] / "sessions" / "001" / "predictions.parquet"
    ).to_pandas()
    predicted = seen.loc[seen["set"] == "scene", "predicted"]
    wrong = sum(CLASSES[a] != CLASSES[b] for a, b in zip(scene["labels"], predicted, strict=True))
    scene["labels"] = [FOLDERS.index(CLASSES[label]) for label in scene["labels"]]
    scene["class_names"] = list(FOLDERS)
    write_record((folder / "experiment.json"), record)
    # The first session failed after it had given other predictions.
    first = folder / "trials" / trial["key"] / "sessions" / "000"
    session = json.loads((first / "session.json").read_text())
    table = pq.read_table(first / "predictions.parquet")
    zeros = table.set_column(
        table.column_names.index("predicted"), "predicted", [np.zeros(len(table), np.int16)]
    )
    pq.write_table(zeros, first / "predictions.parquet")
    del session["tables"]["predictions"]
    write_record((first / "session.json"), session | {"status": "crash"})
    axes = edgebench.load(folder).plot.scene(ax=Figure())
    assert f"label differs: {wrong}" in legend([axes])


def test_stages_that_overlap_end_where_the_image_ends(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, variants=QUARTER[:1], concurrency=3)
    results = edgebench.load(folder)
    [panel] = results.plot.stages(ax=Figure())
    [image_s] = results.summaries()["image_s"]
    [infer_ms] = results.summaries()["stages_ms_infer"]
    bars: dict[str, Any] = {str(container.get_label()): container[0] for container in panel.containers}
    end = bars["infer"].get_x() + bars["infer"].get_width()
    assert end == pytest.approx(1e3 * image_s / 20, rel=2e-3)
    assert bars["infer"].get_width() == pytest.approx(infer_ms)
    assert sum(bar.get_width() for bar in bars.values()) > 1.05 * end  # stacked they would end behind it


def test_no_ratio_is_formed_across_scenes(tmp_path: Path) -> None:
    small, large = (
        synthetic_results.made_experiment(
            tmp_path, name=name, rows=rows, variants=QUARTER[:2], image_s=image_s
        )
        for name, rows, image_s in (("small", 1, dict.fromkeys(QUARTER, 0.001)), ("large", 4, {}))
    )
    several = edgebench.concat([small, large])
    trials = sorted(several.plot._all_trials(), key=lambda trial: trial.estimate("image_s").value or 0.0)
    ratios = ratios_to_quickest(trials)
    assert len(ratios) == 2 and all(ratio.value and ratio.value < 2 for ratio in ratios.values())
    axes = several.plot.targets(ax=Figure())
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("quickest") == 2 and "times the quickest\nof its scene" in texts
