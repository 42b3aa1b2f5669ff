"""Settings with several values: one target a combination, and the keys of each alone."""

from dataclasses import replace
from typing import Any

import pytest

from edgebench.contract import BackendOptions
from edgebench.errors import UsageError
from edgebench.run.targets import (
    MAX_COMBINATIONS,
    declared_once,
    require_unswept,
    settings_text,
)
from edgebench.run.targets_file import DeclaredTarget
from edgebench.run.trials import choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


class Options(BackendOptions):
    threads: int = 1
    allow_cpu: bool = False
    kernels: str = "fast"
    cores: tuple[int, ...] = ()


class Backend(FakeBackend):
    options_model = Options  # type: ignore[assignment]


BACKENDS = {"fake": Backend()}


def targets(settings=(), **rest: Any):
    return make_targets(BACKENDS, settings, (), **rest)


def keys(settings=(), **rest: Any):
    backend = BACKENDS["fake"]
    trials = make_trials(
        targets(settings, **rest),
        BACKENDS,
        {"fake": choose_variants(backend, [0.25], ["int8"])},
        scene=made_scene(),
        images=made_images(),
    )
    return [trial.key for trial in trials]


def test_a_setting_given_twice_is_a_target_for_each_value():
    first, two = targets(["threads=1", "threads=2", "kernels=slow"])
    assert (first.name, two.name) == ("fake[threads=1]", "fake[threads=2]")
    assert (first.settings, two.settings) == ({"threads": 1}, {"threads": 2})
    assert first.options == {"threads": 1, "allow_cpu": False, "kernels": "slow", "cores": []}
    assert first.declared_name == two.declared_name == "fake"


def test_each_combination_is_a_target():
    swept = targets(["threads=1", "threads=2", "kernels=a"], power_modes=["MAXN", "5W"])
    assert [target.name for target in swept] == [
        "fake[threads=1,power_mode=MAXN]",
        "fake[threads=2,power_mode=MAXN]",
        "fake[threads=1,power_mode=5W]",
        "fake[threads=2,power_mode=5W]",
    ]
    assert [target.power_mode for target in swept] == ["MAXN", "MAXN", "5W", "5W"]


def test_keys_of_a_sweep_are_those_of_each_combination_alone():
    swept = keys(["threads=1", "threads=2"], power_modes=["MAXN", "5W"])
    alone = [
        keys([f"threads={threads}"], power_modes=[mode])[0] for mode in ("MAXN", "5W") for threads in (1, 2)
    ]
    assert swept == alone
    assert len(set(swept)) == 4


@pytest.mark.parametrize("settings", [["threads=2", "threads=2"], ["threads=2", "threads=02"]])
def test_the_same_value_twice_is_no_sweep(settings):
    [target] = targets(settings)
    assert (target.name, target.settings) == ("fake", {})


def declared(**fields: Any) -> DeclaredTarget:
    return DeclaredTarget.model_validate({"name": "nano", "device": "fake", **fields})


def test_a_list_of_the_targets_file_is_a_sweep_and_the_command_line_beats_it():
    nano = declared(options={"threads": [1, 2]}, power_mode=["MAXN", 1])
    assert [target.name for target in targets(devices=(), declared=[nano])] == [
        "nano[threads=1,power_mode=MAXN]",
        "nano[threads=2,power_mode=MAXN]",
        "nano[threads=1,power_mode=1]",
        "nano[threads=2,power_mode=1]",
    ]
    [target] = targets(["threads=4"], devices=(), declared=[nano], power_modes=["5W"])
    assert (target.name, target.options["threads"], target.power_mode) == ("nano", 4, "5W")


def test_a_list_sweeps_an_option_that_is_written_with_a_hyphen():
    declared = DeclaredTarget(name="stick", device="fake", options={"allow-cpu": [True, False]})
    swept = targets(devices=(), declared=[declared])
    assert [target.options["allow_cpu"] for target in swept] == [True, False]
    [target] = targets(["allow-cpu=false"], devices=(), declared=[declared])
    assert target.options["allow_cpu"] is False and not target.settings


def test_an_option_that_takes_a_list_is_not_swept_by_one():
    [target] = targets(devices=(), declared=[declared(options={"cores": [1, 2]})])
    assert (target.name, target.options["cores"]) == ("nano", [1, 2])


def test_a_wrong_value_among_several_is_named():
    with pytest.raises(UsageError, match="--set threads=x"):
        targets(["threads=1", "threads=x"])
    with pytest.raises(UsageError, match=r"target 'nano': options\.threads: 'x'"):
        targets(devices=(), declared=[declared(options={"threads": [1, "x"]})])
    with pytest.raises(UsageError, match=r"options\.threads"):
        targets(devices=(), declared=[declared(options={"threads": []})])


def test_too_many_combinations_are_refused():
    settings = [f"threads={number}" for number in range(20)] + [
        f"kernels={letter}" for letter in "abcdefghijk"
    ]
    with pytest.raises(UsageError, match=f"220 combinations(.|\n)*{MAX_COMBINATIONS}"):
        targets(settings)


def test_a_value_that_cannot_stand_in_a_name_is_shortened_and_stays_distinct():
    paths = ["/home/someone/models/a [1]/x.bin", "/home/other/models/a [1]/x.bin"]
    names = [target.name for target in targets([f"kernels={path}" for path in paths])]
    assert len(set(names)) == 2
    assert all(set("/ ").isdisjoint(name) and name.count("[") == 1 for name in names)
    assert settings_text({"on": True, "level": 0.5}) == "on=true,level=0.5"


@pytest.mark.parametrize("path", ["/home/someone/x.bin", "/Users/someone/x.bin", "/home/someone"])
def test_a_swept_path_names_no_user(path):
    names = [target.name for target in targets([f"kernels={path}", "kernels=slow"])]
    assert "someone" not in names[0] and len(set(names)) == 2


def test_a_command_that_takes_one_combination_refuses_several():
    with pytest.raises(UsageError, match="threads"):
        require_unswept(targets(["threads=1", "threads=2"]))


def test_commands_that_measure_nothing_take_the_first_combination_of_each_target():
    swept = declared_once(targets(["threads=1", "threads=2"], power_modes=["MAXN", "5W"]))
    assert [(one.name, one.options["threads"], one.power_mode) for one in swept] == [("fake", 1, "MAXN")]
    assert [one.declared_name for one in swept] == ["fake"]


def test_targets_of_two_names_on_one_machine_are_two():
    [target] = targets([])
    assert [one.name for one in declared_once([target, replace(target, name="other")])] == ["fake", "other"]
