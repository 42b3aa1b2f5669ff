import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from edgebench.judge.accuracy import agreement_of, among_highest, confusion_of, predictions_of
from edgebench.judge.metrics.accuracy_balanced import balanced_accuracy
from edgebench.judge.trial import Confusion
from edgebench.results.rows import rows_of
from tests.sample_tables import rows_of_frame

ABC = ("a", "b", "c")


def _rows(label, predicted, session=0, set_name="images"):
    n = len(label)
    return pd.DataFrame(
        {
            "session": [session] * n,
            "set": [set_name] * n,
            "index": range(n),
            "label": label,
            "predicted": predicted,
        }
    )


def _predictions(label, predicted, labelled_as=ABC, classes=ABC):
    predictions = predictions_of(rows_of_frame(_rows(label, predicted)), "images", [0], labelled_as, classes)
    assert predictions is not None
    return predictions


def _confusion(predictions):
    confusion = confusion_of(predictions, ABC, "images")
    assert confusion is not None
    return confusion


def _agreement(this, fp32):
    agreement = agreement_of(this, fp32)
    assert agreement is not None
    return agreement


def test_right_ones_and_images_are_counted_by_class():
    confusion = _confusion(_predictions([0, 1, 2, 2], [0, 1, 1, 2]))
    assert (confusion.right, confusion.n) == ((1, 1, 1), (1, 1, 2))
    assert confusion.counts == ((1, 0, 0), (0, 1, 0), (0, 1, 1))
    assert confusion.commonest == ((2, 1, 1),)


def test_labels_are_matched_by_name():
    confusion = _confusion(_predictions([0, 1], [2, 0], labelled_as=("c", "a")))
    assert (confusion.right, confusion.n) == ((1, 0, 1), (1, 0, 1))


def test_an_image_without_a_label_does_not_count_and_one_without_a_prediction_is_wrong():
    confusion = _confusion(_predictions([0, -1, 1], [0, 1, -1]))
    assert (sum(confusion.right), sum(confusion.n)) == (1, 2)
    assert sum(sum(row) for row in confusion.counts) == 1


@pytest.mark.parametrize(
    ("label", "predicted", "labelled_as", "classes", "reason"),
    [
        ([-1, -1], [0, 1], ABC, ABC, "not labelled"),
        ([0, 1], [0, 1], (), ABC, "not labelled"),
        ([0, 1], [0, 1], ("a", "z"), ABC, "the images' classes (a, z) are not the artifact's (a, b, c)"),
        ([0, 1], [0, 1], ABC, (), "the model's classes have no names"),
        ([0, 3], [0, 1], ABC, ABC, "a label lies outside its 3 classes"),
        ([0, 1], [0, 9], ABC, ABC, "a prediction lies outside its 3 classes"),
        ([0, 1], [0, -7], ABC, ABC, "a prediction lies outside"),
    ],
)
def test_why_there_is_none(label, predicted, labelled_as, classes, reason):
    predictions = _predictions(label, predicted, labelled_as, classes)
    assert reason in predictions.reason
    assert confusion_of(predictions, classes, "images") is None


def test_many_class_names_are_cut_short():
    predictions = _predictions([0], [0], labelled_as=tuple(map(str, range(30))))
    assert "... 30 in all" in predictions.reason


def test_the_last_finished_session_speaks_and_each_image_once():
    rows = pd.concat(
        [
            _rows([0, 0], [0, 0], 0),
            _rows([0, 0], [0, 1], 1),
            _rows([0, 0], [1, 1], 2),
            _rows([0, 0], [2, 2], 1),
        ]
    )
    predictions = predictions_of(rows_of_frame(rows), "images", [0, 1], ABC, ABC)
    assert predictions is not None and predictions.predicted.tolist() == [0, 1]
    assert predictions_of(rows_of_frame(rows), "scene", [0, 1], ABC, ABC) is None
    assert predictions_of(rows_of_frame(rows), "images", [], ABC, ABC) is None


def test_agreement_and_the_paired_test():
    this, fp32 = _predictions([0, 1, 2, 0], [0, 1, 0, 0]), _predictions([0, 1, 2, 0], [0, 2, 2, 1])
    share, p = _agreement(this, fp32)
    assert (share.value, share.n, p.value) == (0.25, 4, 1.0)
    assert share.notes == ("1 of 4", "1 right with fp32 alone and 2 with this alone")


def test_agreement_without_labels_has_no_test():
    share, p = _agreement(_predictions([-1, -1], [0, 1]), _predictions([-1, -1], [0, 0]))
    assert (share.value, share.n, p.reason) == (0.5, 2, "the images are not labelled")


def test_agreement_is_over_the_images_that_both_saw():
    share, _ = _agreement(_predictions([0, 1, 2], [0, 1, 2]), _predictions([0], [0]))
    assert (share.value, share.n) == (1.0, 1)
    elsewhere = predictions_of(rows_of_frame(_rows([0], [0]).assign(index=5)), "images", [0], ABC, ABC)
    assert elsewhere is not None and agreement_of(elsewhere, _predictions([0], [0])) is None


def test_an_image_is_right_among_five_where_fewer_than_five_scores_are_higher():
    scores = [[0.0, 0.6, 0.1, 0.1, 0.1, 0.1, 0.0], [0.9] + [0.1 / 6] * 6, [float("nan")] * 7]
    classes = tuple("abcdefg")
    columns = {
        "session": pa.array([0] * 3),
        "set": pa.array(["images"] * 3),
        "index": pa.array(range(3)),
        "label": pa.array([6, 5, 0]),
        "predicted": pa.array([1, 0, -1]),
        "scores": pa.array(scores, pa.list_(pa.float32())),
    }
    # g has six higher scores or ties before it; f ties with b to e, which come first.
    for count, right in ((5, [False, False]), (6, [False, True]), (7, [True, True])):
        among = among_highest(rows_of(pa.table(columns)), [0], classes, classes, count)
        assert among is not None and among.tolist() == [*right, False]


def test_balanced_accuracy_is_the_mean_recall_of_the_classes_that_occur():
    confusion = Confusion("images", ("a", "b", "c"), n=(90, 10, 0), right=(90, 5, 0))
    estimate = balanced_accuracy(confusion)
    assert estimate.value == pytest.approx(0.75)  # accuracy is 0.95
    a, b = 91 / 92, 6 / 12
    half = 1.959963984540054 * np.sqrt((a * (1 - a) / 90 + b * (1 - b) / 10) / 4)
    assert (estimate.low, estimate.high) == pytest.approx((0.75 - half, 0.75 + half))
    assert estimate.n == 100 and estimate.final
