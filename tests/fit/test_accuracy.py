import pandas as pd
import pytest

from edgebench.judge.accuracy import accuracy_of, agreement_of, predictions_of
from edgebench.stats.compare import mcnemar
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


def _accuracy(predictions, *, overlapping=False):
    accuracy = accuracy_of(predictions, ABC, overlapping=overlapping)
    assert accuracy is not None
    return accuracy


def _agreement(this, fp32):
    agreement = agreement_of(this, fp32)
    assert agreement is not None
    return agreement


def test_k_of_n_and_the_confusion():
    accuracy = _accuracy(_predictions([0, 1, 2, 2], [0, 1, 1, 2]), overlapping=True)
    assert (accuracy.k, accuracy.n) == (3, 4)
    assert accuracy.confusion == ((1, 0, 0), (0, 1, 0), (0, 1, 1))
    assert accuracy.low < 0.75 < accuracy.high
    assert accuracy.overlapping


def test_labels_are_matched_by_name():
    accuracy = _accuracy(_predictions([0, 1], [2, 0], labelled_as=("c", "a")))
    assert (accuracy.k, accuracy.n) == (2, 2)


def test_an_image_without_a_label_does_not_count_and_one_without_a_prediction_is_wrong():
    accuracy = _accuracy(_predictions([0, -1, 1], [0, 1, -1]))
    assert (accuracy.k, accuracy.n) == (1, 2)
    assert sum(sum(row) for row in accuracy.confusion) == 1


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
    assert accuracy_of(predictions, classes, overlapping=False) is None


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
    agreement = _agreement(this, fp32)
    assert (agreement.k, agreement.n, agreement.only_this_right, agreement.only_fp32_right) == (1, 4, 2, 1)
    assert agreement.mcnemar_p == mcnemar(2, 1)


def test_agreement_without_labels_has_no_test():
    agreement = _agreement(_predictions([-1, -1], [0, 1]), _predictions([-1, -1], [0, 0]))
    assert (agreement.k, agreement.n, agreement.mcnemar_p) == (1, 2, None)


def test_agreement_is_over_the_images_that_both_saw():
    agreement = _agreement(_predictions([0, 1, 2], [0, 1, 2]), _predictions([0], [0]))
    assert (agreement.k, agreement.n) == (1, 1)
    elsewhere = predictions_of(rows_of_frame(_rows([0], [0]).assign(index=5)), "images", [0], ABC, ABC)
    assert elsewhere is not None and agreement_of(elsewhere, _predictions([0], [0])) is None
