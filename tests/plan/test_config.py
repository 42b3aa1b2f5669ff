"""Where a setting comes from, and what is refused."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgebench.agent.bootstrap import board_folder
from edgebench.agent.lock import lock_place
from edgebench.cli.main import app
from edgebench.errors import UsageError
from edgebench.prepare.cache import default_cache_folder
from edgebench.results.listing import default_output_dir
from edgebench.run.config import read_config_files, resolve
from edgebench.run.settings import run_settings, unknown_variables


def test_flag_beats_environment_beats_project_beats_user_beats_default():
    resolved = resolve(
        {"sessions": 3, "passes": None},
        env={"EDGEBENCH_SESSIONS": "4", "EDGEBENCH_PASSES": "4"},
        project={"passes": 6, "seed": 6, "name": "p"},
        user={"seed": 8, "name": "u", "output_dir": "u"},
    )
    config, origins = resolved.config, resolved.origins
    assert (config.sessions, origins["sessions"]) == (3, "flag")
    assert (config.passes, origins["passes"]) == (4, "environment")
    assert (config.seed, origins["seed"]) == (6, "project file edgebench.toml")
    assert (config.name, config.output_dir, origins["output_dir"]) == ("p", Path("u"), "user file")
    assert (config.batch, origins["batch"]) == ((), "default")


def test_lists_from_the_environment_are_split_at_commas():
    config = resolve({}, env={"EDGEBENCH_DEVICE": "cpu, coral", "EDGEBENCH_DEPTH": "0.25,1"}).config
    assert config.device == ("cpu", "coral")
    assert config.depth == (0.25, 1.0)


def test_quick_is_a_flag_that_yields_to_flags_of_sessions_and_passes_alone():
    quick = resolve(
        {}, quick=True, env={"EDGEBENCH_SESSIONS": "8"}, project={"passes": 20}, user={"sessions": 9}
    )
    assert (quick.config.sessions, quick.config.passes) == (3, 3)
    assert (quick.origins["sessions"], quick.origins["passes"]) == ("--quick", "--quick")
    typed = resolve({"passes": 20}, quick=True, env={"EDGEBENCH_SESSIONS": "8"})
    assert (typed.config.sessions, typed.config.passes) == (3, 20)
    assert (typed.origins["sessions"], typed.origins["passes"]) == ("--quick", "flag")


def test_quick_leaves_the_sessions_to_a_rule_that_is_a_flag_and_limits_that_of_a_file():
    typed = resolve({"target_ci": "1%"}, quick=True, env={"EDGEBENCH_SESSIONS": "8"})
    assert (typed.config.sessions, typed.config.passes) == (8, 3)
    undecided = resolve({"decide": False}, quick=True, env={"EDGEBENCH_SESSIONS": "8"})
    assert undecided.config.sessions == 3
    filed = resolve({}, quick=True, project={"target_ci": "1%"})
    assert (filed.config.sessions, filed.origins["sessions"]) == (3, "--quick")


@pytest.mark.parametrize(
    ("flags", "quick", "project", "expected"),
    [
        ({"sustained": 30}, False, {"passes": 20}, (None, 30)),
        ({"sustained": 30}, True, {"passes": 20}, (None, 30)),
        ({"passes": 20}, False, {"sustained": 30}, (20, None)),
        ({}, True, {"sustained": 30}, (3, None)),
    ],
)
def test_passes_and_sustained_are_said_by_the_first_source_with_either(flags, quick, project, expected):
    resolved = resolve(flags, quick=quick, project=project)
    assert (resolved.config.passes, resolved.config.sustained) == expected
    unused = resolved.origins["passes"] == "not used with sustained"
    assert unused == (resolved.config.sustained is not None)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [({"patches": 2}, 3), ({"patches": 4}, 4), ({"patches": 4, "passes": 3}, 3)],
)
def test_quick_leaves_a_window_for_each_patch(flags, expected):
    assert resolve(flags, quick=True).config.passes == expected


@pytest.mark.parametrize(
    ("sources", "origin"),
    [
        ({"flags": {"passes": 5, "sustained": 30}}, "flag"),
        ({"flags": {}, "env": {"EDGEBENCH_PASSES": "5", "EDGEBENCH_SUSTAINED": "30"}}, "environment"),
        ({"flags": {}, "project": {"passes": 5, "sustained": 30}}, "project file"),
    ],
)
def test_one_source_says_either_passes_or_sustained(sources, origin):
    with pytest.raises(UsageError) as caught:
        resolve(**sources)
    assert origin in caught.value.why
    assert caught.value.fix


@pytest.mark.parametrize(
    ("flags", "project", "meters", "no_meter"),
    [
        ({"no_meter": True}, {"meter": ["rapl"]}, (), True),
        ({"meter": ["rapl"]}, {"no_meter": True}, ("rapl",), False),
    ],
)
def test_meters_and_no_meter_are_said_by_the_first_source_with_either(flags, project, meters, no_meter):
    config = resolve(flags, project=project).config
    assert (config.meter, config.no_meter) == (meters, no_meter)


def test_one_source_says_either_meters_or_none():
    with pytest.raises(UsageError, match="meter and no_meter exclude each other"):
        resolve({"meter": ["rapl"], "no_meter": True})


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ({"sessions": "0"}, "^--sessions: '0' is not at least 1"),
        ({"passes": "many"}, "^--passes: 'many' is not a whole number"),
        ({"batch": ["8", "0"]}, "^--batch: a batch of 0 patches is none"),
        ({"seed": "-1"}, "^--seed: '-1' is not at least 0"),
        ({"depth": ["0.5", "x"]}, "^--depth, second number: 'x' is not a number"),
        ({"period": "nan"}, "^--period: 'nan' is not a finite number"),
        ({"max_time": "0"}, "^--max-time: 0 s is out of range"),
        ({"max_time": "soon"}, "^--max-time: 'soon' is no duration"),
        ({"target_ci": "200%"}, "^--target-ci: 200% is out of range"),
        ({"target_ci": True}, "^--target-ci: 100% is out of range"),
        ({"max_time": False}, "^--max-time: 0 s is out of range"),
        ({"power_mode": 2}, "^--power-mode: 2 is not text"),
    ],
)
def test_a_bad_value_is_a_usage_error_that_names_flag_value_and_what_would_do(flags, word):
    with pytest.raises(UsageError, match=word) as caught:
        resolve(flags)
    assert "flag" in caught.value.why
    assert caught.value.fix


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        ({"env": {"EDGEBENCH_MAX_TIME": "0"}}, "^EDGEBENCH_MAX_TIME: "),
        ({"project": {"max_time": 0}}, "^max_time: "),
    ],
)
def test_a_bad_value_is_named_as_its_source_names_it(sources, name):
    with pytest.raises(UsageError, match=name):
        resolve({}, **sources)


def test_an_unknown_setting_of_a_file_is_named_with_the_known_ones():
    with pytest.raises(UsageError, match="sesions") as caught:
        resolve({}, project={"sesions": 3})
    assert "sessions" in caught.value.fix


def test_the_record_is_plain_json():
    import json

    record = resolve({"scene": Path("a.png")}).as_record()
    assert json.loads(json.dumps(record))["scene"] == {"value": "a.png", "origin": "flag"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("period", 0), ("period", "nan"), ("period", "inf"), ("sustained", -1), ("retries", -1)],
)
def test_paces_that_cannot_be_are_usage_errors(name, value):
    with pytest.raises(UsageError, match=name):
        resolve({name: value})


def test_a_pace_from_the_environment():
    config = resolve({}, env={"EDGEBENCH_PERIOD": "2.5", "EDGEBENCH_RETRIES": "3"}).config
    assert (config.period, config.sustained, config.retries) == (2.5, None, 3)


def test_numbers_of_the_input_and_the_cut_are_read_from_text():
    config = resolve(
        {"input_scale": "58.4,57.1,57.4", "input_mean": "127.5", "patch": "320X240", "model": ["a.tflite"]}
    ).config
    assert config.input_scale == (58.4, 57.1, 57.4)
    assert config.input_mean == (127.5,)
    assert config.patch == (320, 240)
    assert resolve({}, env={"EDGEBENCH_MODEL": "a.onnx, resnet50"}).config.model == ("a.onnx", "resnet50")
    assert resolve({}, project={"patch": [10, 20], "input_scale": 255}).config.input_scale == (255.0,)


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        ({"input_scale": "1,2"}, "input-scale: .*one number, or three"),
        ({"input_scale": "0"}, "input-scale: .*out of range"),
        ({"input_mean": "nan"}, "input-mean: .*out of range"),
        ({"input_mean": "a"}, "input-mean: .*one number"),
        ({"patch": "224"}, "patch: .*WIDTHxHEIGHT"),
        ({"patch": "0x5"}, "patch: .*out of range"),
        ({"stride": 0}, "stride"),
        ({"layout": "HWC"}, "layout"),
    ],
)
def test_numbers_that_cannot_be_are_usage_errors(flags, word):
    with pytest.raises(UsageError, match=word):
        resolve(flags)


def test_a_rule_for_the_end_changes_the_default_of_sessions_only():
    for flags, rule in (({"target_ci": "1%"}, "target-ci"), ({"decide": True}, "decide")):
        resolved = resolve(flags)
        assert (resolved.config.sessions, resolved.origins["sessions"]) == (30, f"default with {rule}")
        assert resolve({**flags, "sessions": 8}).config.sessions == 8
    assert resolve({"target_ci": "0.5%"}).config.target_ci == pytest.approx(0.005)
    plain = resolve({"max_time": "30m"})
    assert (plain.config.sessions, plain.config.max_time, plain.config.adaptive) == (5, 1800, False)
    quick = resolve({"target_ci": 0.01}, quick=True).config
    assert (quick.sessions, quick.passes) == (30, 3)


def test_rules_come_from_every_source():
    env = {"EDGEBENCH_TARGET_CI": "2%", "EDGEBENCH_DECIDE": "false", "EDGEBENCH_MAX_TIME": "1h"}
    resolved = resolve({}, env=env, project={"decide": True, "max_time": 60})
    config = resolved.config
    assert config.target_ci == pytest.approx(0.02)
    assert (config.decide, config.max_time) == (False, 3600)
    assert resolved.origins["target_ci"] == "environment"
    assert not resolve({"decide": False}, project={"decide": True}).config.adaptive
    assert resolve({"max_time": "2h"}).as_record()["max_time"] == {"value": 7200, "origin": "flag"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_ci", "0"),
        ("target_ci", "100%"),
        ("target_ci", "narrow"),
        ("max_time", "0"),
        ("max_time", "soon"),
        ("max_time", "inf"),
        ("decide", "perhaps"),
    ],
)
def test_rules_that_cannot_be_are_usage_errors(name, value):
    with pytest.raises(UsageError, match=f"^--{name.replace('_', '-')}"):
        resolve({name: value})


def test_a_rule_needs_the_sessions_of_an_interval():
    with pytest.raises(UsageError, match="2 is less than the 3") as caught:
        resolve({"decide": True, "sessions": 2})
    assert "flag" in caught.value.why


@pytest.mark.parametrize("text", ["sessions = ", "sessions = " + "9" * 5000, "a = " + "[" * 20_000])
def test_a_settings_file_that_is_no_toml_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edgebench.toml").write_text(text)
    with pytest.raises(UsageError):
        read_config_files()


def test_every_variable_that_the_product_reads_is_known():
    names = {
        name
        for folder in ("edgebench", "backends")
        for file in Path(folder).rglob("*.py")
        for name in re.findall(r"""["'](EDGEBENCH_[A-Z0-9_]+)["']""", file.read_text(encoding="utf-8"))
    }
    assert {"EDGEBENCH_CACHE_DIR", "EDGEBENCH_STAGE_TIMEOUT_S", "EDGEBENCH_TFLM"} <= names
    assert unknown_variables({*names, *(setting.environment for setting in run_settings().values())}) == {}


def test_an_unknown_variable_has_one_warning_with_the_nearest_names():
    unknown = {"EDGEBENCH_SESSION": "5", "EDGEBENCH_QQQQ": "", "EDGEBENCH_SESSIONS": "3", "EDGEBENCHES": ""}
    assert unknown_variables(unknown) == {
        "EDGEBENCH_QQQQ": "",
        "EDGEBENCH_SESSION": "did you mean 'EDGEBENCH_SESSIONS' or 'EDGEBENCH_SESSION_NUMBER'?",
    }
    command = [sys.executable, "-m", "edgebench", "profiles", "list", "--json"]
    environment = os.environ | {"EDGEBENCH_CACHEDIR": "/x"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.splitlines() == [
        "warning: EdgeBench has no variable EDGEBENCH_CACHEDIR: did you mean 'EDGEBENCH_CACHE_DIR'?"
    ]


def test_a_tilde_is_the_home_in_paths_of_every_source(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    resolved = resolve(
        {"images": Path("~/i"), "profile": ["~/p.toml", "disco-realtime"], "python": "~/bin/python"},
        env={"EDGEBENCH_TARGETS_FILE": "~/t.toml", "EDGEBENCH_MODEL": "~/a.tflite,mobilenet_v1"},
        project={"output_dir": "~/out", "inputs": "~nobody-of-that-name/x"},
        user={"labels": "~", "calibration": "a/~/c"},
    ).config
    assert (resolved.images, resolved.targets_file) == (Path("/home/ada/i"), Path("/home/ada/t.toml"))
    assert resolved.profile == ("/home/ada/p.toml", "disco-realtime")
    assert resolved.model == ("/home/ada/a.tflite", "mobilenet_v1")
    assert (resolved.output_dir, resolved.labels) == (Path("/home/ada/out"), Path("/home/ada"))
    assert (resolved.inputs, resolved.calibration) == (Path("~nobody-of-that-name/x"), Path("a/~/c"))
    assert resolved.python == "~/bin/python"  # of the board's user


@pytest.mark.parametrize(
    "words",
    [
        ("profiles", "new", "own", "--output=~/own.toml"),
        ("profiles", "check", "~/extending.toml"),
        ("boards", "show", "~/boards.toml"),
        ("results", "--output-dir=~/results"),
        ("models", "show", "~/model.tflite"),
        ("show", "~/results/none"),
    ],
    ids=" ".join,
)
def test_a_tilde_is_the_home_in_commands_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "extending.toml").write_text('extends = "~/base.toml"\nname = "e"\n')
    base = CliRunner().invoke(app, ["profiles", "new", "base"])
    assert base.exit_code == 0
    done = CliRunner().invoke(app, list(words))
    said = f"{done.output}{done.exception}".replace("~/", "TILDE")
    assert "TILDE" not in said.replace('extends = "TILDE', "")
    assert not (tmp_path / "~").exists()
    assert (tmp_path / "own.toml").exists() == (words[1] == "new")
    if words[1] in ("new", "check"):
        assert done.exit_code == 0, done.output


def test_a_tilde_is_the_home_in_the_environment_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("EDGEBENCH_OUTPUT_DIR", "~/results")
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", "~/cache")
    monkeypatch.setenv("EDGEBENCH_BOARD_DIR", "~/board")
    monkeypatch.setenv("EDGEBENCH_BOARD_LOCK", "~")
    assert default_output_dir() == Path("/home/ada/results")
    assert default_cache_folder() == Path("/home/ada/cache")
    assert (board_folder(), lock_place()) == ("/home/ada/board", "/home/ada")
