"""The self-test on a machine without an Edge TPU: what is missing, and a whole go on the processor."""

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.selftest import program, report, steps
from edgebench.vocabulary.target import Target

backend: Any = registry.backend("coral")
FOLDER = backend.__module__.rpartition(".")[0]
KIND: Any = importlib.import_module(f"{FOLDER}.selftest.__main__").KIND

pytestmark = pytest.mark.usefixtures("prepared_quarter")


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def carried_out(cache, **options):
    lines: list[str] = []
    chosen = backend.options_model.model_validate(options).model_dump()
    result = steps.carry_out(KIND, backend, Target("coral", "coral", chosen), cache, lines.append)
    return result, lines


def outcomes(result):
    return {step.name: step.outcome for step in result.steps}


def test_without_an_edge_tpu_it_says_what_is_missing(session_cache):
    result, lines = carried_out(session_cache, delegate="/no/such/libedgetpu.so.1")
    outcome = outcomes(result)
    assert outcome["check libedgetpu"] == "failed"
    assert outcome["prepare"] == "failed"
    assert outcome["measure"] == "left out"
    assert not result.figures
    assert any("edgetpu_compiler --show_operations" in line for line in result.missing)
    assert len(lines) >= len(result.steps)
    text = report.markdown(result)
    assert "## What is missing" in text
    assert text.count("failed") == len(result.missing)


def test_on_the_processor_every_step_is_gone_through(session_cache):
    result, _ = carried_out(session_cache, allow_cpu=True, threads=1)
    outcome = outcomes(result)
    assert result.missing == []
    assert (outcome["open"], outcome["scores"], outcome["measure"]) == ("ok", "ok", "ok")
    assert (outcome["prepare"], outcome["load"], outcome["session"]) == ("warning",) * 3
    assert result.figures["patch_ms"] == pytest.approx(result.figures["image_s"] * 1e3 / 400)
    assert result.figures["first_inference_s"] > 0
    text = report.markdown(result)
    assert "no measurement" in text and "a patch in a steady pass, ms" in text
    assert "## What is missing" not in text
    private = result.facts["private"]
    for name in ("user", "node"):
        if private[name] not in ("", "root", "localhost"):
            assert private[name] not in text


def test_the_report_keeps_its_table_whatever_was_said():
    result = steps.Result(KIND.title, Target("coral", "coral", {}))
    result.steps.append(steps.Step("load", "failed", "a | b\n<script>"))
    [row] = [line for line in report.markdown(result).splitlines() if "a \\| b" in line and line[0] == "|"]
    assert row == "| load | failed | a \\| b &lt;script> |"


def test_the_command_writes_the_report_and_lists_what_is_missing(
    session_cache, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    output = tmp_path / "report.md"
    arguments = ["--set", "delegate=/no/such/libedgetpu.so.1", "--output", str(output)]
    assert program.main(KIND, "selftest", arguments) == 1
    printed = capsys.readouterr().out
    assert "What is missing:" in printed and "there is no file /no/such/libedgetpu.so.1" in printed
    assert output.read_text().startswith("# Edge TPU self-test")


@pytest.mark.parametrize("arguments", [["--set", "nothing"], ["--set", "edgetpu=nine"]])
def test_a_bad_option_is_a_usage_error(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        program.main(KIND, "selftest", arguments)
    assert caught.value.code == 2
    assert "--set" in capsys.readouterr().err


def test_a_report_that_cannot_be_written(session_cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    monkeypatch.setattr(program, "carry_out", lambda *arguments: steps.Result(KIND.title, arguments[2]))
    assert program.main(KIND, "selftest", ["--output", str(tmp_path / "no" / "report.md")]) == 2
    assert "cannot be written" in capsys.readouterr().out
