"""Boards from the command line, with a stand-in for ssh: run, targets, doctor, and names kept apart."""

import json
import sys

import pytest

from edgebench.cli.common import complete_target
from edgebench.errors import UsageError
from tests.cli.conftest import HOST

EXPORTS = ("out.html", "out.md", "out.csv", "out.json")
NAMES = ("quokkauser", "quokkaboard")


def test_a_board_of_the_targets_file_is_measured(measured_far):
    field, done = measured_far
    assert done.returncode == 0, done.stderr
    record = json.loads((field.folder / "results/first/experiment.json").read_text())
    [target] = record["targets"]
    assert (target["name"], target["host"], target["mass_g"]) == ("far", HOST, 140.0)
    session = json.loads(
        next(field.folder.glob("results/first/trials/*/sessions/000/session.json")).read_text()
    )
    assert session["status"] == "ok"
    device = session["device"]
    assert {"soc", "packages", "usb_accelerators", "power_mode", "disk_available_bytes"} <= set(device)
    assert "numpy" in device["packages"]
    assert "private" not in device


def test_mass_and_size_of_the_file_reach_the_verdicts(measured_far):
    field, _ = measured_far
    (field.folder / "body.toml").write_text(
        'schema_version = 1\nname = "body"\ntitle = "body"\n'
        '[[requirements]]\nname = "mass"\nquantity = "mass_g"\nlimit = 139\nunit = "g"\n'
        '[[requirements]]\nname = "size"\nquantity = "size_mm"\nlimit = [10, 70, 80]\nunit = "mm"\n'
    )
    done = field.call("fit", "first", "--profile", "body.toml", "--json")
    assert done.exit_code == 3, done.output
    found = {one["requirement"]: one["verdict"] for one in json.loads(done.stdout)["verdicts"]}
    assert found == {"mass": "fail", "size": "pass"}


def test_names_of_host_and_user_stand_in_the_targets_only(measured_far):
    field, _ = measured_far
    for path in sorted((field.folder / "results/first").rglob("*")):
        if path.is_file() and path.name != "experiment.json":
            assert not any(name.encode() in path.read_bytes() for name in NAMES), path
    record = json.loads((field.folder / "results/first/experiment.json").read_text())
    targets = json.dumps(record.pop("targets"))
    assert all(name in targets for name in NAMES)
    assert not any(name in json.dumps(record) for name in NAMES)


@pytest.mark.parametrize("name", EXPORTS)
def test_no_export_names_host_or_user(measured_far, name):
    field, _ = measured_far
    assert field.call("report", "first", "-o", name).exit_code == 0
    text = (field.folder / name).read_text()
    assert "far" in text
    assert not any(word in text for word in NAMES)


def test_no_table_and_no_json_names_host_or_user(measured_far):
    field, _ = measured_far
    for words in (("show", "first"), ("show", "first", "--json")):
        done = field.call(*words)
        assert done.exit_code == 0
        assert "far" in done.stdout
        assert not any(word in done.stdout for word in NAMES)


def test_a_device_with_a_host_is_measured_there_and_the_commands_host_is_masked(field):
    done = field.run(
        *field.toy("--host", HOST, "--python", sys.executable, "--sessions", "1", "--depth", "0.25"),
        "--precision", "int8", "--name", "flags",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert field.call("report", "flags", "-o", "out.html").exit_code == 0
    page = (field.folder / "out.html").read_text()
    assert "--host ..." in page
    assert not any(word in page for word in NAMES)
    record = json.loads((field.folder / "results/flags/experiment.json").read_text())
    assert record["config"]["host"] == {"value": "...", "origin": "flag"}
    cleaned = field.call("targets", "clean", "--device", "toy", "--host", HOST, "--python", sys.executable)
    assert cleaned.exit_code == 0, cleaned.output
    assert "removed" in cleaned.output
    assert not [path for path in (field.folder / "placed").rglob("*") if path.is_file()]


def test_a_board_that_cannot_be_opened_fails_its_own_trials_without_its_name(field):
    done = field.call(
        "run", "-t", "gone", "-t", "far", "--scene", "scene.png", "--images", "images", "--sessions", "1",
        "--passes", "1", "--depth", "0.25", "--precision", "int8", "--name", "two",
    )  # fmt: skip
    assert done.exit_code == 5, done.output
    records = [json.loads(path.read_text()) for path in field.folder.glob("results/two/**/session.json")]
    assert {record["status"] for record in records} == {"ok", "lost_connection"}
    told = json.dumps([record["failure"] for record in records])
    assert "on (host)" in told
    assert not any(name in told for name in NAMES)


def test_targets_are_listed(field):
    done = field.call("targets", "list", "--json")
    listed = json.loads(done.stdout)
    assert [one["name"] for one in listed["targets"]] == ["far", "gone"]
    assert listed["targets"][0]["size_mm"] == [10, 60, 80]
    table = field.call("targets", "list").stdout
    assert "140 g" in table and "10 x 60 x 80 mm" in table


def test_check_describes_the_board_and_says_what_is_missing(field):
    done = field.call("targets", "check", "--json")
    assert done.exit_code == 1, done.output
    far, gone = json.loads(done.stdout)["targets"]
    assert far["facts"]["packages"]["numpy"]
    assert "private" not in far["facts"]
    assert {"python", "numpy", "disk"} <= {one["subject"] for one in far["findings"]}
    assert gone["facts"] is None
    [finding] = gone["findings"]
    assert (finding["level"], finding["subject"]) == ("error", "connection")
    assert finding["fix"]
    text = field.call("targets", "check", "far").stdout
    assert all(word in text for word in ("board", "soc", "memory_bytes", "not known", "ok"))


def test_doctor_looks_at_a_target(field):
    done = field.call("doctor", "--target", "far", "--json")
    assert done.exit_code == 0, done.output
    findings = json.loads(done.stdout)["findings"]
    assert {one["target"] for one in findings} == {"far"}
    assert "numpy" in {one["subject"] for one in findings}


def test_a_power_mode_that_the_board_lacks_is_a_usage_error(field):
    done = field.call(*field.toy("--power-mode", "MAXN", "--depth", "0.25", "--precision", "int8"))
    assert isinstance(done.exception, UsageError)
    assert "no power modes" in done.exception.what
    check = field.call("targets", "check", "far", "--power-mode", "MAXN")
    assert check.exit_code == 1
    assert "no power modes" in " ".join(check.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--target", "fa"), "did you mean 'far'"),
        (("run", "--target", "far", "--host", HOST), "--host belongs to --device"),
        (("run", "--device", "toy", "--host", "-oProxyCommand=x"), "no address"),
        (("targets", "check", "--host", HOST), "--device"),
        (("targets", "clean"), "no target was named"),
        (("targets", "clean", "--device", "toy"), "reached by SSH"),
        (("doctor", "--host", HOST), "add --device"),
        (("targets", "list", "--targets-file", "none.toml"), "none.toml"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error_with_its_fix(measured_far, words, said):
    field, _ = measured_far
    done = field.call(*words)
    assert isinstance(done.exception, UsageError), done.output
    assert said in str(done.exception)
    assert done.exception.fix


def test_the_shell_completes_targets(tmp_path, monkeypatch):
    class Context:
        params = {"targets_file": None}  # noqa: RUF012

    context = Context()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert complete_target(context, "") == []  # type: ignore[arg-type]
    path = tmp_path / "targets.toml"
    path.write_text('[[targets]]\nname = "nano"\ndevice = "cpu"\n[[targets]]\nname = "pi"\ndevice = "cpu"\n')
    assert complete_target(context, "n") == ["nano"]  # type: ignore[arg-type]
    path.write_text("not TOML")
    assert complete_target(context, "") == []  # type: ignore[arg-type]
