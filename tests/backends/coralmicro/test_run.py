"""Whole runs on a played board: figures, exports, sweep, resume, Ctrl-C, and what is refused beforehand."""

import csv
import json
import os
import signal
import time

import pytest
from typer.testing import CliRunner

import edgebench
from edgebench import registry
from edgebench.cli.main import app
from edgebench.errors import EdgeBenchError
from edgebench.judge.trials import trials_of
from tests.backends.coral import edgetpu_compiler
from tests.backends.coralmicro import sums
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import LiteRtEngine
from tests.backends.coralmicro.played_firmware import PlayedFirmware
from tests.probes import played_files

PATCH_BYTES = sums.SIDE**2 * 3


class Point:
    """The entry point that an installed package would have."""

    def load(self):
        return sums.SumBackendWithPictures


@pytest.fixture
def call(tmp_path, monkeypatch):
    """The command line in a folder of its own, with the device `sums`."""
    points = registry._points
    more = {"edgebench.backends": {"sums": Point()}}
    monkeypatch.setattr(registry, "_points", lambda group: {**points(group), **more.get(group, {})})
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def called(*words, code=0):
        result = CliRunner().invoke(app, words)
        error = result.exception
        if isinstance(error, EdgeBenchError):
            assert error.exit_code == code, (result.output, error)
            return f"{result.output}\n{error}"
        assert result.exit_code == code, (result.output, error)
        return result.output

    return called


@pytest.fixture
def board():
    room = {"scene": 5 * PATCH_BYTES}
    with PlayedBoard(PlayedFirmware(sums.engine_of, room=room, piece_bytes=1 << 20)) as board:
        yield board


@pytest.fixture
def run(call, board, tmp_path):
    def measured(*words, code=0):
        base = ("run", "--device", "sums", "--set", f"address={board.address}", "--name", "one", "--quiet")
        call(*base, "--depth", "0.25", *words, code=code)
        return edgebench.load(tmp_path / "results" / "one")

    return measured


@pytest.mark.slow
def test_passes_of_a_part_are_scaled_up_and_flagged_everywhere(run, call, board, tmp_path):
    results = run("--sessions", "3", "--passes", "3")
    [trial] = trials_of(results)
    assert trial.status == "done", trial
    assert trial.scene.measured_patches == 5 and "extrapolated" in trial.marks
    steady = results.passes[results.passes["phase"] == "steady"]
    assert set(steady["patches"]) == {5}
    longest_s, shortest_s = steady["image_ns"].max() / 1e9, steady["image_ns"].min() / 1e9
    image_s = trial.estimate("image_s").value
    assert image_s is not None and shortest_s * 12 / 5 <= image_s <= longest_s * 12 / 5
    assert trial.estimate("accuracy").notes[0] == "5 of 5"
    records = results.session_records(trial.key)
    assert [record.cold["load_s"] is None for record in records] == [False, True, True]

    for name in ("one.json", "one.csv", "one.html", "one.md"):
        call("report", "one", "-o", name)
    texts = {suffix: (tmp_path / f"one.{suffix}").read_text() for suffix in ("json", "csv", "html", "md")}
    [exported] = json.loads(texts["json"])["trials"]
    assert exported["scene"]["measured_patches"] == 5 and "extrapolated" in exported["marks"]
    [row] = csv.DictReader(texts["csv"].splitlines())
    assert "extrapolated" in row["marks"]
    for suffix in ("html", "md"):
        assert "extrapolated" in texts[suffix] and "5 of 12 patches" in texts[suffix]
        assert "patchify" in texts[suffix]
    for text in texts.values():
        assert board.address not in text


@pytest.mark.slow
def test_a_meter_on_this_machine_gives_power_and_no_energy_of_passes_too_short_for_it(run, tmp_path):
    meter = f"csv:{played_files.write(tmp_path)}?time=t_s&power=p_mw&clock=start&scope=usb&rate_hz=50"
    [trial] = trials_of(run("--sessions", "1", "--passes", "2", "--meter", meter))
    energy = trial.estimate("energy_j")
    assert trial.estimate("power_mean_w").value == pytest.approx(5.0) and energy.value is None
    assert "are too short for readings over 0.02 s" in energy.reason


@pytest.mark.slow
def test_a_sweep_and_several_models_share_the_board(run):
    results = run("--depth", "0.5", "--set", "allow-cpu=true", "--set", "allow-cpu=false", "--sessions", "2")
    trials = trials_of(results)
    assert [trial.status for trial in trials] == ["done"] * 4
    # Trials take turns, so that each session finds another's model there, and loads its own.
    assert all(
        record.cold["load_s"] is not None
        for trial in trials
        for record in results.session_records(trial.key)[:1]
        if trial.depth_multiplier == 0.5
    )


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(run, board):
    def interrupt_third_session():
        begun = board.firmware.calls.count(("load", "scene", "begin"))
        if begun == 3 and not interrupted:
            interrupted.append(True)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    interrupted: list[bool] = []
    for _ in range(200):
        board.before("run", interrupt_third_session)
    begun = run("--sessions", "4", "--passes", "3", code=130)
    statuses = [record.status for record in begun.session_records(begun.experiment.trials[0].key)]
    assert statuses == ["ok", "ok", "interrupted"]
    [trial] = trials_of(run("--sessions", "4", "--passes", "3", "--resume"))
    assert trial.status == "done" and len(trial.estimate("image_s").sessions) == 4


@pytest.mark.slow
def test_a_board_that_is_lost_between_sessions_fails_those_alone(run, board, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_RECONNECT_S", "0.01")
    board.before("run", board.firmware.restart, skip=6)
    [trial] = trials_of(run("--sessions", "3", "--passes", "3"))
    # The session that the restart ended was measured once more.
    assert len(trial.estimate("image_s").sessions) == 3
    assert "restarted" in " ".join(trial.failures)


@pytest.mark.slow
def test_a_model_that_the_compiler_makes_goes_to_the_board(call, tmp_path, monkeypatch):
    """Of MobileNet: Google's compiler is a stand-in, and the board infers by LiteRT's reference kernels."""
    edgetpu_compiler.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with PlayedBoard(PlayedFirmware(LiteRtEngine, piece_bytes=1 << 20)) as board:
        call(
            *("run", "--device", "coral-micro", "--set", f"address={board.address}", "--name", "one"),
            *("--depth", "0.25", "--sessions", "1", "--passes", "1", "--patches", "4", "--quiet"),
            *("--accuracy-images", "5", "--board", "coral-dev-board-micro"),
        )
    results = edgebench.load(tmp_path / "results" / "one")
    [trial] = trials_of(results)
    assert (trial.status, trial.scene.measured_patches) == ("done", 4)
    assert trial.marks == ("extrapolated", "without patchify")
    [record] = results.session_records(trial.key)
    assert record.golden is not None and record.golden.top1_equal == record.golden.n > 0
    assert record.runtime["edge_tpu_operations"] == 1


@pytest.mark.slow
def test_a_compiled_file_alone_goes_to_the_board(call, tmp_path, prepared_quarter):
    content, _ = edgetpu_compiler.compiled(prepared_quarter["int8"].path.read_bytes())
    (tmp_path / "x_edgetpu.tflite").write_bytes(content)
    with PlayedBoard(PlayedFirmware(LiteRtEngine, piece_bytes=1 << 20)) as board:
        call(
            *("run", "--device", "coral-micro", "--set", f"address={board.address}", "--name", "one"),
            *("--model", "x_edgetpu.tflite", "--sessions", "1", "--passes", "1", "--patches", "2", "--quiet"),
        )
    results = edgebench.load(tmp_path / "results" / "one")
    [trial] = trials_of(results)
    assert trial.status == "done", trial
    [record] = results.session_records(trial.key)
    assert record.golden is not None and (record.golden.reference, record.golden.max_abs_diff) == ("", 0.0)


@pytest.mark.slow
def test_what_does_not_fit_is_a_trial_of_its_own(run, board):
    """Of two models one is larger than the board's memory, as its firmware says."""
    board.firmware.room["model"] = len(sums.OTHER_MODEL) - 1
    small, large = trials_of(run("--depth", "0.5", "--sessions", "1", code=5))
    assert (small.status, large.status) == ("done", "unsupported")
    assert f"{len(sums.OTHER_MODEL):,}" in large.reason


WRONG = {
    "an address of another form": (("--set", "address=http://10.10.10.1"), "no address of a board"),
    "a host": (("--host", "user@board"), "--host"),
    "a precision": (("--precision", "fp32"), "8-bit"),
    "a batch": (("--batch", "4"), "batch"),
    "two addresses": (("--set", "address=10.0.0.1", "--set", "address=10.0.0.2"), "several values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_asked_for_is_a_usage_error(call, name):
    words, said = WRONG[name]
    output = call("run", "--device", "coral-micro", "--dry-run", *words, code=2)
    assert said in " ".join(output.split())


def test_a_period_is_a_usage_error(call):
    output = call("run", "--device", "sums", "--period", "1", "--dry-run", code=2)
    assert "cannot be paced" in output and "--sustained" in output


def test_nobody_there_ends_the_run_with_what_to_do(call):
    with PlayedBoard() as board:
        address = board.address
    output = call("run", "--device", "sums", "--set", f"address={address}", code=1)
    assert "no board answers" in output and "flash EdgeBench's firmware" in " ".join(output.split())
