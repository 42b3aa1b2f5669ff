from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from PIL import Image

from edgebench.errors import StoredResultError
from edgebench.records.stored import SceneRecord
from edgebench.report.plots import drawing
from edgebench.report.plots.scene import disagreements, scene
from tests.report.plots.drawn import figure_of, is_a
from tests.report.samples import CLASSES

LABELS = (0, 1, 2, 3, 4, 0)


def record(labels: tuple[int, ...] | None = LABELS) -> SceneRecord:
    return SceneRecord(
        name="scene", sha256="0" * 64, height=448, width=672, patch=224, rows=2, columns=3, labels=labels,
        class_names=CLASSES if labels else (),
    )  # fmt: skip


def jpeg(width: int = 96, height: int = 64) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (20, 60, 90)).save(buffer, "JPEG")
    return buffer.getvalue()


def test_every_patch_has_its_classs_colour_and_wrong_ones_a_cross() -> None:
    predictions = [0, 1, 2, 3, 1, 2]
    axes = scene(jpeg(), record(), predictions, CLASSES)
    picture, cells = axes.images
    array = np.asarray(cells.get_array())
    assert np.asarray(picture.get_array()).shape == (64, 96, 3)
    assert array.shape == (2, 3, 4)
    flat = array.reshape(6, 4)
    assert (flat[1] == flat[4]).all()
    assert (flat[0] != flat[1]).any()
    [crosses] = [
        collection
        for collection in axes.collections
        if isinstance(collection, PathCollection) and is_a(collection, "disagreements")
    ]
    assert np.asarray(crosses.get_offsets()).tolist() == [[1.5, 1.5], [2.5, 1.5]]
    named = [text.get_text() for text in figure_of([axes]).legends[0].get_texts()]
    assert named == ["water: 1", "ice: 2", "vegetation: 2", "bare: 1", "cloud: 0", "label differs: 2"]
    assert drawing.jpeg_uri(figure_of([axes])).startswith("data:image/jpeg;base64,/9j/")


def test_of_many_classes_the_ten_that_occur_most_are_named() -> None:
    many = tuple(f"c{number}" for number in range(1000))
    axes = scene(jpeg(), record(None), [7, 7, 7, 999, 3, 3], many)
    named = [text.get_text() for text in figure_of([axes]).legends[0].get_texts()]
    assert named == ["c3: 2", "c7: 3", "c999: 1", "and 997 more"]


def test_labels_of_other_classes_are_not_compared() -> None:
    assert disagreements(record(), [0] * 6, CLASSES) == [1, 2, 3, 4]
    assert disagreements(record(), [0] * 6, ("rose", "tulip", "daisy", "sunflower", "dandelion")) is None
    assert disagreements(record(None), [0] * 6, CLASSES) is None
    axes = scene(jpeg(), record(None), [0] * 6, CLASSES)
    assert "label differs" not in " ".join(
        text.get_text() for text in figure_of([axes]).legends[0].get_texts()
    )


def test_a_prediction_that_is_no_class_is_left_clear() -> None:
    axes = scene(jpeg(), record(), [-1, 9, 0, 0, 0, 0], CLASSES)
    cells = np.asarray(axes.images[1].get_array()).reshape(6, 4)
    assert cells[:2, 3].tolist() == [0.0, 0.0]
    assert (cells[2:, 3] > 0).all()


@pytest.mark.parametrize(
    "data", [b"", b"not a picture", jpeg()[:200], b"GIF89a" + bytes(50), jpeg(4_100, 4_100)]
)
def test_a_picture_that_cannot_be_read_is_said(data: bytes) -> None:
    with pytest.raises(StoredResultError):
        scene(data, record(), [0] * 6, CLASSES)


def test_predictions_of_another_scene_are_refused() -> None:
    with pytest.raises(StoredResultError):
        scene(jpeg(), record(), [0] * 5, CLASSES)
