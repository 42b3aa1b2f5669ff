"""Doctor's findings of several targets, those of one machine once."""

from dataclasses import replace

from edgebench.measure.preflight import checked, once_a_machine
from edgebench.plan.sweeps import Connection
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target
from tests.fakes import FakeBackend

CPU, ONNX = Target("cpu", "cpu"), Target("onnx", "onnx")
FAR, FAR_TOO = Target("far", "cpu", host="a@b"), Target("far-too", "onnx", host="a@b")
NUMPY = Finding("ok", "numpy", "2.4")


def load(message):
    return Finding("warning", "load", message, "wait")


def shown(*findings):
    return [(row["target"], row["subject"], row["message"]) for row in once_a_machine(findings)]


def test_the_state_of_a_machine_is_said_once_as_it_was_first_seen():
    findings = [(CPU, load("3.1")), (FAR, load("0.1")), (ONNX, load("3.2")), (FAR_TOO, load("0.2"))]
    assert shown(*findings) == [("this machine", "load", "3.1"), ("far, far-too", "load", "0.1")]
    assert [row["targets"] for row in once_a_machine(findings)] == [["cpu", "onnx"], ["far", "far-too"]]


def test_the_user_reads_the_port_that_a_finding_is_about():
    board = Target("board", "cortex-m", port="/dev/ttyACM0")
    missing = Finding("error", "port", "there is no port /dev/ttyACM0")
    assert shown((board, missing)) == [("board", "port", "there is no port /dev/ttyACM0")]


def test_of_a_single_target_it_is_its_own():
    assert shown((CPU, load("3.1")), (CPU, NUMPY)) == [("cpu", "load", "3.1"), ("cpu", "numpy", "2.4")]


def test_what_several_targets_share_word_for_word_is_said_under_their_names():
    other = Finding("error", "numpy", "is not found")
    assert shown((CPU, NUMPY), (ONNX, NUMPY), (FAR, other), (FAR_TOO, NUMPY)) == [
        ("cpu, onnx", "numpy", "2.4"),
        ("far", "numpy", "is not found"),
        ("far-too", "numpy", "2.4"),
    ]


class Picky(FakeBackend):
    """Its second kind of device lacks a driver."""

    def check(self, target):
        driver = [Finding("error", "driver", "is missing", "install it")]
        return [NUMPY, *(driver if target.options["kind"] == 2 else [])]


def test_what_is_not_so_of_every_combination_of_options_is_told_with_those_that_it_is_of():
    one = Target("x[kind=1]", "fake", {"kind": 1}, settings={"kind": 1})
    two = replace(one, name="x[kind=2]", options={"kind": 2}, settings={"kind": 2})
    [check] = checked([Connection(replace(one, name="x", settings={}), (one, two))], {"fake": Picky()})
    assert check["target"] == "x"
    assert [(row["subject"], row["target"]) for row in check["findings"]] == [
        ("numpy", ""),
        ("driver", "x[kind=2]"),
    ]
