"""The plug-in: it imports pytest alone, and its options and skips say what is wrong with them."""

from types import SimpleNamespace
from typing import Any

import pytest

import edgebench.testing
from edgebench.errors import UsageError
from edgebench.testing import BackendContract, ProbeContract
from edgebench.testing.backend_kit import backend_subject, probe_subject, skip_where_asked
from tests.test_imports import HEAVY, modules_after

OPTIONS: dict[str, Any] = {
    "edgebench_backend": None,
    "edgebench_set": [],
    "edgebench_probe": None,
    "edgebench_host": None,
    "edgebench_port": None,
    "edgebench_python": None,
    "edgebench_skip": [],
    "edgebench_require_device": False,
}


def config(**options):
    return SimpleNamespace(getoption=lambda name: {**OPTIONS, **options}[name])


def test_loading_the_plug_in_loads_nothing_heavy():
    before = modules_after("import pytest")
    assert not (modules_after("import pytest, edgebench.testing.plugin") - before) & (HEAVY | {"psutil"})


def test_the_contracts_are_found_when_they_are_asked_for():
    assert all(getattr(edgebench.testing, name) for name in edgebench.testing.__all__)
    with pytest.raises(AttributeError, match="Contracts"):
        edgebench.testing.Contracts  # noqa: B018


def test_the_command_line_names_a_backend():
    subject = backend_subject(
        BackendContract,
        config(edgebench_backend="toy", edgebench_set=["queue=2"], edgebench_host="user@board"),
    )
    assert (subject.backend, dict(subject.options), subject.host) == ("toy", {"queue": "2"}, "user@board")


def test_a_class_names_its_own_and_takes_no_options_of_another():
    mine = {"backend": "mine", "options": {"threads": 1}, "deciding": {"threads": 2}}
    kind = type("TestMine", (BackendContract,), mine)
    subject = backend_subject(kind, config(edgebench_backend="toy", edgebench_set=["queue=2"]))
    assert {name: getattr(subject, name) for name in mine} == mine


def test_an_option_without_a_value_is_refused():
    with pytest.raises(UsageError, match="--edgebench-set 'queue' has no '='"):
        backend_subject(BackendContract, config(edgebench_backend="toy", edgebench_set=["queue"]))


def test_nothing_named_is_a_reason():
    with pytest.raises(pytest.skip.Exception, match="--edgebench-backend NAME"):
        backend_subject(BackendContract, config())
    with pytest.raises(pytest.skip.Exception, match="--edgebench-probe KIND"):
        probe_subject(ProbeContract, config())


def test_a_probe_has_a_kind_and_an_address():
    subject = probe_subject(ProbeContract, config(edgebench_probe="serial:/dev/ttyUSB0:9600"))
    assert (subject.kind, subject.address) == ("serial", "/dev/ttyUSB0:9600")


def leaving(**skips):
    return type("Leaving", (BackendContract,), {"skips": skips})


def test_what_is_left_out_shows_its_reason():
    kind = leaving(test_options="they are made elsewhere")
    with pytest.raises(pytest.skip.Exception, match="they are made elsewhere"):
        skip_where_asked(kind, "test_options", config())
    skip_where_asked(kind, "test_golden_scores", config())
    asked = config(edgebench_skip=["test_golden_scores=slow here"])
    with pytest.raises(pytest.skip.Exception, match="slow here"):
        skip_where_asked(kind, "test_golden_scores", asked)


def test_leaving_out_what_is_no_test_is_a_failure():
    with pytest.raises(pytest.fail.Exception, match="no test 'test_option'"):
        skip_where_asked(leaving(test_option="misspelt"), "test_options", config())
