from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.judge.requirements.profile import load_profile
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import Estimate, SceneOfTrial
from edgebench.records.stored import ImagesRecord
from edgebench.records.values import PictureReading
from edgebench.report import words
from edgebench.report.renderers.markdown import export_markdown
from edgebench.results.load import StoredResults
from tests.report import samples


@pytest.mark.parametrize(
    ("median", "half", "text"),
    [
        (0.231, 0.004, "0.231 ±0.004"),
        (0.2312, 0.00004, "0.23120 ±0.00004"),
        (2.4129, 0.05, "2.41 ±0.05"),
        (123.4, 7.1, "123 ±8"),
        (12.0, 0.0, "12.0"),
    ],
)
def test_an_interval_reads_as_median_and_half_width(median: float, half: float, text: str) -> None:
    assert words.interval(Estimate(median, median - half, median + half)) == text


def test_a_wide_interval_reads_as_its_ends() -> None:
    assert words.interval(Estimate(0.92, 0.10, 8.7)) == "0.920 (0.100 to 8.700)"


def test_an_interval_that_is_missing_is_never_a_zero() -> None:
    assert words.interval(Estimate()) == words.MISSING
    assert words.interval(Estimate(0.5)) == "0.500"


@given(st.floats(1e-4, 1e4), st.floats(1e-9, words.LOPSIDED * 0.999))
def test_rounding_never_narrows_an_interval(median: float, share: float) -> None:
    half = share * median
    text = words.interval(Estimate(median, median - half, median + half))
    shown = float(text.split("±")[1])
    assert shown >= half * (1 - 1e-6)


@given(st.floats(1e-4, 1e4), st.floats(words.LOPSIDED * 1.001, 10))
def test_rounding_never_narrows_a_wide_interval(median: float, share: float) -> None:
    low, high = median / (1 + share), median * (1 + share)
    shown = re.search(r"\((\S+) to (\S+)\)", words.interval(Estimate(median, low, high)))
    assert shown is not None
    assert 0 <= float(shown[1]) <= low * (1 + 1e-6) and float(shown[2]) >= high * (1 - 1e-6)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (words.number(1e300), "1.00e+300"),
        (words.number(9.99e14), "999000000000000"),
        (words.signed(-1.234e17), "-1.23e+17"),
        (words.count(1e300), "1.00e+300"),
        (words.estimate(1.2341e300, 1.2340e300, 1.2342e300), "1.23e+300 ±1.00e+296"),
        (words.estimate(1e300, 1.0001e-9, 1.2301e300), "1.00e+300 (0 to 1.24e+300)"),
    ],
)
def test_what_no_device_takes_has_an_exponent_and_no_hundreds_of_digits(text: str, shown: str) -> None:
    assert text == shown


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "-"), (812, "812 B"), (812_000, "812 kB"), (61_234_567, "61.2 MB"), (3_460_000_000, "3.46 GB")],
)
def test_sizes_are_decimal(count: int | None, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4.19, "+4.19"), (-0.21, "-0.210"), (269.77, "+269.77"), (0.0, "+0.00")]
)
def test_a_margin_has_a_sign(value: float, text: str) -> None:
    assert words.signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1e-12, "0"), (6e-10, "0.000000001"), (0.0123, "0.0123")]
)
def test_what_rounds_to_nothing_is_one_digit(value: float, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.227 to 0.235 s", 0.227),
        ("+71.45 s", 71.45),
        ("-3.20 points", -3.2),
        ("341,066,722", 341066722),
        ("87/100", 0.87),
        ("1.5e-05", 1.5e-05),
    ],
)
def test_a_cell_without_a_number_of_its_own_sorts_by_its_text(text: str, value: float) -> None:
    assert float(words.sort_value(text)) == value
    assert words.sort_value("unknown") == words.sort_value("-") == ""


def test_findings_of_several_targets_name_theirs() -> None:
    findings = [{"target": "nano", "subject": "clocks"}, {"target": "nano, orin", "subject": "load"}]
    assert words.subjects(findings) == ["nano: clocks", "nano, orin: load"]
    assert words.subjects(findings[:1]) == ["clocks"]


def test_what_is_not_a_number_is_not_shown_as_one() -> None:
    assert words.number(math.nan) == words.MISSING
    assert words.signed(math.inf) == words.MISSING


def test_control_and_direction_characters_are_not_passed_on() -> None:
    assert words.plain("a\x1b[31mb\u202ec\nd") == "a\ufffd[31mb\ufffdc d"
    assert words.plain("x" * 1000, 10) == "x" * 9 + "…"


def test_labels_tell_trials_apart_only_by_what_differs() -> None:
    assert list(words.labels(samples.nine()).values())[:3] == ["0.25 fp32", "0.25 fp16", "0.25 int8"]
    single, other = samples.summary(), samples.summary(batch=8, key="f" * 16)
    assert set(words.labels([single, other]).values()) == {"0.25 int8 b1", "0.25 int8 b8"}
    twins = [samples.summary(key="a" * 16), samples.summary(key="b" * 16)]
    assert len(set(words.labels(twins).values())) == 2


def test_requirements_read_as_formulas() -> None:
    assert set(map(words.limit, samples.REQUIREMENTS)) == {
        "latency per image ≤ 4.42 s",
        "peak power ≤ 5 W",
        "mass ≤ 150 g",
        "size ≤ 10 x 70 x 80 mm",
    }


def test_an_averaging_time_is_part_of_the_formula_of_verdict_and_profile() -> None:
    power = samples.REQUIREMENTS[1].model_copy(update={"averaging_s": 1.0})
    assert words.limit(power) == "peak power over 1 s ≤ 5 W"
    assert "peak power over 1 s ≤ 5 W" in map(words.limit, load_profile("disco-realtime").requirements)


def test_the_value_of_power_is_shown_with_what_the_meter_covers() -> None:
    _, power, *_ = samples.verdicts([samples.summary()], ("disco-realtime",))
    assert words.value(replace(power, estimate=Estimate(4.25, basis="chip"))) == "4.25 W (chip)"
    assert words.value(replace(power, estimate=Estimate(4.25))) == "4.25 W"


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ((0.231, 0.2275, 0.2346), "0.231 ±0.004 s"),
        ((0.92, 0.1, 8.7), "0.920 (0.100 to 8.700) s"),
        ((0.32, 0.1361, 0.5042), "0.320 (0.136 to 0.505) s"),
        ((3.2, 3.183, None), "3.20 s, from 3.18"),
        ((3.2, None, None), "3.20 s"),
        ((None, 1.0, 2.0), "1.00 to 2.00 s"),
        ((None, 1.0, None), "from 1.00 s"),
        ((None, None, 2.0), "up to 2.00 s"),
        ((None, None, None), "-"),
        ((math.nan, 1.0, math.inf), "from 1.00 s"),
    ],
)
def test_an_estimate_has_as_many_digits_as_its_interval_and_ends_rounded_outward(figure, text) -> None:
    low, high = (*figure[1:], None, None)[:2]
    assert words.estimate(figure[0], low, high, " s") == text


def test_a_verdict_shows_the_figure_with_its_interval_or_the_bound() -> None:
    verdict = samples.latency(samples.summary(), "disco-realtime")
    assert words.judged(verdict) == "0.230 ±0.004 s"
    assert words.judged(replace(verdict, estimate=Estimate(low=5.0, strict=True))) == "above 5.00 s"


def test_a_model_without_depth_is_called_by_its_name() -> None:
    tower = samples.summary(0.25, "int8")
    own = [
        replace(tower, key=str(number), variant=f"{name}-int8", depth_multiplier=None)
        for number, name in enumerate(("my-net-1a2b3c4d", "two-0a0b0c0d"))
    ]
    assert list(words.labels([tower, *own]).values()) == [
        "mobilenet_v1 0.25 int8",
        "my-net-1a2b3c4d int8",
        "two-0a0b0c0d int8",
    ]
    assert words.labels([tower]) == {tower.key: "0.25 int8"}
    assert words.labels(own[:1]) == {"0": "my-net-1a2b3c4d int8"}
    assert words.depth(None) == words.MISSING
    assert words.families(own) == "my-net-1a2b3c4d, two-0a0b0c0d"


def test_the_margin_of_a_percentage_is_in_points() -> None:
    verdict = samples.latency(samples.summary(), "disco-realtime")
    table = {"name": "a", "quantity": "accuracy", "limit": 97.0, "unit": "%"}
    accuracy = replace(verdict, requirement=Requirement.model_validate(table), margin=-0.01)
    assert words.margin(accuracy) == "-1.00 points"


def test_a_statistic_is_said_where_it_is_not_the_usual_one() -> None:
    assert words.judged_quantity("image_s", "median") == "latency per image"
    assert words.judged_quantity("image_s", "p99") == "latency per image (p99)"


def test_what_a_pass_is_is_said_where_trials_differ_in_it() -> None:
    whole = samples.summary(scene=SceneOfTrial("whole", covered=0.99951))
    cut = replace(whole, scene=SceneOfTrial("cut", covered=0.824))
    drawn = replace(whole, scene=SceneOfTrial("5 samples"))
    assert words.timed([whole, whole]) == []
    assert words.timed([cut]) == [cut]
    assert words.timed([drawn]) == [drawn]
    assert words.timed([whole, cut]) == [whole, cut]


def test_a_mark_stands_in_the_name_of_its_trial_alone() -> None:
    plain, marked = samples.summary(0.25), samples.summary(0.5, marks=("on the CPU",))
    names = words.labels([plain, marked])
    assert names == {plain.key: "0.25 int8", marked.key: "0.5 int8 on the CPU"}


def test_pictures_that_could_not_be_read_are_counted_at_the_accuracy() -> None:
    by = PictureReading("stretch", None, 96, 96, pillow="11.3.0")
    images = ImagesRecord(name="set", sha256="ab" * 32, n=9, labelled=True, reading=by, unreadable=3)
    assert words.reading(images).endswith("; 3 more could not be read.")


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (None, ""),
        (
            PictureReading("crop", 0.875, 224, 192, pillow="11.3.0"),
            "Pictures: cropped (share 87.5 %) to 192 x 224 pixels; bilinear with antialiasing; turned "
            "upright by EXIF; Pillow 11.3.0.",
        ),
        (
            PictureReading("pad", None, 96, 96, 1, pillow="11.3.0"),
            "Pictures: padded with black to 96 x 96 pixels; bilinear with antialiasing; grey; turned "
            "upright by EXIF; Pillow 11.3.0.",
        ),
    ],
)
def test_the_reading_of_pictures_stands_at_the_accuracy(
    reading: PictureReading | None, sentence: str
) -> None:
    images = ImagesRecord(name="set", sha256="ab" * 32, n=9, labelled=True, reading=reading)
    assert words.reading(images) == sentence
    record = samples.RECORD.model_copy(update={"images": images})
    results = StoredResults(Path("results/made"), record)
    text = export_markdown(samples.judged(samples.nine(), [], results))
    accuracy = text.partition("Accuracy\n")[2].partition("\n#")[0]
    assert "Images: set" in accuracy and ("Pillow 11.3.0" in accuracy) == bool(sentence)
