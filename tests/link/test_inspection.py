"""Looking at targets: on this machine, behind a real sshd, and where nothing answers."""

import contextlib
import os
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from edgebench import registry
from edgebench.agent.bootstrap import ENVIRONMENT as BOARD_FOLDER
from edgebench.cli.main import app
from edgebench.errors import UnavailableError, UsageError
from edgebench.link import inspection
from edgebench.link.inspection import check_target, clean_target, inspect_target
from edgebench.link.ssh import ENVIRONMENT
from edgebench.records.target import DeclaredBoard, Launch, Target
from tests.fakes import FakeBackend
from tests.probes import jetson_board
from tests.walk.conftest import make_place

HERE = Target(name="here", device="toy")


@pytest.fixture
def toy():
    return registry.backend("toy")


@pytest.fixture
def bare(tmp_path):
    """A Python that finds no package."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_this_machine_is_described_by_its_agent(toy):
    seen = inspect_target(HERE, toy)
    assert seen.facts is not None
    assert seen.facts["python_bits"] in (32, 64)
    assert "numpy" in seen.facts["packages"]
    assert {"python", "numpy", "disk", "load"} <= {finding.subject for finding in seen.findings}
    assert not [finding for finding in seen.findings if finding.level == "error"]


def test_a_python_without_numpy_is_missing_it(toy, bare):
    seen = inspect_target(Target(name="bare", device="toy", launch=Launch(python=bare)), toy)
    [missing] = [finding for finding in seen.findings if finding.level == "error"]
    assert missing.subject == "numpy"
    assert "pip install numpy" in missing.fix


@pytest.mark.parametrize(
    ("device", "package", "fix"),
    [
        ("cpu", "ai-edge-litert", "-m pip install numpy ai-edge-litert"),
        ("onnxruntime", "onnxruntime", "-m pip install numpy onnxruntime"),
        ("openvino", "openvino", "-m pip install numpy openvino"),
        ("ncs2", "openvino", "pip install openvino==2021.4.2"),
        ("coral", "tflite-runtime", "tflite-runtime"),
        ("tensorrt", "tensorrt", "-m pip install tensorrt"),
    ],
)
def test_a_device_whose_python_lacks_the_runtime_is_not_opened(device, package, fix, bare):
    backend = registry.backend(device)
    with pytest.raises(UnavailableError) as caught:
        backend.open(Target("t", device, launch=Launch(python=bare)))
    assert caught.value.what == f"t cannot be measured: {package} is missing"
    assert "not found by" in caught.value.why and fix in caught.value.fix
    # The worker alone sees such a folder: its first session tells.
    backend.open(Target("t", device, launch=Launch(python=bare, env={"PYTHONPATH": "/runtime"}))).close()


def test_a_run_whose_own_python_lacks_the_runtime_ends_before_its_first_session(bare, tmp_path, monkeypatch):
    place = make_place(tmp_path)
    monkeypatch.setattr(sys, "executable", bare)
    words = ["run", "--device", "cpu", "--scene", "scene.png", "--depth", "0.25", "--precision", "int8"]
    with contextlib.chdir(place.folder):
        done = CliRunner().invoke(app, [*words, "--sessions", "2"], env=place.environment)
    assert isinstance(done.exception, UnavailableError)
    assert done.exception.fix == f"{bare} -m pip install 'edgebench[cpu]'"
    assert not list(place.folder.glob("results/*/trials/*/sessions/*"))


@pytest.mark.parametrize(
    ("launch", "says"),
    [
        (Launch(prefix=("nosuchprog", "-x")), "the program nosuchprog of launch.prefix is not there"),
        (Launch(prefix=("nice",), env={"PATH": "/nowhere"}), "the program nice of launch.prefix"),
        (Launch(affinity=(min(os.sched_getaffinity(0)), 4000)), "launch.affinity names CPU 4000, which"),
        (Launch(prefix=("nice", "-n", "1"), affinity=(min(os.sched_getaffinity(0)),)), ""),
    ],
)
def test_what_a_worker_cannot_be_started_with_is_an_error(toy, launch, says):
    seen = inspect_target(Target(name="here", device="toy", launch=launch), toy)
    wrong = [finding for finding in seen.findings if finding.level == "error"]
    assert [finding.subject for finding in wrong] == (["launch"] if says else [])
    assert all(says in finding.message and "launch." in finding.fix for finding in wrong)


def test_doctor_names_folders_of_this_machine_that_a_run_cannot_use(toy, tmp_path, monkeypatch):
    assert not [finding for finding in check_target(HERE, toy) if finding.level == "error"]
    (tmp_path / "file").touch()
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv(BOARD_FOLDER, str(shared))
    cache, folder = (finding for finding in check_target(HERE, toy) if finding.level == "error")
    assert cache.message.endswith("cannot be used (Not a directory)")
    assert "EDGEBENCH_CACHE_DIR" in cache.fix
    assert "can be written by other users" in folder.message
    assert folder.fix.startswith(f"chmod go-w {shared}, or set ")


def test_a_target_that_cannot_be_reached_is_a_finding(toy):
    target = Target(name="bare", device="toy", launch=Launch(python="/no/such/python"))
    seen = inspect_target(target, toy)
    assert seen.facts is None
    [finding] = seen.findings
    assert (finding.level, finding.subject) == ("error", "connection")
    assert finding.fix


def test_a_device_without_an_agent_is_checked_by_its_backend():
    assert inspect_target(Target(name="fake", device="fake"), FakeBackend()).findings == ()


def test_doctor_adds_the_power_mode_where_one_is_asked_for(toy):
    asked = Target(name="here", device="toy", power_mode="MAXN")
    [wrong] = [finding for finding in check_target(asked, toy) if finding.level == "error"]
    assert wrong.subject == "power mode"
    assert [finding.subject for finding in check_target(HERE, toy)] == ["toy"]


def test_this_machine_is_asked_what_it_is_only_where_a_board_was_declared(toy, monkeypatch):
    monkeypatch.setattr(inspection, "board_facts", lambda: pytest.fail("asked"))
    assert [finding.subject for finding in check_target(HERE, toy)] == ["toy"]


def test_doctor_and_check_hold_the_declared_board_against_the_machine(toy):
    boards = (DeclaredBoard("Abacus", ("Abacus",)),)
    target = replace(HERE, mass_g=1.0, boards=boards, from_boards=("mass_g",))
    for findings in (check_target(target, toy), inspect_target(target, toy).findings):
        [finding] = [finding for finding in findings if finding.subject == "board"]
        assert finding.level == "warning"
        assert "declared as Abacus" in finding.message
    own = replace(target, from_boards=())
    assert "board" not in [finding.subject for finding in check_target(own, toy)]


def meters(target, toy):
    """What both ways of looking say of its meters: they say the same."""
    said = [
        [(finding.level, finding.message, finding.fix) for finding in findings if finding.subject == "meter"]
        for findings in (check_target(target, toy), inspect_target(target, toy).findings)
    ]
    assert said[0] == said[1]
    return said[0]


def test_of_a_devices_own_meters_the_one_that_a_run_takes_is_named(toy, tmp_path):
    best = f"ina3221:{jetson_board.write(tmp_path / 'sys', jetson_board.orin_nano())}"
    other = f"tegrastats:{jetson_board.tegrastats(tmp_path, jetson_board.ORIN_NANO)}"
    [(level, message, _)] = meters(replace(HERE, preferred_meters=(best, other)), toy)
    assert level == "ok"
    assert message.startswith(f"{best} is taken unless --meter") and "tegrastats" not in message
    empty = f"ina3221:{tmp_path}"
    [(level, message, _)] = meters(replace(HERE, preferred_meters=(empty, other)), toy)
    assert level == "ok"
    assert message.startswith(f"{other} is taken")
    assert "; not ina3221: " in message and "; without GPU clock: tegrastats prints none" in message


def test_where_no_meter_can_be_read_each_says_why(toy, tmp_path):
    target = replace(HERE, preferred_meters=(f"ina3221:{tmp_path}", "tegrastats:/nothing"))
    findings = meters(target, toy)
    assert [level for level, _, _ in findings] == ["warning", "warning"]
    assert "no INA3221" in findings[0][1] and "there is no program" in findings[1][1]
    assert all(fix for _, _, fix in findings)


def test_a_run_in_a_power_mode_that_there_is_not_does_not_begin(toy):
    with pytest.raises(UsageError, match="no power modes"):
        toy.open(Target(name="here", device="toy", power_mode="MAXN"))


def test_a_board_behind_sshd_is_described_and_cleaned(toy, ssh_board, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(ssh_board.config))
    target = Target(name="far", device="toy", host=ssh_board.address, launch=Launch(python=sys.executable))
    seen = inspect_target(target, toy)
    assert seen.facts is not None, seen.findings
    assert seen.facts["link"] == "ssh"
    assert seen.facts["private"]["link"] == ssh_board.address
    assert clean_target(target, toy).files >= 1
    assert not list(ssh_board.placed.rglob("*.pyz"))


def test_only_boards_are_cleaned(toy):
    for target, backend in ((HERE, toy), (Target(name="fake", device="fake", host="a@b"), FakeBackend())):
        with pytest.raises(UsageError):
            clean_target(target, backend)


def test_cleaning_a_board_that_is_away_says_so(toy, tmp_path, monkeypatch):
    (tmp_path / "config").write_text("Host *\n  HostName 127.0.0.1\n")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "config"))
    with pytest.raises(UnavailableError):
        clean_target(Target(name="away", device="toy", host="nobody@away:1"), toy)
