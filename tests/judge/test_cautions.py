from dataclasses import replace

import pytest

from edgebench.judge.latency import SteadyPasses
from edgebench.records.stored import Failure, GoldenCheck, SessionRecord
from edgebench.stats.power import IdleDrift
from tests.judge.trials import sentences

GOLDEN = GoldenCheck(max_abs_diff=0.0, tolerance=0.001, top1_equal=5, n=5, reference="reference kernels")


def _record(n=0, status="ok", **changes):
    fields = {
        "trial": "0" * 16,
        "n": n,
        "round": n,
        "status": status,
        "started_utc": "2025-03-01T12:00:00Z",
        "duration_s": 1.0,
        "golden": GOLDEN,
        "warmup": {"batches": 20, "steady": True},
    }
    return SessionRecord(**(fields | changes))


def _steady(*sessions, extrapolated=0):
    at_s = tuple(tuple(map(float, range(len(values)))) for values in sessions)
    steady = SteadyPasses(tuple(map(tuple, sessions)), (), at_s, {}, {}, extrapolated)
    return replace(steady, measured_patches=1, scene_patches=400)


CALM = _steady([1.0, 1.01, 1.0], [1.0, 0.99, 1.0], [1.01, 1.0, 1.0])
THREE = [_record(n) for n in range(3)]


def test_idle_power_that_drifts_is_told():
    drifts = [IdleDrift(-0.4, 0.1), IdleDrift(0.05, 0.1), IdleDrift(0.2, None)]
    [sentence] = sentences(THREE, CALM, idle_drifts=drifts)
    assert "by up to 0.4 W in 1 of 3 sessions" in sentence
    assert sentences(THREE, CALM, idle_drifts=drifts[1:]) == ()


def test_a_calm_trial_has_none():
    assert sentences(THREE, CALM) == ()


@pytest.mark.parametrize(
    ("records", "steady", "expected"),
    [
        (
            [*THREE[:2], _record(2, warmup={"batches": 300, "steady": False})],
            CALM,
            "steady in 1 of 3 sessions",
        ),
        (
            THREE,
            _steady([1.0, 1.01, 1.02], [0.98, 0.99, 9.0], [1.0, 1.001, 1.02]),
            "1 of 9 steady passes are outliers",
        ),
        (THREE[:2], _steady([1.0], [1.0]), "2 of the 3 sessions that an interval needs"),
        (
            THREE,
            _steady([1.0] * 8 + [1.2] * 8, [1.0] * 16, [1.06] * 16),
            "thermal: suspected in 1 of 3 sessions; the last quarter took up to 1.20 times the first",
        ),
        (
            [*THREE, _record(3, "golden_mismatch", failure=Failure(what="differs", stage="golden"))],
            CALM,
            "differ from the golden scores in 1 of 4 sessions",
        ),
        ([*THREE[:2], _record(2, golden=None)], CALM, "1 of 3 sessions were not checked"),
        (
            THREE,
            _steady(*CALM.image_s, extrapolated=4),
            "extrapolated: 4 of 9 passes covered 1 of 400 patches",
        ),
    ],
)
def test_each_doubt_is_said(records, steady, expected):
    assert [expected in sentence for sentence in sentences(records, steady)] == [True]


@pytest.mark.parametrize(
    ("k", "classes", "sentence"),
    [
        (24, 5, "cannot be distinguished from chance"),
        (29, 5, "cannot be distinguished from chance"),
        (69, 2, "cannot be distinguished from chance"),
        (33, 5, None),
        (107, 5, None),
        (3, 5, "is below chance"),
        (24, 1, None),
        (24, 0, None),
    ],
)
def test_accuracy_that_guessing_reaches_is_a_warning(k, classes, sentence):
    texts = sentences(THREE, CALM, right=(k, 120, classes))
    assert len(texts) == (sentence is not None)
    if sentence is not None:
        guessing = f"guessing 1 of {classes} classes gives {1 / classes:.1%}"
        assert texts[0].startswith(f"accuracy {sentence}: {k} of 120 right, {guessing}; ")
        assert "--input-scale" in texts[0]


def test_a_tail_and_groups_of_sessions_are_told_with_their_figures():
    tail = _steady(*([[1.0 + 0.001 * n] for n in range(9)] + [[1.5]]))
    texts = sentences([_record(n) for n in range(10)], tail)
    assert any(
        text.startswith(
            "the medians of the 10 sessions are skewed, with a tail above: from 1 s in the middle"
        )
        and "to 1.5 s" in text
        for text in texts
    )
    groups = _steady(*[[value] for value in (1.0, 1.001, 1.002, 1.2, 1.201)])
    [sentence] = [text for text in sentences(THREE, groups) if "groups" in text]
    assert "fall into groups, 3 around 1 s and 2 around 1.2 s: the interval" in sentence


def test_sessions_that_resemble_the_one_before_them_are_told_with_the_factor():
    medians = (1.0, 1.03, 1.02, 1.05, 1.06, 1.03, 1.04, 1.0, 0.99, 1.01)
    records = [_record(n) for n in range(10)]
    assert sentences(records, _steady(*[[median] for median in medians])) == (
        "the medians of image_s of the 10 sessions resemble the one before them: "
        "the interval is 2.1 times as wide as that of independent sessions",
    )
    shuffled = [medians[at] for at in (0, 9, 2, 7, 4, 5, 6, 3, 8, 1)]
    assert sentences(records, _steady(*[[median] for median in shuffled])) == ()
    assert sentences(records[:7], _steady(*[[median] for median in medians[:7]])) == ()


def test_what_sessions_say_is_passed_on_once():
    records = [_record(n, warnings=("the governor changed", "the governor changed")) for n in range(2)]
    steady = _steady([1.0], [1.0], [1.0])
    assert sentences([*records, _record(2)], steady) == ("the governor changed (in 2 of 3 sessions)",)


def test_a_trial_without_a_session_has_none():
    assert sentences([], _steady()) == ()
    failed = _record(0, "crash", golden=None, failure=Failure(what="SIGSEGV", stage="load"))
    assert sentences([failed], _steady()) == ()


def test_rejected_readings_of_a_meter_without_an_address_have_no_second_colon():
    noisy = {"kind": "fnb58", "address": "", "rejected": 2, "rejected_first": []}
    [sentence] = sentences([record.model_copy(update={"probes": (noisy,)}) for record in THREE], CALM)
    assert sentence.startswith("fnb58: 6 readings were rejected (in 3 of 3 sessions)")


def test_rejected_readings_are_counted_over_the_sessions_with_the_first_of_them():
    noisy = {"kind": "ina", "address": "0", "rejected": 2, "rejected_first": ["in=-1.0", "?"]}
    silent = {"kind": "rapl", "address": "", "rejected": 0, "rejected_first": []}
    records = [
        record.model_copy(update={"probes": (silent, noisy) if n else (silent,)})
        for n, record in enumerate(THREE)
    ]
    [sentence] = sentences(records, CALM)
    assert sentence == (
        "ina:0: 4 readings were rejected, the first was 'in=-1.0' (in 2 of 3 sessions); they are not used"
    )


def test_a_meter_that_was_asked_for_and_is_not_there_is_a_warning():
    records = [
        record.model_copy(update={"probe_reasons": {"rapl:": "rapl: no permission", "": "no other meter"}})
        for record in THREE
    ]
    assert sentences(records, CALM) == ("no power: rapl: no permission (in 3 of 3 sessions)",)
    lost = {"kind": "rapl", "address": ""}
    records = [record.model_copy(update={"probes": (lost,)}) for record in records]
    [sentence] = sentences(records, CALM)
    assert "what it did not sample is missing" in sentence
