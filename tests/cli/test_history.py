"""`edgebench history`: what it prints, at 80 columns and as JSON, and what it says of bad input."""

import io
import json
import shlex
import shutil
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from edgebench.cli.common import complete_compared_metric, complete_followed_metric, complete_measured_target
from edgebench.cli.main import app
from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.comparisons.history import history
from edgebench.report.history import history_listing
from edgebench.report.renderers.terminal import make_console
from edgebench.report.schemas import schema
from edgebench.results.archive import unpack_archive, write_archive
from edgebench.results.listing import list_results
from tests.golden_text import assert_golden
from tests.judge.histories import FP32, VARIANT, put_series, template
from tests.synthetic_results import write_record

STEP = [1.0, 1.004, 0.997, 1.002, 0.999, 1.083, 1.08, 1.078, 1.081, 1.079]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten results, the last five 8 % slower, beside one that is damaged."""
    folder = tmp_path_factory.mktemp("history")
    put_series(folder / "results", template(folder / "made"), STEP)
    (folder / "results" / "bad\x1b[2J").mkdir()
    (folder / "results" / "bad\x1b[2J" / "experiment.json").write_text("{")
    return folder / "results"


def call(folder, *words, columns=80):
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(
        app, ["history", *words, "--output-dir", str(folder)], env=environment, catch_exceptions=True
    )


def test_several_trials_are_a_line_each_and_one_is_shown_result_by_result(folder):
    for name, words in (("history", []), ("history-of-one", ["cpu", "--trial", VARIANT])):
        done = call(folder, *words)
        assert done.exit_code == 0, done.exception
        lines = [line for line in done.stdout.splitlines() if not line.startswith("edgebench ")]
        assert max(map(len, lines)) <= 80
        text = done.stdout.replace(str(folder), "results")
        assert_golden(Path(__file__).parent / "golden" / f"{name}.txt", text)
        assert done.stderr.startswith("left out: bad\ufffd[2J: experiment.json is damaged")


def test_no_command_is_printed_where_none_names_one_series(tmp_path):
    made = template(tmp_path / "made")
    experiment, trials = made
    scene = experiment.scene.model_copy(update={"sha256": "ef" * 32})
    put_series(tmp_path / "results", made, STEP[:2])
    put_series(tmp_path / "more", (experiment.model_copy(update={"scene": scene}), trials), STEP[:3])
    (tmp_path / "more" / "r02").rename(tmp_path / "results" / "r02")
    assert call(tmp_path / "results").stdout.count(VARIANT) >= 2
    assert "Result by result" not in call(tmp_path / "results").stdout


def test_the_command_below_several_trials_shows_one_of_them(folder):
    done = call(folder, "--last", "9", "--since", "2025-01-02")
    command = shlex.split(done.stdout.splitlines()[-1])
    assert command[:2] == ["edgebench", "history"] and "--since" in command
    one = CliRunner().invoke(app, command[1:], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert [row.split()[1] for row in one.stdout.splitlines() if row.startswith("2025-")] == [
        f"r{number:02}" for number in range(1, 10)
    ]


def test_names_are_broken_between_words_and_targets_stay_whole(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    name = "20260701-101828-jetson-orin-nx-onnxruntime"
    stored, _ = list_results(folder)
    int8, fp32 = history(stored)
    file = io.StringIO()
    series = [replace(int8, target="jetson-nano"), replace(fp32, target="jetson-orin-nx")]
    history_listing(series, [], 0.03).show(make_console(file))
    assert {"jetson-nano: int8", "jetson-orin-nx: fp32"} <= {
        line.split("  ")[0] for line in file.getvalue().splitlines()
    }
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("COLUMNS", "80")
    file = io.StringIO()
    first = replace(int8.results[0], result=name)
    one = replace(int8, results=(first,), changes=())
    history_listing([one], [], 0.03).show(make_console(file))
    rows = file.getvalue().splitlines()
    at = next(number for number, line in enumerate(rows) if line.startswith("2025"))
    more = takewhile(lambda line: line.startswith(" "), rows[at + 1 :])
    parts = [rows[at].split()[1], *map(str.strip, more)]
    assert "".join(parts) == name and all(part.endswith("-") for part in parts[:-1])


@pytest.mark.attack("a table of one result is damaged: the history names it, and shows the others")
def test_a_damaged_result_is_named_and_left_out(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "results")
    damaged = tmp_path / "results" / "r04"
    for document in damaged.rglob("trial.json"):
        document.unlink()
    for session in damaged.rglob("session.json"):
        session.with_name("passes.parquet").write_bytes(b"PAR1")
    done = call(tmp_path / "results", "cpu", "--trial", VARIANT)
    assert done.exit_code == 0, done.exception
    assert [row.split()[1] for row in done.stdout.splitlines() if row.startswith("2025-01-")] == [
        f"r{number:02}" for number in range(10) if number != 4
    ]
    [line] = [line for line in done.stderr.splitlines() if line.startswith("left out: r04")]
    assert "passes.parquet is damaged" in line and str(tmp_path) not in line
    document = json.loads(call(tmp_path / "results", "--json").stdout)
    assert "r04" in [each["result"] for each in document["left_out"]]
    for number in (0, 1, 2, 3, 5, 6, 7, 8, 9):
        shutil.rmtree(tmp_path / "results" / f"r{number:02}")
    alone = call(tmp_path / "results")
    assert isinstance(alone.exception, StoredResultError) and "2 cannot be read" in alone.exception.why


def test_links_copies_and_imports_of_a_result_count_once(folder, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(folder, results)
    shutil.rmtree(next(results.glob("bad*")))
    before = json.loads(call(results, "--json").stdout)
    (results / "link").symlink_to(results / "r03")
    shutil.copytree(results / "r04", results / "copy")
    (results / "copy" / "experiment.json").touch()
    write_archive(results / "r05", tmp_path / "r05.zip", edgebench_version="1")
    unpack_archive(tmp_path / "r05.zip", results, "imported")
    shutil.rmtree(next((results / "r05").glob("trials/*/sessions/*")))  # the import has more sessions
    after = json.loads(call(results, "--json").stdout)
    names = [[point["result"] for point in series["results"]] for series in after["series"]]
    kept = [f"r{number:02}" for number in range(10)]
    kept[5] = "imported"
    assert names == [kept] * len(before["series"])
    assert {entry["result"]: entry["reason"] for entry in after["left_out"]} == {
        "link": "the same experiment as r03",
        "copy": "the same experiment as r04",
        "r05": "the same experiment as imported",
    }
    chosen = json.loads(call(results, "--json", "--baseline", "copy").stdout)
    assert "copy" in [point["result"] for point in chosen["series"][0]["results"]]


@pytest.mark.attack("a result is dated before the year 1: it is listed without a date")
def test_a_date_before_the_year_1_is_none(folder, tmp_path):
    shutil.copytree(folder / "r00", tmp_path / "r00")
    record = tmp_path / "r00" / "experiment.json"
    changed = json.loads(record.read_text()) | {"created_utc": "0001-01-01T00:00:00+14:00"}
    write_record(record, changed)
    done = CliRunner().invoke(app, ["results", "--json", "--output-dir", str(tmp_path)])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["results"][0]["result"] == "r00"


@pytest.mark.parametrize("name", ["0.25 int8", "cpu: 0.25 int8"])
def test_a_trial_is_called_as_tables_call_it(folder, name):
    document = json.loads(call(folder, "--json", "--trial", name).stdout)
    assert [series["variant"] for series in document["series"]] == [VARIANT]


def test_the_smallest_change_that_counts_is_in_percent_as_of_a_comparison(folder):
    document = json.loads(call(folder, "--json", "--trial", VARIANT, "--minimum-effect", "20").stdout)
    assert document["minimum_effect"] == pytest.approx(0.2)
    assert document["series"][0]["changes"] == []
    assert len(json.loads(call(folder, "--json", "--trial", VARIANT).stdout)["series"][0]["changes"]) == 1


def test_few_results_say_how_many_it_takes(folder):
    done = call(folder, "--last", "4")
    assert "A change point takes at least 8 results, and there are 4." in done.stdout
    assert "No change" not in done.stdout


def test_json_has_every_result_the_changes_and_what_was_left_out(folder):
    document = json.loads(call(folder, "--json", "--trial", VARIANT).stdout)
    Draft202012Validator(schema("history")).validate(document)
    [series] = document["series"]
    assert (series["metric"], series["unit"], series["better"]) == ("image_s", "s", "lower")
    assert [result["result"] for result in series["results"]] == [f"r{number:02}" for number in range(10)]
    assert series["results"][0]["to_previous"] is None
    assert series["results"][5]["to_previous"]["word"] == "worse"
    [change] = series["changes"]
    assert (change["result"], change["after_result"], change["word"]) == ("r05", "r04", "worse")
    assert change["ratio"] == pytest.approx(1.08, abs=0.005)
    assert [each["reason"][:26] for each in document["left_out"]] == ["experiment.json is damaged"]


def test_since_a_date_and_against_a_baseline(folder):
    document = json.loads(call(folder, "--json", "--since", "2025-01-06", "--baseline", "r07").stdout)
    results = document["series"][0]["results"]
    assert [result["result"] for result in results] == ["r05", "r06", "r07", "r08", "r09"]
    assert [result["to_baseline"] is None for result in results] == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("words", "kind", "what", "fix"),
    [
        (["nano"], UsageError, "no target 'nano'", "known: cpu"),
        (["--metric", "image"], UsageError, "no metric 'image'", "did you mean 'image_s'"),
        (["--trial", "int8"], UsageError, "no trial 'int8'", f"known: {VARIANT}, {FP32}"),
        (["--baseline", "r99"], UsageError, "no result 'r99'", "r09"),
        (["--since", "soon"], UsageError, "'soon' is not a date", "YYYY-MM-DD"),
        (["--since", "2031-01-01"], UsageError, "no result is as new", "2025-01-10"),
        (["--metric", "energy_j"], StoredResultError, "no result has energy_j", "--metric"),
    ],
)
def test_bad_input_says_what_would_do(folder, words, kind, what, fix):
    error = call(folder, *words).exception
    assert isinstance(error, kind)
    assert what in error.what
    assert fix in error.fix


def test_a_folder_without_results_says_how_to_begin(tmp_path):
    error = call(tmp_path / "none").exception
    assert isinstance(error, StoredResultError)
    assert error.what.startswith("there is no result in")
    assert "edgebench run" in error.fix


class Context:
    def __init__(self, output_dir):
        self.params = {"output_dir": output_dir}


def test_targets_and_metrics_are_completed(folder, tmp_path):
    assert complete_measured_target(Context(folder), "") == ["cpu"]  # type: ignore[arg-type]
    assert complete_measured_target(Context(folder), "n") == []  # type: ignore[arg-type]
    assert complete_measured_target(Context(tmp_path / "none"), "") == []  # type: ignore[arg-type]
    assert complete_followed_metric("energy") == ["energy_j"]
    assert complete_compared_metric("image_s,energy") == ["image_s,energy_j"]


def test_the_figure_is_written_in_the_form_of_its_ending(folder, tmp_path):
    done = call(folder, "--figure", str(tmp_path / "image_s.svg"))
    assert done.exit_code == 0, done.exception
    assert (tmp_path / "image_s.svg").read_bytes().startswith(b"<?xml")
    error = call(folder, "--figure", str(tmp_path / "image_s.gif")).exception
    assert isinstance(error, UsageError)
    assert ".png, .svg, .pdf" in error.fix
