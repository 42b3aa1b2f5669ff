"""What a run ends with."""

import pytest
import typer

from edgebench import interruption as signals
from edgebench.cli.outcome import conclude
from edgebench.report.renderers import html
from edgebench.run.measuring.host_queue import Outcome
from tests.synthetic_results import made_experiment


@pytest.mark.parametrize(("interrupted", "code"), [(False, 1), (True, 130)])
def test_what_ended_the_measuring_on_one_host_is_an_error_after_the_report(
    tmp_path, monkeypatch, capsys, interrupted, code
):
    folder = made_experiment(tmp_path, sessions=1)
    monkeypatch.setattr(html, "render", lambda *judged: "the page")
    monkeypatch.setattr(signals, "_came", [])  # in the process of the tests others may have come
    outcome = Outcome(interrupted=interrupted, sessions=1, faults=(TypeError("no such cost"),))
    with pytest.raises(typer.Exit) as caught:
        conclude(folder, outcome, (), strict=False, json_=False)
    assert caught.value.exit_code == code
    assert (folder / "report.html").read_text() == "the page"
    printed = capsys.readouterr()
    assert "report.html" in printed.out
    assert ("error: TypeError: no such cost" in printed.err) == (not interrupted)
    assert ("run.json" in printed.err) == (not interrupted)
