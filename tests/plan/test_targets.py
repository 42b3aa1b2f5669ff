"""Targets from --device with its flags, and from the targets file."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from edgebench.errors import UsageError
from edgebench.records.target import DeclaredPower, Launch, Target
from edgebench.run.config import resolve
from edgebench.run.targets import listed
from edgebench.run.targets_file import DeclaredLaunch, DeclaredTarget
from edgebench.run.trials import choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


class Reachable(FakeBackend):
    takes_host = True


BACKENDS = {"fake": Reachable()}
NANO = DeclaredTarget(
    name="nano",
    device="fake",
    host="someone@nano:2222",
    python="/usr/bin/python3",
    launch=DeclaredLaunch(env={"A": "1"}, prefix=("nice",), affinity=(1,)),
    options={"threads": 2},
    power_mode="5W",
    meters=("rapl",),
    mass_g=138.0,
    size_mm=(100.0, 80.0, 29.0),
)


def made(settings=(), meters=(), **rest: Any):
    return make_targets(BACKENDS, settings, meters, **rest)


def test_a_device_with_a_host_is_one_target():
    [target] = made(host="someone@board", python="/opt/python", power_modes=["MAXN"])
    assert (target.name, target.device, target.host) == ("fake", "fake", "someone@board")
    assert (target.launch, target.power_mode) == (Launch(python="/opt/python"), "MAXN")


def test_a_declared_target_is_taken_whole():
    [target] = made(devices=(), declared=[NANO])
    assert (target.name, target.host, target.power_mode) == ("nano", "someone@nano:2222", "5W")
    assert target.launch == Launch("/usr/bin/python3", {"A": "1"}, ("nice",), (1,))
    assert (target.options, target.meters) == ({"threads": 2}, ("rapl",))
    assert (target.mass_g, target.size_mm) == (138.0, (100.0, 80.0, 29.0))


def test_flags_beat_the_file():
    [target] = made(["threads=4"], ["telemetry"], devices=(), declared=[NANO], power_modes=["MAXN"])
    assert (target.options, target.meters, target.power_mode) == ({"threads": 4}, ("telemetry",), "MAXN")


def test_declared_power_is_the_files_or_the_flags_and_in_no_key():
    figure = {"watts": 9, "kind": "maximum", "source": "label"}
    nano = DeclaredTarget.model_validate({**NANO.model_dump(), "declared_power": figure})
    [plain], [target] = made(devices=(), declared=[NANO]), made(devices=(), declared=[nano])
    assert target.declared_power == (DeclaredPower(9.0, "maximum", "label"),)
    assert listed(nano)["declared_power"] == [figure]
    [flagged] = made(devices=(), declared=[nano], declared_power=["nano=6:typical:sheet"])
    assert flagged.declared_power == (DeclaredPower(6.0, "typical", "sheet"),)
    assert TypeAdapter(Target).validate_python(asdict(flagged)) == flagged
    keys = {key_and_inputs(replace(each, name="fake"))[0] for each in (plain, target, flagged)}
    assert len(keys) == 1
    assert plain.connection == flagged.connection
    swept = made(["threads=1", "threads=2"], declared_power=["fake[threads=2]=3:maximum:label"])
    assert [len(target.declared_power) for target in swept] == [0, 1]


def test_a_power_mode_is_set_where_the_flag_or_the_file_says_so():
    nano = NANO.model_copy(update={"set_power_mode": True})
    targets = made(devices=["fake"], declared=[nano], power_modes=["MAXN", "5W"])
    assert [target.set_power_mode for target in targets] == [False, False, True, True]
    # A target of no mode has none that could be set.
    here, nano = made(devices=["fake"], declared=[NANO], set_power_mode=True)
    assert (here.set_power_mode, nano.set_power_mode) == (False, True)
    key, _ = key_and_inputs(nano)
    assert key != key_and_inputs(replace(nano, set_power_mode=False))[0]


def test_devices_and_declared_targets_may_be_mixed():
    here, nano = made(devices=["fake"], declared=[NANO], host="someone@board")
    assert (here.host, nano.host) == ("someone@board", "someone@nano:2222")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": ["fake"], "declared": [NANO.model_copy(update={"name": "fake"})]}, "called 'fake'"),
        ({"devices": (), "declared": [NANO], "host": "someone@board"}, "--host belongs to --device"),
        ({"devices": (), "declared": [NANO], "python": "/x"}, "--python belongs to --device"),
        ({"set_power_mode": True}, "--set-power-mode does not say which"),
        ({"host": "-oProxyCommand=true"}, "no address"),
        ({"host": ""}, "no address"),
        ({"python": "--help"}, "no interpreter"),
        (
            {"devices": (), "declared": [NANO.model_copy(update={"options": {"thread": 1}})]},
            "options: unknown key 'thread'",
        ),
        ({"devices": (), "declared": [NANO.model_copy(update={"options": {"threads": "x"}})]}, "'nano'"),
        ({"settings": ["threads=x"], "devices": (), "declared": [NANO]}, "--set threads=x"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments, message):
    with pytest.raises(UsageError) as caught:
        made(**arguments)
    assert message in caught.value.what
    assert caught.value.fix


def test_a_device_that_is_not_reached_by_ssh_takes_no_host():
    with pytest.raises(UsageError):
        make_targets({"fake": FakeBackend()}, [], [], host="someone@board")


class Plugged(FakeBackend):
    takes_port = True


def test_a_port_is_of_the_device_and_of_no_key():
    [target] = make_targets({"fake": Plugged()}, [], [], port="/dev/ttyACM0")
    assert target.port == "/dev/ttyACM0"
    assert key_and_inputs(target) == key_and_inputs(replace(target, port="/dev/ttyACM1"))
    declared = DeclaredTarget(name="m7", device="fake", port="COM3")
    [target] = make_targets({"fake": Plugged()}, [], [], devices=(), declared=[declared])
    assert target.port == "COM3"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"port": "/dev/ttyACM0"}, "not at a port"),
        ({"devices": (), "declared": [NANO.model_copy(update={"port": "COM3"})]}, "not at a port"),
        ({"devices": (), "declared": [NANO], "port": "COM3"}, "--port belongs to --device"),
    ],
)
def test_a_port_that_no_device_takes_is_a_usage_error(arguments, what):
    with pytest.raises(UsageError, match=what) as caught:
        made(**arguments)
    assert caught.value.fix


def test_devices_of_which_some_have_a_port_are_told_of_the_targets_file():
    with pytest.raises(UsageError) as refused:
        make_targets({"fake": BACKENDS["fake"], "plugged": Plugged()}, [], [], port="COM3")
    assert "targets.toml" in refused.value.fix


def key_and_inputs(target):
    backend = BACKENDS["fake"]
    variants = {"fake": choose_variants(backend, (0.25,), ("int8",))}
    [trial] = make_trials(
        [target], BACKENDS, variants, batches=(1,), scene=made_scene(), images=made_images()
    )
    return trial.key, trial.inputs


def test_the_fix_names_the_flag_or_the_file():
    with pytest.raises(UsageError) as refused:
        make_targets({"fake": FakeBackend()}, (), (), port="COM3")
    assert refused.value.fix == "leave --port out"
    with pytest.raises(UsageError) as refused:
        make_targets(
            {"fake": FakeBackend()},
            (),
            (),
            devices=(),
            declared=[DeclaredTarget(name="m7", device="fake", port="COM3")],
        )
    assert "leave the port of target 'm7' out of the targets file" in refused.value.fix
    assert "not at a port" in listed(DeclaredTarget(name="m7", device="cpu", port="COM3"))["device_error"]


def test_host_and_power_mode_are_declared_identity_and_the_body_is_not():
    [target] = made()
    key, inputs = key_and_inputs(target)
    assert key_and_inputs(replace(target, host="someone@board"))[0] != key
    assert key_and_inputs(replace(target, power_mode="5W"))[0] != key
    assert key_and_inputs(replace(target, mass_g=3.0, size_mm=(1.0, 2.0, 3.0)))[0] == key
    # The key of a target without a host is what it was before there were hosts.
    assert set(inputs["target"]) == {"name", "device", "power_mode", "meters"}


def test_the_hosts_name_stays_out_of_the_inputs():
    [target] = made(host="quokkauser@quokkaboard:22")
    assert "quokka" not in str(key_and_inputs(target)[1])


def test_what_is_measured_is_said_by_one_source():
    project = {"device": ["cpu"], "target": ["pi"], "host": "someone@board"}
    config = resolve({"target": ["nano"]}, project=project).config
    assert (config.target, config.device, config.host) == (("nano",), (), "someone@board")
    both = resolve({"target": ["nano"], "device": ["toy"]}, project=project).config
    assert (both.target, both.device) == (("nano",), ("toy",))
    assert resolve({}, env={"EDGEBENCH_TARGET": "a,b"}, project=project).config.target == ("a", "b")


def test_a_declared_target_is_listed_with_what_it_sweeps():
    options = {"device": ["CPU", "GPU", "CPU"], "requests": [4], "threads": 2}
    row = listed(DeclaredTarget(name="x", device="openvino", options=options, power_mode=("MAXN", "5W")))
    assert row["sweeps"] == {"device": ["CPU", "GPU"], "power_mode": ["MAXN", "5W"]}
    assert listed(DeclaredTarget(name="y", device="toy", power_mode="MAXN"))["sweeps"] == {}
