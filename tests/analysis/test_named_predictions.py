"""Predictions have the path of each image and the names of classes beside them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import edgebench
from edgebench.results.load import load
from tests import synthetic_results


def test_images_have_their_paths_and_classes_their_names(results: edgebench.Results) -> None:
    frame = results.predictions
    images = frame[frame["set"] == "images"]
    assert list(images["image"]) == [f"{index % 5}/{index}.png" for index in images["index"]]
    named = [synthetic_results.CLASSES[label] for label in images["label"]]
    assert list(images["label_name"]) == named
    right = frame["label_name"].astype("str") == frame["predicted_name"].astype("str")
    assert (right == (frame["label"] == frame["predicted"])).all() and 0 < right.mean() < 1
    scene = frame[frame["set"] == "scene"]
    assert scene["image"].isna().all() and scene["label_name"].notna().all()


def test_the_store_has_the_numbers_alone(results: edgebench.Results) -> None:
    stored = load(results.path).predictions
    added = ["status", "image", "label_name", "predicted_name"]
    pd.testing.assert_frame_equal(results.predictions.drop(columns=added), stored)


def test_what_nobody_names_is_missing(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(
        tmp_path, variants=[synthetic_results.QUARTER[0]], labelled=False, image_paths=["a.png"]
    )
    images = edgebench.load(folder).predictions.query("set == 'images'")
    assert images["label_name"].isna().all() and images["predicted_name"].notna().all()
    assert images.set_index("index")["image"].dropna().to_dict() == {0: "a.png"}


def test_a_result_of_an_earlier_version_has_no_paths(tmp_path: Path) -> None:
    frame = edgebench.load(synthetic_results.made_experiment(tmp_path)).predictions
    assert frame["image"].isna().all() and isinstance(frame["image"].dtype, pd.CategoricalDtype)


def test_a_result_without_predictions_has_the_columns_all_the_same(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, not_run=synthetic_results.QUARTER)
    frame = edgebench.load(folder).predictions
    assert frame.empty and {"image", "label_name", "predicted_name"} <= set(frame.columns)
