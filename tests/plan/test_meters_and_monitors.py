"""Meters decide a trial's key, monitors do not; telemetry runs unless it is turned off."""

import pytest

from edgebench import registry
from edgebench.errors import UsageError
from edgebench.records.target import Target
from edgebench.run.config import resolve
from edgebench.run.meters import TELEMETRY, meters_of, monitors_of, require_meters_of_their_own
from edgebench.run.trials import make_trials
from tests.fakes import FakeBackend, made_scene
from tests.link import host_meter

METERED = Target(name="fake", device="fake", meters=("rapl:", "telemetry:5", "unknown:1"))
PLAIN = Target(name="fake", device="fake")


def test_a_probe_that_only_watches_is_told_from_a_meter():
    assert registry.is_monitor("telemetry") and registry.is_monitor("telemetry:5")
    assert not registry.is_monitor("rapl:") and not registry.is_monitor("unknown:1")
    assert meters_of(METERED) == ("rapl:", "unknown:1")


@pytest.mark.parametrize(
    ("target", "telemetry", "monitors"),
    [
        (PLAIN, True, (TELEMETRY,)),
        (PLAIN, False, ()),
        (METERED, True, ("telemetry:5",)),  # the rate that was asked for, once
        (METERED, False, ("telemetry:5",)),  # asked for by name
    ],
)
def test_telemetry_runs_unless_it_is_turned_off(target, telemetry, monitors):
    assert monitors_of(target, telemetry=telemetry) == monitors


@pytest.fixture
def host_kind(tmp_path, monkeypatch):
    yield host_meter.install(tmp_path / "installed", monkeypatch)
    host_meter.uninstall()


@pytest.mark.attack(
    "two boards are measured side by side with one meter on this machine: refused, it is at one of them"
)
def test_one_meter_on_this_machine_is_at_one_board(host_kind):
    def target(name, host, *meters):
        return Target(name=name, device="fake", host=host, meters=meters)

    near, far = target("near", None, f"{host_kind}:"), target("far", "user@far", host_kind)
    with pytest.raises(UsageError) as caught:
        require_meters_of_their_own([near, far])
    assert host_kind in caught.value.what and "near" in caught.value.what and "far" in caught.value.what
    require_meters_of_their_own([near, target("other", None, host_kind)])  # one after the other
    require_meters_of_their_own([near, target("far", "user@far", f"{host_kind}:2")])
    require_meters_of_their_own([target("near", None, "rapl:"), target("far", "user@far", "rapl:")])


def test_a_monitor_is_not_in_the_key():
    from edgebench.records.values import Variant

    def key(*meters):
        target = Target(name="fake", device="fake", meters=meters)
        variants = {"fake": [Variant(0.25, "int8")]}
        [trial] = make_trials(
            [target], {"fake": FakeBackend()}, variants, batches=[1], scene=made_scene(), images=None
        )
        return trial.key

    assert key() == key("telemetry:5")
    assert key("rapl:") == key("rapl:", "telemetry:5") != key()


def test_the_setting_is_on_and_can_be_turned_off_anywhere():
    assert resolve({}).config.telemetry is True
    assert resolve({"telemetry": False}).config.telemetry is False
    assert resolve({}, env={"EDGEBENCH_TELEMETRY": "false"}).config.telemetry is False
    assert resolve({}, project={"telemetry": False}).origins["telemetry"].startswith("project file")
