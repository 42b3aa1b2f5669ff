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
    for heading in ("What would pass", "Pareto front", "What excludes targets"):
        assert f"\n{heading}\n" in text
    flat = " ".join(text.split())
    assert "cpu, tight: 0.25 int8 would pass with latency per image ≤ 0.2" in flat
    assert "cpu is excluded from tight by latency: all 3 trials fail it" in flat
    assert max(map(len, text.splitlines())) <= 80


def test_the_document_has_it(words):
    plain = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    (nearest,) = plain["nearest"]
    (relaxed,) = nearest["relax"]
    verdict = next(
        each
        for each in plain["verdicts"]
        if (each["trial"], each["requirement"]) == (nearest["trial"], "latency")
    )
    assert relaxed["to"] == verdict["high"]
    assert relaxed["by"] == pytest.approx(verdict["high"] - 0.1)
    assert [axis["quantity"] for axis in plain["pareto"][0]["axes"]] == ["image_s", "accuracy"]
    assert "ranking" not in plain
    assert [row["requirement"] for row in plain["excluded_by"]] == ["latency", "accuracy"]


def test_the_quantities_of_the_front_can_be_named(words):
    done = CliRunner().invoke(app, [*words, "--json", "--pareto", "artifact_bytes,accuracy"])
    (front,) = json.loads(done.stdout)["pareto"]
    assert front["profile"] == ""
    assert [(axis["quantity"], axis["better"]) for axis in front["axes"]] == [
        ("artifact_bytes", "lower"),
        ("accuracy", "higher"),
    ]


def test_a_quantity_that_is_none_is_refused(words):
    done = CliRunner().invoke(app, [*words, "--pareto", "image_t"])
    assert isinstance(done.exception, UsageError) and "did you mean 'image_s'" in done.exception.fix


def test_published_figures_have_no_front_of_their_own():
    done = CliRunner().invoke(app, ["fit", "--reference", "--pareto", "image_s"])
    assert isinstance(done.exception, UsageError) and "--pareto" in done.exception.why
