"""What `edgebench fit` says beyond its verdicts, and its option --pareto."""

import json

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UsageError
from tests.synthetic_results import QUARTER, made_experiment

PROFILE = """
name = "tight"
[[requirements]]
name = "latency"
limit = "0.1 s"
[[requirements]]
name = "accuracy"
quantity = "accuracy"
limit = 0.5
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    (folder / "tight.toml").write_text(PROFILE)
    made = made_experiment(folder, variants=QUARTER)
    return ["fit", str(made), "--profile", str(folder / "tight.toml")]


def test_details_have_it(words):
    text = CliRunner().invoke(app, [*words, "--details"]).stdout
    for heading in ("What would pass", "Pareto front"):
        assert f"\n{heading}\n" in text
    flat = " ".join(text.split())
    assert "tight: latency per image ≤ 0.2" in flat and "in place of 0.100 s" in flat
    assert "with 0.25 int8" in flat
    assert max(map(len, text.splitlines())) <= 80


def test_the_document_has_it(words):
    plain = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    (decision,) = plain["decisions"]
    (limited,) = decision["open"]
    (relaxed,) = limited["next_steps"]
    verdict = next(
        verdict
        for verdict in plain["verdicts"]
        if (verdict["trial"], verdict["requirement"]) == (decision["trial"], "latency")
    )
    assert (relaxed["kind"], relaxed["limit"]) == ("relax", verdict["high"])
    assert verdict["next_steps"] == [relaxed]
    assert [axis["metric"] for axis in plain["pareto"][0]["axes"]] == ["image_s", "accuracy"]
    assert not {"nearest", "excluded_by"} & set(plain)


def test_the_quantities_of_the_front_can_be_named(words):
    done = CliRunner().invoke(app, [*words, "--json", "--pareto", "artifact_bytes,accuracy"])
    (front,) = json.loads(done.stdout)["pareto"]
    assert front["profile"] == ""
    assert [(axis["metric"], axis["better"]) for axis in front["axes"]] == [
        ("artifact_bytes", "lower"),
        ("accuracy", "higher"),
    ]


def test_a_quantity_that_is_none_is_refused(words):
    done = CliRunner().invoke(app, [*words, "--pareto", "image_t"])
    assert isinstance(done.exception, UsageError) and "did you mean 'image_s'" in done.exception.fix


def test_published_figures_have_no_front_of_their_own():
    done = CliRunner().invoke(app, ["fit", "--reference", "--pareto", "image_s"])
    assert isinstance(done.exception, UsageError) and "--pareto" in done.exception.why
