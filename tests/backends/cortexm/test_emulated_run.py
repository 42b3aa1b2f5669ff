"""One command measures a Cortex-M without any board: firmware is built, booted in QEMU and measured."""

import csv
import json
from pathlib import Path

import pytest

import edgebench
from edgebench.installed import version_of
from tests.backends.cortexm.emulated import BOARD, require_emulator
from tests.walk.conftest import Place

RUN = (
    *("run", "--device", "cortex-m", "--set", f"board={BOARD.name}", "--build", "--flash", "--quiet"),
    *("--depth", "0.25", "--sessions", "1", "--passes", "1", "--accuracy-images", "2", "--name", "emulated"),
)
PROFILE = """
schema_version = 1
name = "small"
title = "A small board"

[[requirements]]
name = "runtime"
quantity = "infer_s"
limit = 100.0
"""


@pytest.mark.slow
def test_a_run_on_an_emulated_board_tells_instructions_and_no_time(tmp_path, session_cache):
    require_emulator()
    if version_of("tensorflow") is None or version_of("emx-onnx-cgen") is None:
        pytest.skip("C is generated with tensorflow and emx-onnx-cgen")
    place = Place(tmp_path)
    # What was prepared and compiled by other tests is found.
    Path(place.environment["EDGEBENCH_CACHE_DIR"]).symlink_to(session_cache.root)
    (tmp_path / "small.toml").write_text(PROFILE)
    done = place.run(*RUN, "--profile", "small.toml", timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())

    results = edgebench.load(tmp_path / "results" / "emulated")
    [record] = results.session_records(results.experiment.trials[0].key)
    assert record.status == "ok" and record.emulated and record.device["board"] == BOARD.name
    # Five golden patches: what the board scores is what ONNX Runtime does, to the three decimals of a score.
    assert record.golden is not None and record.golden.max_abs_diff <= 0.00051 and record.golden.n == 5
    assert len(results.windows) == 2 and results.windows["inferences"].tolist() == [1, 1]
    first, steady = results.windows["instructions"].tolist()
    # The same patch again: as many instructions.
    assert first > 1e8 and steady == pytest.approx(first, rel=1e-6)

    for name in ("out.json", "out.csv", "out.md", "out.html"):
        assert place.run("report", "emulated", "-o", name).returncode == 0
    document = json.loads((tmp_path / "out.json").read_text())
    [trial] = document["trials"]
    estimates = trial["estimates"]
    assert estimates["instructions"]["value"] == steady
    assert estimates["infer_s"]["value"] is None and "emulated" in estimates["infer_s"]["reason"]
    assert (estimates["accuracy"]["value"], estimates["accuracy"]["n"]) == (1.0, 2)
    [row] = csv.DictReader((tmp_path / "out.csv").read_text().splitlines())
    assert float(row["instructions"]) == steady
    for text in (done.stdout, (tmp_path / "out.md").read_text(), (tmp_path / "out.html").read_text()):
        assert f"{steady:,}" in text and "emulated" in text
    fit = json.loads(place.run("fit", "emulated", "--profile", "small.toml", "--json").stdout)
    assert {(verdict["verdict"], "emulated" in verdict["reason"]) for verdict in fit["verdicts"]} == {
        ("unknown", True)
    }
