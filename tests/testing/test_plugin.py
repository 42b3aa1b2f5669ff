"""The plug-in: it imports pytest alone, and its options and skips say what is wrong with them."""

import pytest

import edgebench.testing
from edgebench.errors import UsageError
from edgebench.testing import BackendContract, ProbeContract
from tests.test_imports import HEAVY, modules_after
from tests.testing.complaints import kit_of


def backend_kit(members=None, **options):
    return kit_of(BackendContract, None, options.get, **(members or {}))


def probe_kit(**options):
    return kit_of(ProbeContract, None, options.get)


def test_loading_the_plug_in_loads_nothing_heavy():
    before = modules_after("import pytest")
    assert not (modules_after("import pytest, edgebench.testing.plugin") - before) & (HEAVY | {"psutil"})


def test_the_contracts_are_found_when_they_are_asked_for():
    assert all(getattr(edgebench.testing, name) for name in edgebench.testing.__all__)
    with pytest.raises(AttributeError, match="Contracts"):
        edgebench.testing.Contracts  # noqa: B018


def test_the_command_line_names_a_backend():
    kit = backend_kit(edgebench_backend="toy", edgebench_set=["queue=2"], edgebench_host="user@board")
    assert (kit.name, kit.given_options, kit.target.host) == ("toy", {"queue": "2"}, "user@board")


def test_a_class_names_its_own_and_takes_no_options_of_another():
    kit = backend_kit(
        {"backend": "cpu", "options": {"threads": 1}}, edgebench_backend="toy", edgebench_set=["queue=2"]
    )
    assert kit.name == "cpu" and kit.options["threads"] == 1 and "queue" not in kit.options


def test_an_option_without_a_value_is_refused():
    with pytest.raises(UsageError, match="--edgebench-set 'queue' has no '='"):
        backend_kit(edgebench_backend="toy", edgebench_set=["queue"]).options  # noqa: B018


def test_nothing_named_is_a_reason():
    with pytest.raises(pytest.skip.Exception, match="--edgebench-backend NAME"):
        backend_kit().backend  # noqa: B018
    with pytest.raises(pytest.skip.Exception, match="--edgebench-probe KIND"):
        probe_kit().place  # noqa: B018


def test_a_probe_has_a_kind_and_an_address():
    kind, address, module = probe_kit(edgebench_probe="csv:/tmp/a:b").place
    assert (kind, address, module.PLACE) == ("csv", "/tmp/a:b", "host")


def test_what_is_left_out_shows_its_reason():
    skips = {"skips": {"test_options": "they are made elsewhere"}}
    with pytest.raises(pytest.skip.Exception, match="they are made elsewhere"):
        backend_kit(skips).skip_unless_tried("test_options")
    backend_kit(skips).skip_unless_tried("test_golden_scores")
    with pytest.raises(pytest.skip.Exception, match="slow here"):
        backend_kit(skips, edgebench_skip=["test_golden_scores=slow here"]).skip_unless_tried(
            "test_golden_scores"
        )


def test_leaving_out_what_is_no_test_is_a_failure():
    with pytest.raises(pytest.fail.Exception, match="no test 'test_option'"):
        backend_kit({"skips": {"test_option": "misspelt"}}).skip_unless_tried("test_options")
