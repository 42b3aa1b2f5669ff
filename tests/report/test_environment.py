from __future__ import annotations

import shlex

from edgebench.judge.judged import Judged
from edgebench.report.environment import command_line, environment, flat, machines
from edgebench.results.load import StoredResults


def test_the_command_is_what_a_shell_takes() -> None:
    command = ("edgebench", "run", "--name", "it's $HOME; rm -rf *", "--set", "a=b c", "")
    assert shlex.split(command_line(command)) == list(command)
    assert "\x1b" not in (line := command_line(("edgebench", "a\nb\t\x1b[31m \u202eé.png")))
    assert "\n" not in line and "\u202e" not in line and "é" in line


def test_facts_are_flat_readable_and_bounded() -> None:
    facts = dict(flat({"memory_bytes": 24_000_000_000, "a": {"b": [1, 2]}, "c": None, "d": True, "e": []}))
    assert facts == {"memory_bytes": "24.0 GB", "a.b": "1, 2", "c": "not known", "d": "yes", "e": "none"}
    assert dict(flat({"usb": [{"id": "18d1:9302", "speed_mbps": 480.0}, {"id": "x"}]})) == {
        "usb": "id 18d1:9302, speed_mbps 480.0; id x"
    }
    many = list(flat({str(number): number for number in range(1000)}))
    assert len(many) == 81
    nested: dict[str, object] = {}
    for _ in range(100):
        nested = {"x": nested}
    assert len(list(flat(nested))) == 1


def test_host_target_and_settings_are_there(whole: Judged) -> None:
    groups = {facts.title: {row[0]: row[1] for row in facts.rows} for facts in environment(whole.results)}
    assert groups["Host"]["kernel"] == "6.1.0"
    assert groups["Target cpu"]["runtime.runtime"] == "ai-edge-litert"
    assert groups["Target cpu"]["not known"] == "device.governor"
    assert groups["Experiment"]["sessions"] == "3 (flag)"


def test_what_a_compiler_said_is_there_and_nothing_where_there_was_none(whole: Judged) -> None:
    assert "Compiled models" not in {facts.title for facts in environment(whole.results)}
    experiment = whole.results.experiment
    first = experiment.trials[0].model_copy(
        update={
            "provenance": {
                "recipe": 1,
                "operations": {"edgetpu": 1, "cpu": {"SOFTMAX": 1}},
                "compiler": {"off_chip_used_bytes": 2_000_000, "table": [{"name": "SOFTMAX", "count": 1}]},
            }
        }
    )
    changed = experiment.model_copy(update={"trials": (first, *experiment.trials[1:])})
    [compiled] = [
        {row[0]: row[1] for row in facts.rows}
        for facts in environment(StoredResults(whole.results.path, changed))
        if facts.title == "Compiled models"
    ]
    name = f"{first.target} {first.variant}"
    assert compiled == {
        f"{name}.compiler.off_chip_used_bytes": "2.00 MB",
        f"{name}.compiler.table": "name SOFTMAX, count 1",
        f"{name}.operations.edgetpu": "1",
        f"{name}.operations.cpu.SOFTMAX": "1",
    }


def test_one_line_names_runtime_threads_and_meter_of_the_only_target(whole: Judged) -> None:
    assert machines(whole.results, whole.trials) == ["2.1.0 · 1 thread · no meter"]
