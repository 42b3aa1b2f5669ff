"""A comparison as words, tables on the terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from edgebench.errors import StoredResultError
from edgebench.judge.comparisons.comparison import (
    MetricComparison,
    ResultsComparison,
    Threshold,
    compare_results,
)
from edgebench.report.comparison import (
    as_text,
    comparison_document,
    in_words,
    print_comparison,
    write_comparison,
)
from edgebench.report.plots.history import ratios
from edgebench.report.renderers.terminal import make_console
from edgebench.report.schemas import schema
from edgebench.results.load import StoredResults, load
from tests.golden_text import assert_golden
from tests.synthetic_results import HOSTILE, QUARTER, made_experiment

FP32, FP16, INT8 = QUARTER
GOLDEN = Path(__file__).parent / "golden"


def ratio(difference: float, low: float | None, high: float | None, **changes: object) -> MetricComparison:
    item = MetricComparison("image_s", "s", "worse", 1.0, difference, "ratio", difference, low, high)
    return replace(item, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (ratio(1 / 1.93, 1 / 1.96, 1 / 1.902), "1.93 ±0.03 times faster"),
        (ratio(2.5, 2.4, 2.6), "2.50 ±0.10 times slower"),
        (ratio(2.5, 1.2, 5.3), "2.50 (1.20 to 5.30) times slower"),
        (ratio(1.041, 1.02, 1.062), "4.1 % slower (2.0 to 6.2)"),
        (ratio(0.95, 0.94, 0.96), "5.0 % faster (4.0 to 6.0)"),
        (ratio(1.04, 1.0391, 1.0409), "4.00 % slower (3.91 to 4.09)"),
        (ratio(1.004, 0.9961, 1.0119, word="same"), "same within 3 % (-0.4 to +1.2)"),
        (ratio(1.012, 0.98, 1.044, word="undecided"), "+1.2 % (-2.0 to +4.4)"),
        (ratio(1.1, None, None, word="undecided"), "+10.0 %, no interval"),
        (ratio(1.0, 1.0, 1.0, word="same", identical=True), "the very same sessions"),
        (ratio(0.7, 0.69, 0.71, metric="energy_j"), "30.0 % less energy (29.0 to 31.0)"),
        (ratio(1.2, 1.19, 1.21, metric="power_mean_w"), "20.0 % more power (19.0 to 21.0)"),
        (ratio(2.0, 2.0, 2.0, metric="artifact_bytes"), "2.00 times larger"),
        (ratio(1.2, 1.2, 1.2, metric="mass_g"), "20.0 % heavier"),
        (ratio(1.0, 1.0, 1.0, metric="mass_g"), "equal"),
        (ratio(-1.2, -2.31, -0.1, scale="points", metric="accuracy"), "-1.2 points (-2.4 to -0.1)"),
        (
            ratio(0.1, -0.2, 0.3, scale="points", metric="accuracy", word="same"),
            "same within 1 point (-0.2 to +0.3)",
        ),
        (MetricComparison("image_s", "s", "not compared"), "-"),
    ],
)
def test_a_difference_is_said_as_people_say_it(item: MetricComparison, text: str) -> None:
    assert in_words(item, Threshold()) == text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def baseline(folder: Path) -> StoredResults:
    return load(made_experiment(folder, name="baseline", sessions=5, images=20))


@pytest.fixture(scope="module")
def comparison(folder: Path, baseline: StoredResults) -> ResultsComparison:
    """Quicker, slower and alike; a trial that failed; one without a partner; a note and differences."""
    changed = made_experiment(
        folder, name="changed", sessions=5, images=20, seed=8, image_s={FP32: 0.15, FP16: 0.34}, power=True
    )
    lacking = made_experiment(folder, name="lacking", sessions=2, images=0, seed=9, variants=(FP32, INT8))
    return compare_results([baseline, load(changed), load(lacking)])


def printed(comparison: ResultsComparison, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    file = io.StringIO()
    print_comparison(make_console(file), comparison)
    return file.getvalue().splitlines()


def test_terminal_and_markdown_show_all_of_it(
    comparison: ResultsComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_golden(GOLDEN / "comparison.txt", "\n".join(printed(comparison, 80, monkeypatch)))
    assert_golden(GOLDEN / "comparison.md", as_text(comparison, "md"))


@pytest.mark.parametrize("width", [44, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    comparison: ResultsComparison, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(map(len, printed(comparison, width, monkeypatch))) <= width


def test_what_is_the_same_throughout_says_so(
    baseline: StoredResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(printed(compare_results([baseline, load(baseline.path)]), 100, monkeypatch))
    assert "Nothing else differs" in text and "6 comparisons: 6 the same." in text and "Holm" not in text


def test_the_document_is_what_its_schema_says(comparison: ResultsComparison) -> None:
    document = json.loads(as_text(comparison, "json"))
    Draft202012Validator(schema("comparison")).validate(document)
    assert document == json.loads(json.dumps(comparison_document(comparison)))
    counts = document["counts"]
    words = [
        item["word"] for each in document["results"] for pair in each["pairs"] for item in pair["comparisons"]
    ]
    assert sum(counts.values()) == len(words) and counts["worse"] == words.count("worse") == 1
    assert document["regressed"] and document["undecided"] and document["baseline"]["name"] == "baseline"
    first = document["results"][0]["pairs"][0]["comparisons"][0]
    assert first["in_words"].endswith("times faster") and first["low"] < first["difference"] < first["high"]
    assert document["results"][1]["only_baseline"][0]["variant"] == FP16


def test_csv_has_a_row_a_comparison(comparison: ResultsComparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_text(comparison, "csv"))))
    assert len(rows) == len(comparison.comparisons)
    assert {row["result"] for row in rows} == {"changed", "lacking"}
    assert rows[0]["metric"] == "image_s" and float(rows[0]["difference"]) < 0.6


def test_a_file_is_written_in_the_form_of_its_ending(comparison: ResultsComparison, tmp_path: Path) -> None:
    for form in ("md", "json", "csv"):
        path = tmp_path / f"out.{form}"
        write_comparison(comparison, path)
        assert path.read_text(encoding="utf-8") == as_text(comparison, form)
    (tmp_path / "taken.md").mkdir()
    with pytest.raises(StoredResultError, match="is no plain file"):
        write_comparison(comparison, tmp_path / "taken.md")


def test_names_from_outside_stay_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = load(made_experiment(folder, name="h1", sessions=3, images=0, hostile=True, variants=(FP32,)))
    b = load(
        made_experiment(folder, name="h2", sessions=3, images=0, hostile=True, variants=(FP32,), columns=6)
    )
    hostile = compare_results([a, b], metrics=["image_s", "load_s"])
    assert "\u202e" in HOSTILE
    for text in (as_text(hostile, "md"), "\n".join(printed(hostile, 80, monkeypatch))):
        assert "\u202e" not in text
    assert "<script>" not in as_text(hostile, "md")
    Draft202012Validator(schema("comparison")).validate(comparison_document(hostile))
    assert len(ratios(hostile)) == 1


def test_the_figure_has_a_panel_a_metric_and_a_line_a_pair(comparison: ResultsComparison) -> None:
    [image_s, accuracy] = ratios(comparison)
    assert len(image_s.get_yticks()) == 5 and image_s.get_xlabel().startswith("B over A (lower is better)")
    assert len(accuracy.get_yticks()) == 3 and "points (higher is better)" in accuracy.get_xlabel()
    low, high = image_s.get_xlim()
    assert low < 0.52 and high > 1.1


@pytest.mark.usefixtures("comparison")
def test_a_figure_without_anything_to_compare_says_so(folder: Path, baseline: StoredResults) -> None:
    nothing = compare_results([baseline, load(folder / "changed")], metrics=["energy_j"])
    [axes] = ratios(nothing)
    assert [text.get_text() for text in axes.texts] == ["nothing could be compared"]
