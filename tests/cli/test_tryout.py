"""`edgebench doctor --try`: what is missing without a device, and all of it on the processor."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from edgebench import registry
from edgebench.cli import tryout
from edgebench.cli.main import app
from edgebench.errors import EdgeBenchError, UnavailableError
from edgebench.records.target import Target

NO_LIBRARY = "/no/such/libedgetpu.so.1"


def tried(device, cache, **options):
    backend: Any = registry.backend(device)
    chosen = backend.options_model.model_validate(options).model_dump()
    lines: list[str] = []
    result = tryout.try_out(Target(device, device, chosen), backend, cache, lines.append)
    assert len(lines) >= len(result.steps)
    return result, {step.name: step.outcome for step in result.steps}


def unprepared(monkeypatch, device):
    """Preparing takes too long for a test of the other steps."""
    refused = [UnavailableError("not made", fix="make it")]
    monkeypatch.setattr(type(registry.backend(device)), "prepare", lambda *arguments: refused)


@pytest.fixture
def no_compiler(monkeypatch, prepared_quarter):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.mark.usefixtures("no_compiler")
def test_without_an_edge_tpu_it_says_what_is_missing(session_cache):
    result, outcome = tried("coral", session_cache, delegate=NO_LIBRARY)
    assert outcome["check libedgetpu"] == "failed"
    assert outcome["prepare"] == "failed"
    assert outcome["measure"] == "left out"
    assert not result.figures
    assert any("edgetpu_compiler --show_operations" in line for line in result.missing)
    text = result.markdown()
    assert "## What is missing" in text
    assert text.count("failed") == len(result.missing)


@pytest.mark.usefixtures("no_compiler")
def test_on_the_processor_every_step_is_gone_through(session_cache):
    result, outcome = tried("coral", session_cache, allow_cpu=True, threads=1)
    assert result.missing == []
    assert (outcome["prepare"], outcome["open"], outcome["load"]) == ("ok",) * 3
    assert (outcome["scores"], outcome["measure"]) == ("ok", "ok")
    assert outcome["session"] == "warning"  # the figures are the processor's
    assert (result.figures["patch_ms"] or 0) > 0
    assert result.figures["patch_ms"] == pytest.approx((result.figures["image_s"] or 0) * 1e3 / 400)
    assert (result.figures["first_inference_s"] or 0) > 0
    text = result.markdown()
    assert "not a measurement" in text and "a patch in a steady pass, ms" in text
    assert "## What is missing" not in text
    private: Any = result.facts["private"]
    for name in ("user", "node"):
        if private[name] not in ("", "root", "localhost"):
            assert private[name] not in text


@pytest.mark.parametrize(("device", "checked"), [("jetson", "check tensorrt"), ("ncs2", "check stick")])
def test_without_the_device_the_board_is_still_described(session_cache, monkeypatch, device, checked):
    unprepared(monkeypatch, device)
    result, outcome = tried(device, session_cache)
    assert outcome[checked] == "failed"
    assert (outcome["prepare"], outcome["open"], outcome["measure"]) == ("failed", "ok", "left out")
    assert "## Board" in result.markdown()


def test_the_report_keeps_its_table_whatever_the_device_answers():
    result = tryout.Tryout(Target("coral", "coral", {}), lambda line: None)
    result.note("load", "failed", "a | b\n<script>")
    [row] = [line for line in result.markdown().splitlines() if "a \\| b" in line and line[0] == "|"]
    assert row == "| load | failed | a \\| b &lt;script> |"


@pytest.mark.usefixtures("no_compiler")
def test_the_command_writes_the_report_and_lists_what_is_missing(session_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    output = tmp_path / "report.md"
    words = ["--device", "coral", "--try", "--set", f"delegate={NO_LIBRARY}", "-o", str(output)]
    done = CliRunner().invoke(app, ["doctor", *words])
    assert done.exit_code == 1
    assert "What is missing:" in done.stderr and f"there is no file {NO_LIBRARY}" in done.stderr
    assert output.read_text().startswith("# coral tried out")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--device", "coral", "--set", "nothing"], "--set"),
        (["--device", "coral", "--set", "edgetpu=nine"], "--set"),
        (["--device", "ncs2", "--artifact", "x.onnx"], "--artifact"),
        (["--device", "coral", "-o", "no/such/report.md"], "no folder"),
        (["--device", "coral", "--set", "threads=1", "--set", "threads=2"], "not 2 targets"),
        (["--device", "cortex-m", "--port", "/dev/none"], "does not take cortex-m"),
        (["--device", "cpu", "--json"], "no JSON"),
    ],
)
def test_what_cannot_be_tried_is_a_usage_error(words, what):
    done = CliRunner().invoke(app, ["doctor", "--try", *words])
    assert isinstance(done.exception, EdgeBenchError)
    assert what in done.exception.what


def test_its_options_need_it():
    done = CliRunner().invoke(app, ["doctor", "--device", "coral", "-o", "x.md"])
    assert isinstance(done.exception, EdgeBenchError)
    assert "--try" in done.exception.what


def test_a_report_that_cannot_be_written(session_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    (tmp_path / "folder.md").mkdir()
    words = ["doctor", "--device", "coral", "--try", "-o", str(tmp_path / "folder.md")]
    assert isinstance(CliRunner().invoke(app, words).exception, EdgeBenchError)
