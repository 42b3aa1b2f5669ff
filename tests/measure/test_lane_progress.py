"""Progress of a run over several hosts: how many sessions are to come."""

import pytest

from edgebench.errors import UnavailableError
from tests.fakes import FakeDevice
from tests.measure.lanes import StrictStore, Watching, experiment


def watched(hosts, open_device=lambda target: FakeDevice(), **more):
    observer = Watching()
    experiment(StrictStore(), open_device, hosts, observer=observer, **more).run()
    return observer.lines


@pytest.mark.parametrize("hosts", [{"a": "pi", "b": "pi"}, {"a": None, "b": "pi"}])
def test_progress_counts_the_sessions_of_all_targets_and_hosts(hosts):
    lines = watched(hosts, sessions=3)
    assert [(number, total) for _, number, total in lines] == [(number, 6) for number in range(1, 7)]
    assert {host for host, *_ in lines} == {host or "" for host in hosts.values()}


def test_a_session_that_is_repeated_is_one_more():
    device = FakeDevice(script=["crash"])
    assert [line[1:] for line in watched({"a": None}, lambda target: device)] == [(1, 2), (2, 3), (3, 3)]


def test_a_session_whose_device_was_lost_has_its_number_again():
    device = FakeDevice(script=["ok", "lost"])
    lines = watched({"a": None}, lambda target: device, sessions=3)
    assert [line[1:] for line in lines] == [(1, 3), (2, 3), (2, 3), (3, 3)]


def test_trials_that_are_given_up_have_no_sessions_to_come():
    device = FakeDevice(script=["load"] * 99)
    lines = watched({"a": None}, lambda target: device, sessions=5, depths=(0.25, 0.5))
    # Both trials are tried once, and once more after all other sessions, which are given up with them.
    assert [line[1:] for line in lines] == [(1, 10), (2, 11), (3, 12), (4, 8)]


def test_a_host_that_is_not_there_has_no_sessions_to_come():
    def open_device(target):
        if target.name == "b":
            raise UnavailableError("the agent on pi does not answer")
        return FakeDevice()

    lines = watched({"a": None, "b": "pi"}, open_device, sessions=3)
    assert lines[-1][1:] == (3, 3)
