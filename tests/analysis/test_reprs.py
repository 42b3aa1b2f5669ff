"""What Python and notebooks show of results."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import edgebench
from edgebench.analysis.results import MOST_ROWS, table_html
from tests import synthetic_results


class Tags(HTMLParser):
    """The names of all elements, and the text of the cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def test_a_result_is_one_line_of_text(results: edgebench.Results) -> None:
    text = repr(results)
    assert text.startswith(f"Results({str(results.path)!r})")
    assert "made: 12 trials of 2 targets, begun 2025-03-01" in text and "\n" not in text


def test_a_notebook_shows_each_trial_with_figures_power_and_verdicts(results: edgebench.Results) -> None:
    html = results._repr_html_()
    texts = Tags(html).texts
    headings = texts[1 : texts.index("cpu")]
    assert headings[:4] == ["target", "variant", "status", "Latency per image, s"]
    assert {"Peak, W", "power by", "disco-realtime"} <= set(headings)
    assert html.count("<tr") == 1 + 12
    assert "0.292 ±0.003" in texts and "✕ fail" in texts and "not run" in texts
    assert any("12 MB" in text for text in texts)


def test_hostile_names_stay_text(hostile: Path) -> None:
    results = edgebench.load(hostile)
    for shown in (results, edgebench.concat([results])):
        html = shown._repr_html_()
        assert Tags(html).names == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert "&lt;script&gt;" in html and "\u202e" not in html + repr(shown)


def test_nothing_measured_is_shown_all_the_same(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, not_run=synthetic_results.QUARTER)
    assert edgebench.load(folder)._repr_html_().count("not run") == 3


def test_a_damaged_result_is_shown_with_what_is_wrong(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, variants=synthetic_results.QUARTER[:1])
    for table in folder.glob("trials/*/sessions/*/passes.parquet"):
        table.write_bytes(b"PAR1")
    html = edgebench.load(folder)._repr_html_()
    assert "is damaged" in html and "--resume" in html and "<table" not in html


def test_of_a_long_table_the_first_rows_are_shown() -> None:
    html = table_html("many", ["n"], [[str(n)] for n in range(MOST_ROWS + 2)])
    assert html.count("<td>") == MOST_ROWS and "and 2 more rows" in html


def test_the_package_tells_what_it_has() -> None:
    names = [name for name in dir(edgebench) if not name.startswith("_")]
    assert names == sorted({*edgebench.__all__} - {"__version__"})
    for name in names:
        assert f"edgebench.{name}" in (edgebench.__doc__ or "") or name[0].isupper(), name
        assert getattr(edgebench, name).__doc__


def test_all_that_results_have_is_documented() -> None:
    for kind in (edgebench.Results, type(edgebench.load).__class__):
        public = [name for name in dir(kind) if not name.startswith("_")]
        assert all(getattr(kind, name).__doc__ for name in public)
