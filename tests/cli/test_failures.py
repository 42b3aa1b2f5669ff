"""How a command that failed says so, in words and as a document."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest

from edgebench.cli import main as command
from edgebench.report.schemas import schema


def fail(monkeypatch, capsys, *words):
    """The exit code, stdout and stderr of a command that ends the process."""
    monkeypatch.setattr(sys, "argv", ["edgebench", *words])
    with pytest.raises(SystemExit) as stop:
        command.main()
    return stop.value.code, *capsys.readouterr()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("show", "nowhere"), 1, "no result folder"),
        (("fit", "latest"), 1, "nothing was measured yet"),
        (("run", "--device", "zpu"), 2, "no device 'zpu'"),
        (("run", "--nonsense"), 2, "--nonsense"),
        (("run", "--sessions", "many"), 2, "--sessions"),
        (("doctor", "--host", "a@b"), 2, "--host"),
        (("targets", "check"), 2, "no target was named"),
        (("profiles", "show", "nix"), 2, "nix"),
    ],
)
def test_with_json_an_error_is_a_document_on_stdout(monkeypatch, capsys, words, code, what):
    ended, out, err = fail(monkeypatch, capsys, *words, "--json")
    document = json.loads(out)
    jsonschema.validate(document, schema("error"))
    assert ended == document["error"]["exit_code"] == code
    assert what in document["error"]["what"]
    assert what in err
    without, out, _ = fail(monkeypatch, capsys, *words)
    assert (without, out) == (code, "")


@pytest.mark.parametrize(
    ("exception", "code", "what"),
    [(KeyboardInterrupt, 130, "interrupted"), (ZeroDivisionError, 1, "ZeroDiv")],
)
def test_so_are_ctrl_c_and_a_fault(monkeypatch, capsys, exception, code, what):
    def broken(*arguments):
        raise exception

    monkeypatch.setattr("edgebench.cli.outcome.results_folder", broken)
    ended, out, err = fail(monkeypatch, capsys, "show", "--json")
    assert ended == json.loads(out)["error"]["exit_code"] == code
    assert what in json.loads(out)["error"]["what"]
    assert what in err and "Traceback" not in err
    ended, out, err = fail(monkeypatch, capsys, "show", "--debug")
    assert (ended, out) == (code, "")
    assert "Traceback" in err


def test_a_command_that_works_prints_no_error(monkeypatch, capsys):
    code, out, _ = fail(monkeypatch, capsys, "profiles", "list", "--json")
    assert (code, set(json.loads(out))) == (0, {"schema_version", "profiles"})


@pytest.mark.parametrize(("words", "code"), [(("show", "nowhere"), 1), (("run", "--nonsense"), 2)])
@pytest.mark.parametrize("reader", ["gone", "full"])
def test_a_document_that_nobody_can_read_changes_no_exit_code(tmp_path, words, code, reader):
    program = [sys.executable, "-c", "from edgebench.cli.main import main; main()", *words, "--json"]
    if reader == "full":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        end, output = os.pipe()
        os.close(end)
    try:
        ended = subprocess.run(program, stdout=output, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    finally:
        os.close(output)
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr
