"""Doctor's findings of several targets, those of one machine once."""

from edgebench.records.target import Target
from edgebench.records.values import Finding
from edgebench.run.measuring.preflight import checked, once_a_machine
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
    """It lacks a driver."""

    def check(self, target):
        return [NUMPY, Finding("error", "driver", "is missing", "install it")]


def test_a_check_has_the_findings_of_its_target():
    [check] = checked([Target("x", "fake")], {"fake": Picky()})
    assert (check["target"], check["device"], check["facts"]) == ("x", "fake", None)
    assert [(row["subject"], row["target"], row["targets"]) for row in check["findings"]] == [
        ("numpy", "", ["x"]),
        ("driver", "", ["x"]),
    ]
