"""`--reference`: published figures judged without a result, each marked as published, with its source."""

import csv
import io
import json

import jsonschema
import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UsageError
from edgebench.report.schemas import schema

STUDY = "arXiv 2301.04954"
EXPECTED = {
    "jetson-nano": {"image_s": "unknown", "power_peak_w": "fail"},
    "ncs2": {"image_s": "unknown", "power_peak_w": "fail"},
    "coral-mini": {"image_s": "pass", "power_peak_w": "pass"},
    "coral-usb": {"image_s": "pass", "power_peak_w": "pass"},
    "coral-micro": {"image_s": "unknown", "power_peak_w": "unknown"},
    "cortex-m7": {"image_s": "unknown", "power_peak_w": "unknown"},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No result is there, nor the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def judged():
    done = call("fit", "--reference", "--json")
    assert done.exit_code == 3, done.output
    return json.loads(done.stdout)


def test_the_studys_verdicts_come_out_with_their_source(judged):
    targets = {trial["key"]: trial["target"] for trial in judged["trials"]}
    for profile in ("disco-realtime", "disco-arctic", "disco-greenland"):
        verdicts = [each for each in judged["verdicts"] if each["profile"] == profile]
        for target, expected in EXPECTED.items():
            mine = {each["metric"]: each for each in verdicts if targets[each["trial"]] == target}
            assert {quantity: mine[quantity]["verdict"] for quantity in expected} == expected
            assert mine["mass_g"]["verdict"] == "unknown"  # no source gives that of any
            sized = target in ("jetson-nano", "ncs2", "coral-mini", "coral-usb")
            assert mine["size_mm"]["verdict"] == ("fail" if sized else "unknown")
            assert STUDY in mine["power_peak_w"]["reason"]
        [nano] = [
            each
            for each in verdicts
            if targets[each["trial"]] == "jetson-nano" and each["metric"] == "power_peak_w"
        ]
        assert '"exceeds 5 W peak"' in nano["reason"]
        assert (nano["bound"], nano["low"], nano["high"], nano["value"]) == ("above", 5.0, None, None)


def test_the_document_is_one_and_every_trial_is_marked(judged):
    jsonschema.Draft202012Validator(schema("result")).validate(judged)
    assert len(judged["trials"]) == 22
    for trial in judged["trials"]:
        assert trial["marks"] in (["published"], ["published", "extrapolated"])
        published = [each for each in trial["estimates"].values() if each["basis"] == "published"]
        assert published and all(estimate["notes"] for estimate in published)
    [share] = [
        trial["estimates"]["accuracy"]
        for trial in judged["trials"]
        if trial["estimates"]["accuracy"]["n"] and trial["variant"] == "mobilenet_v1-1.0-int8"
    ]
    assert (share["value"], share["n"]) == (pytest.approx(672 / 734, rel=1e-12), 734)
    [slow] = [
        trial
        for trial in judged["trials"]
        if trial["target"] == "stm32h747" and trial["depth_multiplier"] == 1
    ]
    infer_s = slow["estimates"]["infer_s"]
    assert (infer_s["value"], infer_s["low"]) == (pytest.approx(656.736), None) and infer_s["reason"]
    assert slow["estimates"]["image_s"]["value"] is None


def test_the_terminal_says_what_was_published_within_80_columns():
    done = call("fit", "--reference", "--profile", "disco-realtime", "--details")
    assert done.exit_code == 3
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1] == "Published figures: none of them was measured here"
    assert any(line.startswith("jetson-nano ") and line.rstrip().endswith("✕ peak power") for line in lines)
    text = " ".join(done.stdout.split())
    assert "No variant is shown to satisfy it." in text and "✕ above 5.00 W" in text
    assert (
        'jetson-nano and ncs2: peak power fail: the bound misses the limit; "exceeds 5 W peak" (Reaching'
        in text
    )


def test_a_profile_of_ones_own_is_judged_and_sets_the_exit_code(elsewhere):
    (elsewhere / "mine.toml").write_text(
        'name = "mine"\n[[requirements]]\nname = "right"\nquantity = "accuracy"\nlimit = 0.5\n'
    )
    assert call("fit", "--reference", "--profile", "mine.toml").exit_code == 0
    assert call("fit", "--reference", "--profile", "mine.toml", "--strict").exit_code == 4


def verdicts_of(target, quantity, *words):
    done = call("fit", "--reference", "--profile", "disco-realtime", "--json", *words)
    document = json.loads(done.stdout)
    keys = {trial["key"] for trial in document["trials"] if trial["target"] == target}
    return {
        (each["verdict"], each["reason"])
        for each in document["verdicts"]
        if each["metric"] == quantity and each["trial"] in keys
    }


def test_a_board_that_is_named_gives_mass_and_size():
    [(before, _)] = verdicts_of("coral-micro", "mass_g")
    [(word, reason)] = verdicts_of("coral-micro", "mass_g", "--board", "coral-micro=raspberry-pi-4b")
    assert (before, word) == ("unknown", "pass") and reason.startswith("the value meets the limit")
    board = ("--board", "coral-usb=coral-m2-ae", "--board", "coral-usb=raspberry-pi-4b")
    assert {word for word, _ in verdicts_of("coral-usb", "mass_g", *board)} == {"pass"}
    done = call("fit", "--reference", *board)
    assert "note: coral-usb: mass and size of Coral M.2" in " ".join(done.output.split())


def test_a_board_of_no_target_is_refused():
    for board in ("raspberry-pi-4b", "nix=raspberry-pi-4b", "coral-usb=nix"):
        assert isinstance(call("fit", "--reference", "--board", board).exception, UsageError)


def test_inference_alone_above_the_limit_of_an_image_is_a_miss():
    [(word, reason)] = verdicts_of("coral-dev-board-cpu", "image_s")
    assert word == "fail" and "infer_s, a part of image_s, is at least 71.6 s" in reason
    assert {word for word, _ in verdicts_of("coral-dev-board", "image_s")} == {"unknown"}


@pytest.mark.parametrize("suffix", ["html", "md", "json", "csv"])
def test_a_report_of_them_says_that_they_are_published(elsewhere, suffix):
    done = call("report", "--reference", "--profile", "disco-realtime", "-o", f"theirs.{suffix}")
    assert done.exit_code == 0, done.output
    text = (elsewhere / f"theirs.{suffix}").read_text()
    assert "published" in text
    if suffix == "csv":
        rows = {row["target"]: row for row in csv.DictReader(io.StringIO(text))}
        assert rows["ncs2"]["verdict:disco-realtime:peak power"] == "fail"
        assert rows["ncs2"]["power_peak_w_low"] == "5.0" and not rows["ncs2"]["power_peak_w_high"]
        assert rows["coral-usb"]["image_s_high"] == "4.42"
        assert rows["coral-usb"]["marks"] == "published"
    if suffix == "html":
        assert "Published figures: none of them was measured here" in text
        assert "1 session" not in text


@pytest.mark.parametrize("command", ["fit", "report"])
@pytest.mark.parametrize(
    "words", [("latest",), ("--declared-power", "5:maximum:label"), ("--output-dir", ".")]
)
def test_it_is_never_judged_together_with_what_was_measured(command, words):
    done = call(command, "--reference", *words)
    assert isinstance(done.exception, UsageError)
    assert "leave them out" in done.exception.fix


def test_the_first_table_has_the_published_inference_times():
    """A bound on the latency leaves the column of numbers to the inference time."""
    done = call("fit", "--reference")
    heading, _ = " ".join(done.output.split()).split("disco-flowers: 0.25 fp32", 1)
    assert "Inference" in heading
    rows = [line.split() for line in done.output.splitlines() if line.startswith("coral-dev-board-cpu")]
    assert rows[0][1] == "71.6"
