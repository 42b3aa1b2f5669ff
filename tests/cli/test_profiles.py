from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgebench.cli import profiles
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.judge.requirements.profile import load_profile


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _call(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(profiles.app, words, standalone_mode=False)
    if isinstance(result.exception, EdgeBenchError):
        raise result.exception
    code = result.exit_code or (result.return_value if isinstance(result.return_value, int) else 0)
    return code, result.stdout, result.stderr


def test_new_writes_what_check_and_show_take(here: Path) -> None:
    code, out, _ = _call("new", "sky", "--cycle", "1 d", "--images", "320", "--limit", "mass_g=150 g")
    assert (code, out) == (0, "sky.toml\n")
    assert [requirement.limit for requirement in load_profile("sky.toml").requirements] == [270.0, 150.0]
    assert _call("check", "sky.toml") == (0, "sky.toml: nothing is wrong with it.\n", "")
    assert "320 images in a cycle of 86400 s" in _call("show", "sky.toml")[1]


def test_new_replaces_nothing_unless_it_is_told(here: Path) -> None:
    (here / "sky.toml").write_text("mine")
    with pytest.raises(UsageError, match=r"sky.toml is there already"):
        _call("new", "sky", "--limit", "mass_g=1 g")
    assert (here / "sky.toml").read_text() == "mine"
    assert _call("new", "sky", "--limit", "mass_g=1 g", "--force")[0] == 0
    assert load_profile("sky.toml").requirements[0].limit == 1.0


def test_new_writes_nothing_that_is_no_profile(here: Path) -> None:
    with pytest.raises(UsageError, match="g is a mass"):
        _call("new", "sky", "--limit", "power_peak_w=5 g")
    with pytest.raises(UsageError, match="there is no folder"):
        _call("new", "sky", "--limit", "mass_g=5 g", "-o", "none/sky.toml")
    assert list(here.iterdir()) == []


def test_new_takes_no_name_of_a_shipped_profile(here: Path) -> None:
    with pytest.raises(UsageError, match="comes with EdgeBench") as caught:
        _call("new", "disco-realtime", "--limit", "mass_g=1 g")
    assert "my-disco-realtime" in caught.value.fix
    assert not list(here.iterdir())


def test_a_mistyped_name_of_an_own_profile_is_recognised(here: Path) -> None:
    _call("new", "polar-fire", "--limit", "mass_g=150 g")
    with pytest.raises(UsageError) as caught:
        load_profile("polar-fir")
    assert "did you mean 'polar-fire'?" in caught.value.fix


def test_new_without_a_requirement_writes_a_template_whose_limits_are_examples(here: Path) -> None:
    code, _, error = _call("new", "sky")
    assert code == 0 and "its limits are examples" in error
    assert _call("check", "sky")[0] == 0
    profile = load_profile("sky")  # the file of that name in this folder
    assert profile.schedule is not None
    quantities = [requirement.quantity for requirement in profile.requirements]
    assert quantities == ["image_s", "accuracy", "power_peak_w", "energy_j", "mass_g", "size_mm"]
    lines = (here / "sky.toml").read_text().splitlines()
    heads = [at for at, line in enumerate(lines) if line == "[[requirements]]"]
    assert all(lines[at - 1].startswith("# ") and lines[at - 2] == "" for at in heads)


def test_check_says_all_with_lines_and_exits_with_2(here: Path) -> None:
    (here / "bad.toml").write_text('name = "x"\n[[requirements]]\nname = "r"\nlimt = 1\nwanted = 0\n')
    code, out, _ = _call("check", "bad.toml")
    assert code == 2
    assert "bad.toml:4: requirement 'r': unknown key 'limt'" in out
    assert "bad.toml:5: requirement 'r': wanted: 0 is not true or false" in out
    code, out, _ = _call("check", "bad.toml", "--json")
    document = json.loads(out)
    assert (code, document["profile"]) == (2, "bad.toml")
    assert [problem["line"] for problem in document["problems"]] == [2, 4, 5]


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_check_recommends_an_averaging_time_for_peak_limits(here: Path, json_: list[str]) -> None:
    limit = '[[requirements]]\nname = "{}"\nquantity = "{}"\nlimit = 5\n{}\n'
    limits = [("peak", "power_peak_w", ""), ("mean", "power_mean_w", "")]
    (here / "peaks.toml").write_text('name = "p"\n' + "".join(limit.format(*each) for each in limits))
    code, _, err = _call("check", "peaks.toml", *json_)
    assert code == 0
    [note] = " ".join(err.split()).split("note: ")[1:]
    assert note.startswith("peak: ")
    assert "averaging_s = 1.0" in note
    limits[0] = ("peak", "power_peak_w", "averaging_s = 1.0")
    (here / "peaks.toml").write_text('name = "p"\n' + "".join(limit.format(*each) for each in limits))
    assert _call("check", "peaks.toml", *json_)[2] == ""


def test_the_schema_is_json() -> None:
    assert json.loads(_call("schema")[1])["title"] == "EdgeBench profile"
